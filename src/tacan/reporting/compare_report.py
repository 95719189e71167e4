"""Any policies side by side: their numbers, and the first against each of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape

from tacan.errors import UserError
from tacan.evaluation.statistics import sign_test_minimum
from tacan.policies.catalogue import list_policies
from tacan.reporting import page
from tacan.reporting.columns import (
    Column,
    broken_by,
    column,
    figure_or_broken,
    measured_row,
    method_name,
    or_broken,
)
from tacan.reporting.figure import COLOURS, Figure, Series
from tacan.reporting.page import Section, figure_markup, paragraph, table_markup
from tacan.reporting.paired_tables import (
    GAINS,
    Line,
    flips_after_holm,
    gain_by_seed,
    gain_figure,
    gain_quantity,
    paired_table,
    tests_table,
)
from tacan.reporting.records import Question, Records, UnavailableError
from tacan.reporting.report import Report, problems_of, provenance
from tacan.reporting.table import Table
from tacan.simulator.simulator import Privilege

STAGE = "compare"
LEVEL = 0.05
RULE = (
    "Clearly better or worse: the 95 % Student-t interval leaves out zero and every seed has the "
    "same sign. The exact sign-flip test, adjusted by Holm for all differences of a table, stands "
    f"beside it; with fewer than {sign_test_minimum(LEVEL)} seeds it cannot go below {LEVEL}."
)


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


def paired_lines(records: Records, policies: Sequence[str], order: str, load: str) -> list[Line]:
    """The first policy against each of the others, paired by seed."""
    first, *others = policies
    lines = []
    for other in others:
        for gain, name in GAINS.items():
            questions = (_question(first, order, load), _question(other, order, load))
            heading = f"{other}: {name}"
            try:
                lines.append(Line(heading, gain, gain_by_seed(records, *questions, gain)))
            except UnavailableError as error:
                lines.append(Line(heading, gain, None, str(error)))
    return lines


def gains_tables(
    records: Records, policies: Sequence[str], order: str, load: str
) -> tuple[tuple[Table, ...], list[str]]:
    """The paired differences as tables and in words; both empty where numbers are broken."""
    where = _where(order, load)
    key, title = f"paired_{order}_{load}", f"{policies[0]} against the others: {where}"
    try:
        lines = paired_lines(records, policies, order, load)
    except UserError as error:
        return (broken_by(error, key, "", title),), []
    corner, note = f"{policies[0]} against", f"Positive: {policies[0]} is better."
    tables = (
        paired_table(key, "", title, corner, lines, note),
        tests_table(
            f"tests_{order}_{load}", f"The same differences, tested: {where}", corner, lines
        ),
    )
    flips = iter(flips_after_holm(lines))
    return tables, [
        _in_words(policies[0], line, next(flips) if line.claim else 1.0) for line in lines
    ]


def _in_words(first: str, line: Line, flip: float) -> str:
    """One difference by a stated rule (``RULE``)."""
    if line.claim is None:
        return f"{first} against {line.heading}: {line.missing}"
    found, quantity = line.claim.found, gain_quantity(line.gain)
    if found.ties == found.seeds:
        return f"{first} against {line.heading}: identical in every seed"
    low, high = found.t_interval.low, found.t_interval.high
    apart = low > 0.0 or high < 0.0
    side = "better" if found.mean > 0 else "worse"
    verdict = "not clearly different"
    if apart and found.seeds in {found.wins, found.losses}:
        verdict = f"clearly {side}"
    exact = f"sign-flip p = {flip:.3g} after Holm"
    if flip <= LEVEL:
        exact += ", so the exact test agrees"
    mean, start, end = (f"{value:+.{quantity.decimals}f}" for value in (found.mean, low, high))
    return (
        f"{first} against {line.heading}: {verdict} ({mean}, interval {start} to {end}; "
        f"{found.wins} of {found.seeds} seeds won; {exact})"
    )


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


@dataclass(frozen=True)
class Comparison:
    """A comparison: its report, and its results in words."""

    report: Report
    words: tuple[tuple[str, tuple[str, ...]], ...]
    """by load and order, a sentence on each paired difference"""
    notes: tuple[str, ...]
    """what a reader must know of the policies"""


def compare_report(
    records: Records,
    policies: Sequence[str],
    orders: Sequence[str],
    loads: Sequence[str],
    command: str,
) -> Comparison:
    """All tables and figures of a comparison."""
    tables: list[Table] = []
    words: list[tuple[str, tuple[str, ...]]] = []
    figures = [
        figure_or_broken(
            f"access_{order}",
            "",
            "Packet-present access by load",
            partial(loads_figure, records, policies, order, loads),
        )
        for order in orders
    ]
    for order in orders:
        for load in loads:
            tables.append(values_table(records, policies, order, load))
            paired, sentences = gains_tables(records, policies, order, load)
            tables += paired
            words.append((_where(order, load), tuple(sentences)))
            if not paired[0].broken:
                figures.append(
                    gain_figure(
                        f"gains_{order}_{load}",
                        f"Gains of {policies[0]}: {_where(order, load)}",
                        "Mean differences, paired by seed; bars are 95 % t intervals.",
                        paired[0],
                        "pp",
                    )
                )
    manifests, problems = problems_of(records, (STAGE,), (*tables, *figures))
    report = Report(
        title=f"{policies[0]} against {', '.join(policies[1:])}",
        command=command,
        tables=tuple(tables),
        figures=tuple(figures),
        claims=(),
        manifests=tuple(manifests),
        problems=problems,
    )
    return Comparison(report, tuple(words), _privileged(policies))


def _privileged(policies: Sequence[str]) -> tuple[str, ...]:
    known = {info.name: info for info in list_policies()}
    return tuple(
        f"{name} is privileged: it knows {known[name].knows.removeprefix('PRIVILEGED: ')}."
        for name in policies
        if name in known and known[name].privilege is not Privilege.NONE
    )


def compare_page(comparison: Comparison) -> str:
    """The page of a comparison."""
    report = comparison.report
    verdicts = "".join(
        f"<h3>{escape(where)}</h3><ul>{''.join(f'<li>{escape(text)}</li>' for text in sentences)}"
        "</ul>"
        for where, sentences in comparison.words
        if sentences
    )
    header = (
        '<p class="lead">Same held-out trajectories, paired by seed.</p>'
        + "".join(page.broken(problem) for problem in report.problems)
        + page.notes((*comparison.notes, *report.unavailable()))
        + '<p class="meta">Made by</p>'
        + page.command_line(report.command)
    )
    sections = [
        Section("verdict", "In words", paragraph(RULE) + verdicts, "In words"),
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
