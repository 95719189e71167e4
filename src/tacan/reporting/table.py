"""A table as data: what every writer (Markdown, LaTeX, CSV, HTML) is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tacan.reporting.comparison import Comparison, Verdict, compare_values
from tacan.reporting.paper import Quantity, Value

NOT_AVAILABLE = "not available"
NO_DATA = "no data"


@dataclass(frozen=True)
class Cell:
    """One number beside the paper's, or plain text.

    A cell with a quantity and neither text is a number; without ``ours`` it is not available.
    """

    quantity: Quantity | None = None
    ours: Value | None = None
    paper: Value | None = None
    text: str | None = None
    paper_text: str | None = None
    sort_key: float | None = None
    """of text: the number that a table is sorted by"""
    applies: bool = True
    """False: there is nothing to measure here"""

    @property
    def comparison(self) -> Comparison | None:
        """How ours stands to the paper's, None where either is missing."""
        if self.quantity is None or self.ours is None or self.paper is None:
            return None
        return compare_values(self.quantity, self.ours, self.paper)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict in one word; None where the paper prints nothing to compare with."""
        if self.quantity is None or self.paper is None:
            return None
        found = self.comparison
        return Verdict.MISSING if found is None else found.verdict

    @property
    def shown(self) -> str:
        """Our side as text."""
        if not self.applies:
            return "n/a"
        if self.text is not None:
            return self.text
        return NOT_AVAILABLE if self.ours is None else format_value(self.quantity, self.ours)

    @property
    def papers(self) -> str:
        """The paper's side as text, empty if it prints none."""
        if self.paper_text is not None:
            return self.paper_text
        return "" if self.paper is None else format_value(self.quantity, self.paper)

    @property
    def order(self) -> float | str:
        """What a table is sorted by."""
        if self.sort_key is not None:
            return self.sort_key
        return self.shown if self.ours is None else self.ours.mean


def format_value(quantity: Quantity | None, value: Value) -> str:
    """``92.93 ± 0.14``."""
    if quantity is None:
        raise ValueError("a number needs its quantity")
    mean = quantity.format(value.mean)
    return mean if value.deviation is None else f"{mean} ± {quantity.format(value.deviation)}"


@dataclass(frozen=True)
class Row:
    """One line: what it is about, its cells, and why it is empty if it is."""

    heading: str
    cells: tuple[Cell, ...]
    strong: bool = False
    missing: str = ""


@dataclass(frozen=True)
class Table:
    """A whole table."""

    key: str
    label: str
    """the paper's label, empty for a table that the paper has not"""
    title: str
    corner: str
    """the heading above the rows' headings"""
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = field(default=())
    broken: str = ""
    """why it cannot be shown; then it has no rows"""
    fault: bool = False
    """whether its records are missing or damaged, and not merely without what it shows"""
    lost: int = 0
    """how many of the paper's numbers it would hold against ours if it were not broken"""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(f"{self.key}, row {row.heading!r}: {len(row.cells)} cells")

    @property
    def has_paper(self) -> bool:
        """Whether the paper prints anything in it."""
        return any(cell.papers for row in self.rows for cell in row.cells)

    @property
    def papers_numbers(self) -> Iterator[tuple[Row, str, Cell]]:
        """Every cell for which the paper prints a number."""
        for row in self.rows:
            for column, cell in zip(self.columns, row.cells, strict=True):
                if cell.verdict is not None:
                    yield row, column, cell

    def verdicts(self) -> dict[Verdict, int]:
        """How many of the paper's numbers got which verdict."""
        found = [cell.verdict for _, _, cell in self.papers_numbers]
        found += [Verdict.MISSING] * self.lost
        return {verdict: found.count(verdict) for verdict in Verdict}


def broken_table(key: str, label: str, title: str, why: str, *, fault: bool, lost: int) -> Table:
    """A table that cannot be made of its records: it says why and shows no number."""
    return Table(key, label, title, "", (), (), broken=why, fault=fault, lost=lost)


def text_row(heading: str, texts: Sequence[str]) -> Row:
    """A row of plain text."""
    return Row(heading, tuple(Cell(text=text) for text in texts))
