"""Beyond the paper: the ladder of information limits, and who chooses first."""

from __future__ import annotations

import math

from tacan.evaluation.experiments import LADDER, MATCHED, METHODS, MLP, TACAN
from tacan.reporting.columns import Column, column, measured_row, method_name, or_broken
from tacan.reporting.figure import Figure, Series, broken_figure
from tacan.reporting.records import Question, Records, UnavailableError
from tacan.reporting.table import Row, Table

LADDER_TITLE = "The ladder of information limits, every method placed on it"
ORDERS_TITLE = "Who chooses first"
LOADS = ("normal", "high", "extreme")
KNOWS = {
    "random": "nothing",
    "genie": "the last slot",
    "greedy": "8-slot sums",
    "window-bayes:8": "8 slots, used best",
    "greedy-memory": "the episode's busy shares",
    "bayes-filter": "the episode, filtered",
    "bayes-renewal": "the episode and its burst lengths, filtered",
    "oracle-placement": "true placement and load",
    "oracle-state": "full hidden state",
    "oracle-next-slot": "the next slot",
    TACAN: "8 slots and entropies, learned",
    MLP: "8 slots and entropies, learned",
    MATCHED: "8 slots and entropies, learned",
}


def stage_of(policy: str, order: str) -> str:
    """Which stage holds a policy under a service order."""
    if order == "fixed":
        return "main" if policy in (*METHODS, MATCHED) else "ladder"
    return "orders" if policy in {TACAN, MLP, MATCHED} else "ladder"


def ladder_question(policy: str, order: str) -> Question:
    """A policy under a service order, at mixed load, in whichever stage ran it."""
    return Question(policy, order=order, stage=stage_of(policy, order))


def ladder_table(records: Records) -> Table:
    """Every policy by what it reaches with the fixed order, from the least to the most."""
    columns = (
        column("access"),
        *(Column("access", "packet_access", f"{load} (%)", load=load) for load in LOADS),
        column("assignment"),
        column("delay"),
        column("access_gap"),
    )

    def build() -> Table:
        rows = [
            measured_row(
                records,
                ladder_question(policy, "fixed"),
                columns,
                name=f"{method_name(policy)}: knows {KNOWS[policy]}",
            )
            for policy in (*LADDER, TACAN, MLP, MATCHED)
        ]
        rows.sort(key=_reached)
        titles = tuple(found.title for found in columns)
        return Table(
            "ladder",
            "",
            LADDER_TITLE,
            "Policy, and what it may know",
            titles,
            tuple(rows),
            (
                (
                    "Primary users do not react, so what a policy may know bounds what it can "
                    "reach. Fixed service order, mixed load unless said; oracles are privileged."
                ),
            ),
        )

    return or_broken("ladder", "", LADDER_TITLE, build)


def _reached(row: Row) -> float:
    ours = row.cells[0].ours
    return math.inf if ours is None else ours.mean


def ladder_figure(records: Records) -> Figure:
    """The ladder under both orders."""
    table = ladder_table(records)
    if table.broken:
        return broken_figure("ladder_figure", "", LADDER_TITLE, table.broken)
    placed: list[tuple[str, dict[str, float]]] = []
    for policy in (*LADDER, TACAN, MLP, MATCHED):
        found: dict[str, float] = {}
        for order in ("fixed", "queued-first"):
            try:
                found[order] = records.value(ladder_question(policy, order), "packet_access").mean
            except UnavailableError:
                continue
        if "fixed" in found:
            placed.append((policy, found))
    placed.sort(key=lambda item: item[1]["fixed"])
    placed = [item for item in placed if item[0] != "random"]  # it would squeeze all others
    series = [
        Series(
            name,
            colour,
            tuple(float(i) for i, (_, found) in enumerate(placed) if order in found),
            tuple(found[order] for _, found in placed if order in found),
        )
        for order, name, colour in (
            ("fixed", "Fixed order (the paper's)", "blue"),
            ("queued-first", "Queued users first", "orange"),
        )
    ]
    return Figure(
        "ladder_figure",
        "",
        "The ladder, drawn",
        "Packet-present access at mixed load. The random policy lies far to the left and is left "
        "out of the drawing.",
        "dots",
        "Packet-present access (%)",
        "",
        tuple(series),
        categories=tuple(method_name(policy) for policy, _ in placed),
        unit="%",
    )


def orders_table(records: Records) -> Table:
    """Every method under every service order."""
    columns = (column("access"), column("delay"), column("access_gap"), column("deadline_misses"))

    def build() -> Table:
        rows = tuple(
            measured_row(
                records,
                ladder_question(policy, order),
                columns,
                name=f"{method_name(policy)}, {order.replace('-', ' ')}",
            )
            for policy in (TACAN, MLP, MATCHED, "greedy", "window-bayes:8", "greedy-memory",
                           "bayes-renewal", "oracle-state")
            for order in ("fixed", "rotating", "queued-first")
        )  # fmt: skip
        titles = tuple(found.title for found in columns)
        note = (
            "Queued first: users with a packet before users without; among them URLLC first, then "
            "the longest wait. Nothing is learned anew. Mixed load."
        )
        return Table("orders", "", ORDERS_TITLE, "Method, order", titles, rows, (note,))

    return or_broken("orders", "", ORDERS_TITLE, build)
