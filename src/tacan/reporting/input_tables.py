"""What TACAN's inputs are worth: tab:ablation and tab:amc_robustness."""

from __future__ import annotations

from dataclasses import dataclass

from tacan.evaluation.experiments import MATCHED, MIXING_SHARES, MLP, TACAN
from tacan.reporting.columns import or_broken
from tacan.reporting.figure import Figure, Series, broken_figure
from tacan.reporting.paper import PAPER_SEEDS, Value, read_paper
from tacan.reporting.records import Question, Records, UnavailableError, estimate
from tacan.reporting.table import Cell, Row, Table

METRIC = "assignment_success"
FULL = Question(TACAN)


@dataclass(frozen=True)
class _Line:
    key: str
    heading: str
    question: Question
    compared: bool = True
    """whether a change against the full policy is printed"""


def ablation_table(records: Records) -> Table:
    """tab:ablation; the change is paired by seed."""
    lines = (
        _Line("full", "TACAN (full)", FULL, compared=False),
        _Line("mlp", "(a) PPO+MLP", Question(MLP)),
        _Line("matched", "(a) MLP, matched to TACAN", Question(MATCHED)),
        _Line("unmodified", "(b) Unmodified observation", FULL, compared=False),
        _Line("zero-entropy", "(b) without AMC entropy (zeroed)", _without("zero-entropy")),
        _Line("single-frame", "(b) without history (single frame)", _without("single-frame")),
    )
    return _table(
        records,
        "ablation",
        "Configuration",
        lines,
        "(a) Complete encoders, trained independently. (b) The same trained TACAN with an input "
        "suppressed: loss of information and unfamiliar input together.",
    )


def _without(kind: str) -> Question:
    return Question(TACAN, perturbation=kind, stage="ablation")


def mixing_table(records: Records) -> Table:
    """tab:amc_robustness."""
    lines = [_Line("0", "0 % (original)", FULL)]
    for share in MIXING_SHARES:
        question = Question(TACAN, perturbation=f"mixing:{share:g}", stage="mixing")
        lines.append(_Line(f"{100 * share:g}", f"{100 * share:g} %", question))
    return _table(
        records,
        "amc_robustness",
        "Uniform mix",
        tuple(lines),
        "A uniform posterior is blended into the classifier's: at 100 % the entropy tells nothing, "
        "yet stays within its range.",
    )


def _table(records: Records, key: str, corner: str, lines: tuple[_Line, ...], note: str) -> Table:
    paper = read_paper().tables[key]

    def build() -> Table:
        rows = tuple(_row(records, key, line) for line in lines)
        columns = ("Assignment (%)", "Failure (%)", "Change (pp)")
        return Table(key, paper.label, paper.title, corner, columns, rows, (note,))

    return or_broken(key, paper.label, paper.title, build)


def _row(records: Records, key: str, line: _Line) -> Row:
    paper, quantities = read_paper().tables[key], read_paper().quantities
    papers = [paper.value(line.key, name) for name in ("assignment", "failure", "change")]
    ours: list[Value | None] = [None, None, None]
    missing = ""
    try:
        values = records.by_seed(line.question, METRIC)
        assignment = estimate(values.values())
        ours[0] = assignment
        ours[1] = Value(100.0 - assignment.mean, assignment.deviation, assignment.seeds)
        if line.compared:
            full = records.by_seed(FULL, METRIC)
            ours[2] = estimate(values[seed] - full[seed] for seed in full)
    except UnavailableError as error:
        missing = str(error)
    cells = [
        Cell(quantities[name], value, printed)
        for name, value, printed in zip(
            ("assignment", "failure", "change"), ours, papers, strict=True
        )
    ]
    if not line.compared:
        cells[2] = Cell(applies=False)
    return Row(line.heading, tuple(cells), line.key == "full", missing)


def mixing_figure(records: Records) -> Figure:
    """tab:amc_robustness as a curve."""
    table = mixing_table(records)
    key, title = "amc_mixing", table.title
    values = [row.cells[0].ours for row in table.rows]
    shares = tuple(100.0 * share for share in (0.0, *MIXING_SHARES))
    if table.broken or any(value is None for value in values):
        why = table.broken or next(row.missing for row in table.rows if row.missing)
        return broken_figure(key, table.label, title, why)
    papers = [row.cells[0].paper for row in table.rows]
    series = (
        Series(
            "TACAN",
            "blue",
            shares,
            tuple(value.mean for value in values if value),
            tuple(value.deviation or 0.0 for value in values if value),
        ),
        Series(
            "TACAN, the paper",
            "black",
            shares,
            tuple(value.mean for value in papers if value),
            tuple(value.deviation or 0.0 for value in papers if value),
            papers=True,
        ),
    )
    return Figure(
        key,
        table.label,
        title,
        f"Mean and ± 1 standard deviation over seeds; the paper's are over {PAPER_SEEDS}.",
        "lines",
        "Uniform posterior blended in (%)",
        "Assignment success (%)",
        series,
        unit="%",
    )
