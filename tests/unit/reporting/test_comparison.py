"""When a value counts as the paper's, and how a table is written down."""

from __future__ import annotations

import pytest

from tacan.reporting.comparison import Verdict, compare_values, tolerance
from tacan.reporting.figure import ticks
from tacan.reporting.paper import Quantity, Value, read_paper
from tacan.reporting.table import Cell, Row, Table
from tacan.reporting.table_files import csv_rows, latex, markdown

ACCESS = Quantity("access", "Access", "%", 2, "higher", 1.0)
DELAY = Quantity("delay", "Mean delay", "slots", 3, "lower", 0.05)


def test_the_tolerance_by_hand() -> None:
    """Five seeds each, s = 2 and r = 1: t(0.975, 8) = 2.306 times sqrt(4/5 + 1/5) = 2.306."""
    found = tolerance(ACCESS, Value(90.0, 2.0, 5), Value(91.0, 1.0, 5))
    assert found == pytest.approx(2.306, abs=1e-3)


def test_ours_stands_in_for_a_deviation_that_is_not_printed() -> None:
    """s = r = 2: 2.306 times sqrt(8/5) = 2.917."""
    found = tolerance(ACCESS, Value(90.0, 2.0, 5), Value(91.0, None, 5))
    assert found == pytest.approx(2.917, abs=1e-3)


def test_small_scatter_leaves_the_margin() -> None:
    """Seeds that agree do not make a practically equal value differ."""
    assert tolerance(ACCESS, Value(90.0, 0.01, 5), Value(90.5, 0.01, 5)) == 1.0
    assert tolerance(ACCESS, Value(90.0, None, 1), Value(90.5, 3.0, 5)) == 1.0


@pytest.mark.parametrize(
    ("quantity", "ours", "verdict"),
    [
        (ACCESS, 91.0, Verdict.MATCHES),
        (ACCESS, 91.01, Verdict.BETTER),
        (ACCESS, 88.9, Verdict.WORSE),
        (DELAY, 89.9, Verdict.BETTER),
        (DELAY, 90.1, Verdict.WORSE),
    ],
)
def test_better_has_a_direction(quantity: Quantity, ours: float, verdict: Verdict) -> None:
    """The paper says 90: more access is better, more delay is worse, the margin itself matches."""
    assert compare_values(quantity, Value(ours, None, 1), Value(90.0, None, 1)).verdict is verdict


def test_the_papers_numbers_are_the_papers() -> None:
    """A few cells of every kind, as the paper prints them."""
    tables = read_paper().tables
    assert tables["packet_main"].value("tacan", "access") == Value(92.53, 0.47, 5)
    assert tables["packet_main"].value("genie", "delay") == Value(1.203, None, 5)
    assert tables["packet_load"].value("mlp", "extreme") == Value(74.589, 2.377, 5)
    assert tables["amc_robustness"].value("100", "change") == Value(-0.35, None, 5)
    assert tables["packet_main"].value("mlp-matched", "access") is None
    for row in tables["attention"].content["rows"].values():
        assert sum(row["weights"]) == pytest.approx(1.0, abs=5e-4)


def table() -> Table:
    cells = (
        Cell(ACCESS, Value(92.0, 0.5, 5), Value(90.0, None, 5)),
        Cell(ACCESS, None, Value(80.0, None, 5)),
    )
    rows = (Row("A & B_1", cells, strong=True, missing="it does not ship"),)
    return Table("key", "tab:x", "10 % of it", "Method", ("One (%)", "Two | (%)"), rows)


def test_latex_prints_what_has_a_meaning_there() -> None:
    """Ampersands, percent signs and underscores are escaped; the paper's row is small."""
    text = latex(table())
    assert r"\textbf{A \& B\_1} & \textbf{92.00 $\pm$ 0.50} & \textbf{not available} \\" in text
    assert r"\caption{10 \% of it." in text
    assert r"{\scriptsize 90.00} & {\scriptsize 80.00} \\" in text


def test_markdown_shows_ours_the_papers_and_the_difference() -> None:
    """Three lines a method; what is missing is said below."""
    lines = markdown(table()).splitlines()
    assert lines[4] == "| **A & B_1** | 92.00 ± 0.50 | not available |"
    assert lines[5] == "| · the paper | 90.00 | 80.00 |"
    assert lines[6] == "| · difference | ▲ +2.00 |  |"
    assert lines[-1] == "- A & B_1: it does not ship"


def test_csv_holds_numbers_in_full() -> None:
    """A cell that is not available has no number of ours, and says so in its verdict."""
    first, second = csv_rows(table())
    assert (first["ours"], first["difference"], first["verdict"]) == ("92.0", "2.0", "better")
    assert (second["ours"], second["paper"], second["verdict"]) == ("", "80.0", "not available")


def test_ticks_are_round() -> None:
    """About as many as asked for, at 1, 2 or 5 times a power of ten, within the range."""
    assert ticks(70.0, 100.0) == [70.0, 75.0, 80.0, 85.0, 90.0, 95.0, 100.0]
    assert ticks(0.018, 0.15) == [0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14]
