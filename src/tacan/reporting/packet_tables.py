"""The paper's tables of packet service: tab:packet_main, _load, _class and _fairness."""

from __future__ import annotations

from tacan.evaluation.experiments import MATCHED, METHODS, MLP, TACAN
from tacan.reporting.columns import (
    CLASS_NAMES,
    COLOUR_OF,
    Column,
    column,
    measured_row,
    method_name,
    or_broken,
)
from tacan.reporting.figure import Figure, Series, broken_figure
from tacan.reporting.paper import read_paper
from tacan.reporting.records import Question, Records
from tacan.reporting.table import Table
from tacan.scenario import CLASSES

FLOOR_NOTE = (
    "A gap is a max-min of noisy rates and never 0: the floor is what exchangeable users would "
    "show by chance alone."
)


def _table(
    records: Records, key: str, policies: tuple[str, ...], columns: tuple[Column, ...], *notes: str
) -> Table:
    paper = read_paper().tables[key]

    def build() -> Table:
        rows = tuple(
            measured_row(records, Question(policy), columns, (paper, policy)) for policy in policies
        )
        titles = tuple(found.title for found in columns)
        return Table(key, paper.label, paper.title, "Method", titles, rows, notes)

    return or_broken(key, paper.label, paper.title, build)


def main_table(records: Records) -> Table:
    """tab:packet_main, with the gap's noise floor and the matched MLP beside it."""
    columns = (
        column("assignment"),
        column("access"),
        column("delivery"),
        column("delay"),
        column("delay_p95"),
        column("access_gap"),
        Column("access_gap", "access_gap_floor", "Gap floor (pp)", papers="none"),
        column("empty_share"),
    )
    return _table(records, "packet_main", (*METHODS, MATCHED), columns, FLOOR_NOTE)


def load_table(records: Records) -> Table:
    """tab:packet_load, with the standard deviations of fig:packet_access_load."""
    columns = tuple(
        Column("access", "packet_access", f"{load.capitalize()} (%)", papers=load, load=load)
        for load in ("normal", "high", "extreme")
    )
    policies = ("greedy", MLP, TACAN, "genie", "random", MATCHED)
    return _table(records, "packet_load", policies, columns)


def class_table(records: Records) -> Table:
    """tab:packet_class and the URLLC deadline misses of the text."""
    columns = []
    for name in CLASSES:
        shown = CLASS_NAMES[name]
        columns += [
            Column("access", f"packet_access_{name}", f"{shown} access (%)", f"{name}_access"),
            Column("delay", f"delay_mean_{name}", f"{shown} delay (slots)", f"{name}_delay"),
        ]
    columns.append(column("deadline_misses"))
    return _table(
        records,
        "packet_class",
        ("greedy", MLP, TACAN, MATCHED),
        tuple(columns),
        "A deadline miss is a URLLC packet delivered after more than 10 slots, of all delivered.",
    )


def fairness_table(records: Records) -> Table:
    """tab:packet_fairness, each gap beside its floor."""
    columns = []
    for key, floor in (
        ("access_gap", "Access floor (pp)"),
        ("delivery_gap", "Delivery floor (pp)"),
        ("delay_gap", "Delay floor (slots)"),
    ):
        columns += [column(key), Column(key, f"{key}_floor", floor, papers="none")]
    columns.append(column("jain"))
    policies = ("greedy", MLP, TACAN, MATCHED)
    return _table(records, "packet_fairness", policies, tuple(columns), FLOOR_NOTE)


def load_figure(records: Records) -> Figure:
    """fig:packet_access_load from the same records as the table."""
    table = load_table(records)
    paper = read_paper().tables["packet_load"]
    key, label, title = "packet_access_load", paper.content["figure"], paper.title
    if table.broken:
        return broken_figure(key, label, title, table.broken)
    series = []
    for row in table.rows:
        policy = next(name for name in (*METHODS, MATCHED) if method_name(name) == row.heading)
        if policy == "random":  # far below the others: its bars would flatten theirs
            continue
        ours = [cell.ours for cell in row.cells]
        values = [value for value in ours if value is not None]
        if len(values) == len(ours):
            series.append(
                Series(
                    row.heading,
                    COLOUR_OF[policy],
                    tuple(range(len(values))),
                    tuple(value.mean for value in values),
                    tuple(value.deviation or 0.0 for value in values),
                )
            )
        papers = [cell.paper.mean for cell in row.cells if cell.paper]
        if papers and len(values) == len(ours):
            series.append(
                Series(
                    f"{row.heading}, the paper",
                    "black",
                    tuple(range(len(papers))),
                    tuple(papers),
                    papers=True,
                )
            )
    lowest = min([92.0, *(y for found in series for y in found.y)])
    missing = tuple(f"{row.heading}: {row.missing}" for row in table.rows if row.missing)
    return Figure(
        key,
        label,
        title,
        "Bars: our mean over seeds, with ± 1 standard deviation. Diamonds: the paper's mean. The "
        "axis does not start at 0.",
        "bars",
        "Primary-user load",
        "Packet-present access (%)",
        tuple(series),
        categories=("Normal", "High", "Extreme"),
        limits=(5 * ((lowest - 4) // 5), 100.0),
        unit="%",
        notes=missing,
    )
