"""Paired differences by seed: tab:packet_comparison, and the same for any policies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacan.errors import UserError
from tacan.evaluation.experiments import MATCHED, MLP, TACAN
from tacan.evaluation.statistics import (
    Interval,
    PairedComparison,
    compare,
    holm,
    sign_test_minimum,
)
from tacan.reporting.columns import METRIC_OF, broken_by, method_name
from tacan.reporting.figure import Figure, Series, broken_figure
from tacan.reporting.paper import Quantity, Value, read_paper
from tacan.reporting.records import Question, Records, UnavailableError
from tacan.reporting.table import Cell, Row, Table

BOOTSTRAP_SEED = 20
"""Of every bootstrap in a report: the same records give the same intervals."""
GAINS = {
    "access": "Access (pp)",
    "delay": "Mean-delay reduction (slots)",
    "access_gap": "User-gap reduction (pp)",
}
"""What a policy is better at, so that a positive difference is a gain."""
COLUMNS = (
    "Mean gain",
    "95 % t from",
    "to",
    "Wins",
    "Sign p",
)
"""What the paper prints of a difference."""
TESTS = (
    "Sign-flip p (Holm)",
    "t-test p (Holm)",
    "Bootstrap, mean",
    "Bootstrap, IQM",
    "Effect d_z (corrected)",
    "Seeds needed",
)


@dataclass(frozen=True)
class Claim:
    """One paired comparison: what is compared, on which metric, and what came of it."""

    first: Question
    second: Question
    gain: str
    found: PairedComparison


def gain_by_seed(records: Records, first: Question, second: Question, gain: str) -> Claim:
    """The paired comparison of two policies, signed so that positive is better for the first."""
    better = read_paper().quantities[gain].better
    values = [records.by_seed(question, METRIC_OF[gain]) for question in (first, second)]
    if better == "lower":
        values.reverse()
    generator = np.random.Generator(np.random.PCG64(BOOTSTRAP_SEED))
    return Claim(first, second, gain, compare(values[0], values[1], generator))


@dataclass(frozen=True)
class Line:
    """One row to be: a claim, or why there is none, and the paper's numbers if it prints any."""

    heading: str
    gain: str
    claim: Claim | None
    missing: str = ""
    papers: Sequence[float] | None = None
    """mean gain, interval from and to, wins, seeds, sign-test p"""


def paired_table(
    key: str, label: str, title: str, corner: str, lines: Sequence[Line], first_note: str
) -> Table:
    """The differences as the paper prints them: mean, interval, wins and sign test."""
    rows = [Row(line.heading, tuple(_paper_cells(line)), missing=line.missing) for line in lines]
    claims = [line.claim for line in lines if line.claim]
    count = claims[0].found.seeds if claims else 0
    note = (
        f"Paired by seed over {count} seeds, never by slot. The sign test is exact; fewer than "
        f"{sign_test_minimum()} seeds cannot bring it below 0.05."
    )
    return Table(key, label, title, corner, COLUMNS, tuple(rows), (first_note, note))


def tests_table(key: str, title: str, corner: str, lines: Sequence[Line]) -> Table:
    """The same differences by exact tests, adjusted for how many they are, and their size."""
    flips, tests = iter(flips_after_holm(lines)), iter(_after_holm(lines, "t_p"))
    rows = []
    for line in lines:
        cells = [Cell(applies=False)] * len(TESTS)
        if line.claim:
            cells = _cells(line.claim.found, line.gain, next(flips), next(tests))
        rows.append(Row(line.heading, tuple(cells), missing=line.missing))
    notes = (
        (
            f"Holm: adjusted for the {sum(line.claim is not None for line in lines)} claims of "
            f"this table. The sign-flip test is exact; fewer than {sign_test_minimum()} seeds "
            "cannot bring it below 0.05."
        ),
        (
            "IQM: interquartile mean. d_z: mean over standard deviation of the differences, and "
            "corrected for few seeds. Seeds needed: for power 0.8 of the paired t test at this "
            "effect, at level 0.05."
        ),
    )
    return Table(key, "", title, corner, TESTS, tuple(rows), notes)


def flips_after_holm(lines: Sequence[Line]) -> list[float]:
    """The sign-flip test's p of every claim, adjusted for how many they are."""
    return _after_holm(lines, "permutation_p")


def _after_holm(lines: Sequence[Line], which: str) -> list[float]:
    return holm([getattr(line.claim.found, which) for line in lines if line.claim])


def _paper_cells(line: Line) -> list[Cell]:
    """The columns that the paper has as well: mean, interval, wins, sign test."""
    quantities = read_paper().quantities
    gain, wins, p = gain_quantity(line.gain), quantities["wins"], quantities["p_value"]
    ours: list[Value | None] = [None] * 5
    if line.claim:
        found = line.claim.found
        ours = [
            Value(found.mean, found.deviation, found.seeds),
            Value(found.t_interval.low, None, found.seeds),
            Value(found.t_interval.high, None, found.seeds),
            Value(found.wins, None, found.seeds),
            Value(found.sign_p, None, found.seeds),
        ]
    bound = replace(gain, better="neither")  # a wider interval is not better at one end
    kinds = (gain, bound, bound, wins, p)
    cells = [Cell(*found) for found in zip(kinds, ours, strict=True)]
    if line.papers is None:
        return cells
    mean, low, high, won, of, sign = line.papers
    single = [Value(number, None, int(of)) for number in (low, high, won, sign)]
    papers = [papers_gain(line.papers), *single]
    if line.claim and line.claim.found.seeds != of:
        # wins, p and the interval's bounds of another number of seeds are not the same quantity
        texts = [f"{mean}", f"{low}", f"{high}", f"{won:g} of {of:g}", f"{sign}"]
        return [
            Cell(kind, value, paper_text=text) if place else Cell(kind, value, papers[0])
            for place, (kind, value, text) in enumerate(zip(kinds, ours, texts, strict=True))
        ]
    return [Cell(*found) for found in zip(kinds, ours, papers, strict=True)]


def _cells(found: PairedComparison, gain: str, flip: float, test: float) -> list[Cell]:
    """The columns that the paper has not, each sorted by the number it begins with."""
    decimals = gain_quantity(gain).decimals
    needed = found.seeds_needed
    return [
        Cell(text=f"{found.permutation_p:.4f} ({flip:.4f})", sort_key=found.permutation_p),
        Cell(text=f"{found.t_p:.2g} ({test:.2g})", sort_key=found.t_p),
        Cell(text=_interval(found.bootstrap_mean, decimals), sort_key=found.bootstrap_mean.low),
        Cell(text=_interval(found.bootstrap_iqm, decimals), sort_key=found.bootstrap_iqm.low),
        Cell(
            text=f"{_finite(found.effect)} ({_finite(found.effect_corrected)})",
            sort_key=found.effect,
        ),
        Cell(
            text="over 10,000" if needed is None else f"{needed:,}",
            sort_key=math.inf if needed is None else float(needed),
        ),
    ]


def gain_quantity(gain: str) -> Quantity:
    """A gain is printed like what it is a gain of, and more is better."""
    of = read_paper().quantities[gain]
    unit = "pp" if of.unit == "%" else of.unit
    return Quantity(f"{gain}_gain", GAINS.get(gain, of.heading), unit, of.decimals, "higher",
                    of.margin)  # fmt: skip


def papers_gain(papers: Sequence[float] | None) -> Value | None:
    """The paper's mean gain; its deviation follows from the interval: half = t s / sqrt(5)."""
    if papers is None:
        return None
    t_of_five_seeds = 2.7764
    deviation = (papers[2] - papers[1]) / 2 * math.sqrt(papers[4]) / t_of_five_seeds
    return Value(papers[0], deviation, int(papers[4]))


def _interval(interval: Interval, decimals: int) -> str:
    return f"[{interval.low:.{decimals}f}, {interval.high:.{decimals}f}]"


def _finite(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else ("∞" if value > 0 else "-∞")


TESTS_TITLE = "The same differences: exact tests, bootstrap, sizes"


def comparison_tables(records: Records) -> tuple[Table, Table]:
    """tab:packet_comparison, with TACAN against the matched MLP and the 8-slot limit below; and
    further statistics of the same differences.
    """
    paper = read_paper().tables["packet_comparison"]
    others = (
        Question("greedy"),
        Question(MLP),
        Question(MATCHED),
        Question("window-bayes:8", stage="ladder"),
    )
    lines = []
    try:
        for other in others:
            for gain, name in GAINS.items():
                papers = paper.row(other.policy).get(gain)
                heading = f"{method_name(other.policy)}: {name}"
                try:
                    claim = gain_by_seed(records, Question(TACAN), other, gain)
                    lines.append(Line(heading, gain, claim, papers=papers))
                except UnavailableError as error:
                    lines.append(Line(heading, gain, None, str(error), papers))
    except UserError as error:
        return (
            broken_by(error, paper.key, paper.label, paper.title),
            broken_by(error, "comparison_tests", "", TESTS_TITLE),
        )
    corner, note = "TACAN against", "Positive: TACAN is better."
    return (
        paired_table(paper.key, paper.label, paper.title, corner, lines, note),
        tests_table("comparison_tests", TESTS_TITLE, corner, lines),
    )


def gain_figure(key: str, title: str, caption: str, table: Table, unit: str) -> Figure:
    """The mean gains of a paired table that have one unit, with their t intervals."""
    if table.broken:
        return broken_figure(key, "", title, table.broken)
    rows = [
        row for row in table.rows
        if row.cells[0].ours and row.cells[0].quantity and row.cells[0].quantity.unit == unit
    ]  # fmt: skip
    if not rows:
        return broken_figure(key, "", title, "none of the policies compared here is available")
    papers = [(i, row.cells[0].paper) for i, row in enumerate(rows)]
    halves = [_half(row) for row in rows]
    series = [
        Series(
            "Mean gain, with its 95 % t interval",
            "blue",
            tuple(range(len(rows))),
            tuple(row.cells[0].ours.mean for row in rows if row.cells[0].ours),
            tuple(halves),
        )
    ]
    known = [(i, value) for i, value in papers if value]
    if known:
        series.append(
            Series(
                "The paper",
                "black",
                tuple(float(i) for i, _ in known),
                tuple(value.mean for _, value in known),
                papers=True,
            )
        )
    return Figure(
        key, "", title, caption, "dots", f"Gain ({unit})", "", tuple(series),
        categories=tuple(row.heading.removesuffix(f" ({unit})") for row in rows), unit=unit,
    )  # fmt: skip


def _half(row: Row) -> float:
    """Half the length of a row's t interval, which stands in its second and third cell."""
    low, high = row.cells[1].ours, row.cells[2].ours
    return (high.mean - low.mean) / 2 if low and high else 0.0
