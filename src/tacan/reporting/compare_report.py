"""Any policies side by side: their numbers, and the first against each of the others."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tacan.evaluation.statistics import sign_test_minimum
from tacan.evaluation.store import RecordsError
from tacan.reporting import page
from tacan.reporting.columns import Column, column, measured_row, method_name, or_broken
from tacan.reporting.figure import COLOURS, Figure, Series
from tacan.reporting.page import Section, figure_markup, paragraph, table_markup
from tacan.reporting.paired_tables import GAINS, Line, gain_by_seed, gain_figure, paired_table
from tacan.reporting.records import Question, Records
from tacan.reporting.report import Report, provenance
from tacan.reporting.table import Table

STAGE = "compare"


def _question(policy: str, order: str, load: str) -> Question:
    return Question(policy, load, order, stage=STAGE)


def _where(order: str, load: str) -> str:
    return f"{load} load, {order.replace('-', ' ')} order"


def values_table(records: Records, policies: Sequence[str], order: str, load: str) -> Table:
    """What every policy reaches."""
    key, title = f"values_{order}_{load}", f"What each policy reaches: {_where(order, load)}"
    columns = (
        column("assignment"),
        column("access"),
        column("delivery"),
        column("delay"),
        column("delay_p95"),
        column("deadline_misses"),
        column("access_gap"),
        Column("access_gap", "access_gap_floor", "Gap floor (pp)", papers="none"),
    )

    def build() -> Table:
        rows = tuple(
            measured_row(records, _question(policy, order, load), columns, name=policy)
            for policy in policies
        )
        return Table(key, "", title, "Policy", tuple(c.title for c in columns), rows)

    return or_broken(key, "", title, build)


def gains_table(records: Records, policies: Sequence[str], order: str, load: str) -> Table:
    """The first policy against each of the others, paired by seed."""
    first, *others = policies
    key, title = f"paired_{order}_{load}", f"{first} against the others: {_where(order, load)}"

    def build() -> Table:
        lines = []
        for other in others:
            for gain, name in GAINS.items():
                questions = (_question(first, order, load), _question(other, order, load))
                claim = gain_by_seed(records, *questions, gain)
                lines.append(Line(f"{other}: {name}", gain, claim))
        note = f"Positive: {first} is better."
        return paired_table(key, "", title, f"{first} against", lines, note)

    return or_broken(key, "", title, build)


def loads_figure(
    records: Records, policies: Sequence[str], order: str, loads: Sequence[str]
) -> Figure:
    """Access of every policy under every load."""
    colours = list(COLOURS)
    series = []
    for position, policy in enumerate(policies):
        values = [records.value(_question(policy, order, load), "packet_access") for load in loads]
        series.append(
            Series(
                method_name(policy),
                colours[position % len(colours)],
                tuple(range(len(loads))),
                tuple(value.mean for value in values),
                tuple(value.deviation or 0.0 for value in values),
            )
        )
    lowest = min(y for found in series for y in found.y)
    return Figure(
        f"access_{order}",
        "",
        f"Packet-present access by load, {order.replace('-', ' ')} order",
        "Mean over seeds, with ± 1 standard deviation. The axis does not start at 0.",
        "bars",
        "Primary-user load",
        "Packet-present access (%)",
        tuple(series),
        categories=tuple(load.capitalize() for load in loads),
        limits=(max(0.0, 5 * ((lowest - 4) // 5)), 100.0),
        unit="%",
    )


def compare_report(
    records: Records,
    policies: Sequence[str],
    orders: Sequence[str],
    loads: Sequence[str],
    command: str,
) -> Report:
    """All tables and figures of a comparison."""
    tables: list[Table] = []
    figures: list[Figure] = []
    problems: list[str] = []
    manifests = []
    try:
        manifests.append(records.stage(STAGE)[1])
        figures += [loads_figure(records, policies, order, loads) for order in orders]
    except RecordsError as error:
        problems.append(str(error))
    for order in orders:
        for load in loads:
            tables.append(values_table(records, policies, order, load))
            paired = gains_table(records, policies, order, load)
            tables.append(paired)
            if not paired.broken:
                figures.append(
                    gain_figure(
                        f"gains_{order}_{load}",
                        f"Gains of {policies[0]}: {_where(order, load)}",
                        "Mean differences, paired by seed; bars are 95 % t intervals.",
                        paired,
                        "pp",
                    )
                )
    problems += [table.broken for table in tables if table.broken]
    return Report(
        title=f"{policies[0]} against {', '.join(policies[1:])}",
        command=command,
        tables=tuple(tables),
        figures=tuple(figures),
        claims=(),
        manifests=tuple(manifests),
        problems=tuple(dict.fromkeys(problems)),
    )


def paired_sentences(report: Report) -> list[str]:
    """Each paired result in words, by a stated rule.

    A difference is called clear when its Student-t interval leaves out zero *and* every seed has
    the same sign; it is called exact-test significant only if the sign-flip test says so after
    Holm's correction, which fewer than six seeds cannot.
    """
    sentences = []
    for table in report.tables:
        if not table.key.startswith("paired_"):
            continue
        for row in table.rows:
            mean, low, high, wins = (cell.ours for cell in row.cells[:4])
            if mean is None or low is None or high is None or wins is None:
                continue
            apart = low.mean > 0.0 or high.mean < 0.0
            same_sign = wins.mean in {0.0, float(mean.seeds)}
            side = "better" if mean.mean > 0 else "worse"
            verdict = f"clearly {side}" if apart and same_sign else "not clearly different"
            sentences.append(
                f"{table.title.rpartition(': ')[2]}; {table.corner} {row.heading}: {verdict} "
                f"({row.cells[0].shown}; interval {row.cells[1].shown} to {row.cells[2].shown}; "
                f"{wins.mean:.0f} of {mean.seeds} seeds won)"
            )
    return sentences


def compare_page(report: Report) -> str:
    """The page of a comparison."""
    verdicts = "".join(f"<li>{escape(text)}</li>" for text in paired_sentences(report))
    header = (
        '<p class="lead">Same held-out trajectories, paired by seed.</p>'
        + "".join(page.broken(problem) for problem in report.problems)
        + page.notes(report.unavailable())
        + '<p class="meta">Made by</p>'
        + page.command_line(report.command)
    )
    rule = (
        "Clearly better or worse: the 95 % Student-t interval leaves out zero and every seed has "
        f"the same sign. With fewer than {sign_test_minimum()} seeds no exact test can confirm it "
        "at level 0.05."
    )
    sections = [
        Section("verdict", "In words", paragraph(rule) + f"<ul>{verdicts}</ul>", "In words"),
        Section(
            "numbers", "Numbers", "".join(table_markup(table) for table in report.tables), "Numbers"
        ),
        Section(
            "figures",
            "Figures",
            "".join(figure_markup(figure) for figure in report.figures),
            "Figures",
        ),
        Section("records", "Where the numbers come from", provenance(report), "Records"),
    ]
    footer = "Built from saved records alone; this page needs no network."
    return page.page(report.title, header, sections, escape(footer))
