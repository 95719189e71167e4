"""Which metric of the records each column of the paper's tables is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tacan.errors import UserError
from tacan.reporting.figure import Figure, broken_figure
from tacan.reporting.paper import PaperTable, Quantity, Value, read_paper
from tacan.reporting.records import NoDataError, Question, Records, UnavailableError
from tacan.reporting.table import NO_DATA, Cell, Row, Table, broken_table

METRIC_OF = {
    "assignment": "assignment_success",
    "access": "packet_access",
    "delivery": "delivery_per_slot",
    "empty_share": "empty_success_share",
    "delay": "delay_mean",
    "delay_p95": "delay_p95",
    "access_gap": "access_gap",
    "delivery_gap": "delivery_gap",
    "delay_gap": "delay_gap",
    "jain": "access_jain",
    "deadline_misses": "urllc_deadline_miss",
}
CLASS_NAMES = {"urllc": "URLLC", "mmtc": "mMTC", "embb": "eMBB"}
METHOD_NAMES = {
    "random": "Random (coordinated)",
    "greedy": "Greedy",
    "mlp": "PPO+MLP",
    "tacan": "TACAN",
    "genie": "Current-slot genie",
    "mlp-matched": "MLP, matched to TACAN",
    "greedy-memory": "Greedy with memory",
    "window-bayes:8": "Window-Bayes, 8 slots",
    "bayes-filter": "Bayes filter, whole episode",
    "bayes-renewal": "Bayes filter with burst lengths",
    "oracle-placement": "Oracle: placement",
    "oracle-state": "Oracle: full hidden state",
    "oracle-next-slot": "Oracle: next slot",
}
COLOUR_OF = {
    "random": "grey",
    "greedy": "orange",
    "mlp": "red",
    "tacan": "blue",
    "genie": "green",
    "mlp-matched": "purple",
}


def method_name(policy: str) -> str:
    """How a policy is called in a table."""
    return METHOD_NAMES.get(policy, policy)


def heading(quantity: Quantity) -> str:
    """A column's heading with its unit."""
    return f"{quantity.heading} ({quantity.unit})" if quantity.unit else quantity.heading


@dataclass(frozen=True)
class Column:
    """A column of numbers: what it prints and where it comes from."""

    quantity: str
    metric: str
    heading: str = ""
    papers: str = ""
    """the paper's column, if it is not named as the quantity"""
    load: str = ""
    """another load than the row's"""

    @property
    def title(self) -> str:
        """Its heading."""
        return self.heading or heading(read_paper().quantities[self.quantity])


def column(quantity: str) -> Column:
    """The plain column of a quantity."""
    return Column(quantity, METRIC_OF[quantity])


def measured_row(
    records: Records,
    question: Question,
    columns: tuple[Column, ...],
    papers: tuple[PaperTable, str] | None = None,
    *,
    name: str = "",
) -> Row:
    """One policy's cells beside the paper's; a cell without a number says why it has none."""
    quantities = read_paper().quantities
    cells, missing = [], []
    for found in columns:
        asked = replace(question, load=found.load) if found.load else question
        paper = papers[0].value(papers[1], found.papers or found.quantity) if papers else None
        ours: Value | None = None
        text = None
        try:
            ours = records.value(asked, found.metric)
        except UnavailableError as error:
            missing.append(str(error))
            text = NO_DATA if isinstance(error, NoDataError) else None
        cells.append(Cell(quantities[found.quantity], ours, paper, text))
    strong = question.policy == "tacan"
    why = "; ".join(dict.fromkeys(missing))
    return Row(name or method_name(question.policy), tuple(cells), strong, why)


def or_broken(key: str, label: str, title: str, build: Callable[[], Table]) -> Table:
    """A table, or one that says why its records cannot be used."""
    try:
        return build()
    except UserError as error:
        return broken_by(error, key, label, title)


def broken_by(error: UserError, key: str, label: str, title: str) -> Table:
    """A table whose records say this of themselves, and the paper's numbers that go with it."""
    lost = sum(paper.numbers for paper in read_paper().tables.values() if paper.label == label)
    return broken_table(key, label, title, str(error), fault=_is_fault(error), lost=lost)


def figure_or_broken(key: str, label: str, title: str, build: Callable[[], Figure]) -> Figure:
    """The same of a figure."""
    try:
        return build()
    except UserError as error:
        return broken_figure(key, label, title, str(error), fault=_is_fault(error))


def _is_fault(error: UserError) -> bool:
    """Whatever cannot be said of whole records; a policy that was not there can."""
    return not isinstance(error, UnavailableError)
