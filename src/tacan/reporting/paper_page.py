"""The page of the paper's reproduction: what stands where, and in which words."""

from __future__ import annotations

from html import escape

from tacan.reporting import page
from tacan.reporting.comparison import Verdict
from tacan.reporting.judges import Outcome
from tacan.reporting.page import Section, figure_markup, notes, paragraph, table_markup
from tacan.reporting.paper import read_paper
from tacan.reporting.report import Report, provenance

OUTCOME_CLASS = {
    Outcome.REPRODUCED: ("v-good", "="),
    Outcome.EXCEEDS: ("v-up", "▲"),
    Outcome.DIFFERS: ("v-bad", "≠"),
    Outcome.MISSING: ("v-none", "–"),
}
TILE_WORDS = {
    Outcome.REPRODUCED: "reproduced",
    Outcome.EXCEEDS: "exceeded",
    Outcome.DIFFERS: "that differ",
    Outcome.MISSING: "not judged",
}
PARTS = (
    (
        "service",
        "Packet service",
        "Service",
        (
            "packet_main",
            "packet_comparison",
            "comparison_tests",
            "gains",
            "packet_access_load",
            "packet_load",
        ),
    ),
    ("fairness", "Classes and users", "Fairness", ("packet_class", "packet_fairness")),
    (
        "inputs",
        "What the network attends to, and what its inputs are worth",
        "Inputs",
        ("attention_viz", "ablation", "amc_mixing", "amc_robustness"),
    ),
    (
        "software",
        "Cost, sizes and setting",
        "Cost",
        ("sdn_overhead", "sizes", "classes", "positioning"),
    ),
    (
        "beyond",
        "Beyond the paper",
        "Beyond",
        ("ladder_figure", "ladder", "orders", "training_curves"),
    ),
)


def summary_sentence(report: Report) -> str:
    """The result in one sentence."""
    outcomes, verdicts = report.outcomes(), report.verdicts()
    numbers = sum(verdicts.values())
    apart = sum(verdicts[kind] for kind in (Verdict.BETTER, Verdict.WORSE, Verdict.DIFFERS))
    return (
        f"Of {len(report.claims)} claims, {outcomes[Outcome.REPRODUCED]} are reproduced, "
        f"{outcomes[Outcome.EXCEEDS]} exceeded, {outcomes[Outcome.DIFFERS]} differ and "
        f"{outcomes[Outcome.MISSING]} could not be judged. Of {numbers} printed numbers, "
        f"{verdicts[Verdict.MATCHES]} match, {apart} differ ({verdicts[Verdict.BETTER]} of these "
        f"for the better) and {verdicts[Verdict.MISSING]} are not available."
    )


def _header(report: Report) -> str:
    tiles = "".join(
        f'<li><a href="#claims"><b>{count}</b><span>claims {TILE_WORDS[outcome]}</span></a></li>'
        for outcome, count in report.outcomes().items()
    )
    problems = "".join(page.broken(problem) for problem in report.problems)
    return (
        f'<p class="lead">{escape(read_paper().title)}</p>'
        f"{paragraph(report.setting, 'meta') if report.setting else ''}"
        f"{paragraph(summary_sentence(report))}"
        f'<ul class="tiles">{tiles}</ul>{problems}'
        f"{notes(report.unavailable())}"
        f"{_in_short(report)}"
        f'<p class="meta">Made by</p>{page.command_line(report.command)}'
    )


def _in_short(report: Report) -> str:
    """What a reader of one minute should know: what differs, and what the paper does not say."""
    differing = [claim for claim in report.claims if claim.outcome is Outcome.DIFFERS]
    differs = "".join(
        f'<li>{escape(found.claim)} <span class="meta">{escape(_sentence(found.because))}</span>'
        "</li>"
        for found in differing
    )
    beyond = "".join(f"<li>{escape(sentence)}</li>" for sentence in report.findings)
    parts = (("differs", "What differs", differs), ("found", "What the paper does not say", beyond))
    return "".join(
        f'<h2 id="{identity}">{heading}</h2><ul class="points">{items}</ul>'
        for identity, heading, items in parts
        if items
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].removesuffix(".") + "."


def _claims(report: Report) -> str:
    commands = {manifest.stage: manifest.command for manifest in report.manifests}
    items = []
    for found in report.claims:
        name, sign = OUTCOME_CLASS[found.outcome]
        made = dict.fromkeys(commands[stage] for stage in found.stages if stage in commands)
        items.append(
            f'<li><span class="verdict {name}"><span aria-hidden="true">{sign}</span> '
            f"{escape(found.outcome.value.capitalize())}</span><div>"
            f"<p>{escape(found.claim)} "
            f'<span class="label">{escape(found.source)}</span></p>'
            f'<p class="meta">{escape(_sentence(found.because))}</p>'
            f"<details><summary>Rule and command</summary>"
            f'<p class="meta">{escape(_sentence(found.rule))}</p>'
            f"{''.join(map(page.command_line, made))}</details>"
            "</div></li>"
        )
    return (
        paragraph("Each verdict follows from the numbers by the rule under it.")
        + f'<ol class="claims">{"".join(items)}</ol>'
    )


def _rules() -> str:
    margins = ", ".join(
        f"{found.heading.lower()} {found.margin:g} {found.unit}".rstrip()
        for found in read_paper().quantities.values()
        if found.margin
    )
    return (
        paragraph(
            "Ours matches the paper's value when it lies within the larger of two tolerances: a "
            "margin that belongs to the quantity, and the half-width of a 95 % Student-t interval "
            "of the difference of two independent means, from our seeds' standard deviation and "
            "the paper's (ours stands in where the paper prints none). Beyond it, a value is "
            "better or worse if the quantity has a direction, and differs otherwise."
        )
        + paragraph(f"Margins: {margins}.")
        + paragraph(
            "Policies are compared by seed, never by slot: slots of one seed share a trained "
            "network and a world."
        )
    )


def paper_page(report: Report) -> str:
    """The whole page."""
    blocks = {table.key: table_markup(table) for table in report.tables}
    blocks |= {figure.key: figure_markup(figure) for figure in report.figures}
    sections = [Section("claims", "The paper's claims", _claims(report), "Claims")]
    sections += [
        Section(identity, heading, "".join(blocks[key] for key in keys), short)
        for identity, heading, short, keys in PARTS
    ]
    sections += [
        Section("rules", "How verdicts are made", _rules(), "Rules"),
        Section("records", "Where the numbers come from", provenance(report), "Records"),
    ]
    footer = (
        "Built from saved records alone; this page needs no network. "
        "Hollow marks are the paper's values."
    )
    return page.page(report.title, _header(report), sections, escape(footer))
