"""The table that ``tacan evaluate`` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:  # heavy: whoever has results has loaded it
    from tacan.evaluation.results import Result

PERCENT, SLOTS = 100.0, 1.0
HEADLINES = (
    ("assign.\n%", "assignment_success", PERCENT, 2),
    ("access\n%", "packet_access", PERCENT, 2),
    ("deliv.\n%", "delivery_per_slot", PERCENT, 2),
    ("delay\nmean", "delay_mean", SLOTS, 3),
    ("delay\np95", "delay_p95", SLOTS, 2),
    ("URLLC\nlate %", "urllc_deadline_miss", PERCENT, 2),
    ("gap\npp", "access_gap", PERCENT, 2),
    ("floor\npp", "access_gap_floor", PERCENT, 2),
)
SIDE_BY_SIDE = 14
"""Characters that a mean and its deviation take on one line, with the space beside them."""


def result_table(results: Sequence[Result], width: int) -> Table:
    """One row a result: means ± standard deviations over seeds.

    What is the same for all results stands in the title. On a narrow screen deviations stand below
    their means, and policy, order and load share a column.
    """
    keys = {
        "policy": [result.policy for result in results],
        "order": [result.order for result in results],
        "load": [result.load for result in results],
    }
    shown = {key: names for key, names in keys.items() if key == "policy" or len({*names}) > 1}
    widths = [2 + max(map(len, (key, *names))) for key, names in shown.items()]
    narrow = sum(widths) + SIDE_BY_SIDE * len(HEADLINES) > width
    common = [f"{key} {names[0]}" for key, names in keys.items() if key not in shown]
    table = Table(
        title=escape(_title(results[0], common)),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for key in (", ".join(shown),) if narrow else shown:
        table.add_column(key, overflow="fold")
    for heading, *_ in HEADLINES:
        table.add_column(heading, justify="right", no_wrap=True)
    for names, result in zip(zip(*shown.values(), strict=True), results, strict=True):
        between = "\n±" if narrow else " ± "
        cells = [_cell(result, *headline[1:], between) for headline in HEADLINES]
        table.add_row(*map(escape, (", ".join(names),) if narrow else names), *cells)
    return table


def _title(result: Result, common: Sequence[str]) -> str:
    count = len(result.seeds)
    seeds = f"{count} seed{'s' if count > 1 else ''} of {result.steps} slots"
    perturbation = [] if result.perturbation is None else [result.perturbation]
    return ", ".join([f"scenario {result.scenario.name}", *common, *perturbation, seeds])


def _cell(result: Result, metric: str, scale: float, digits: int, between: str) -> str:
    summary = result.summary(metric)
    if summary["mean"] is None:
        return "-"
    mean = f"{summary['mean'] * scale:.{digits}f}"
    if summary["std"] is None:
        return mean
    return f"{mean}{between}{summary['std'] * scale:.{digits}f}"
