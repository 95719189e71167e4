"""``tacan lab``: policies steer real packets through a real switch, compared with the simulator."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from tacan.cli.console import wide_console

if TYPE_CHECKING:
    from tacan.controller.lab.experiment import LabRun
    from tacan.controller.lab.ledger import Ledger

POLICIES = ("random", "greedy", "genie", "window-bayes")
MOST_NAMED = 12


def lab(
    slots: Annotated[int, typer.Option(min=1, max=30_000, help="Slots for each policy.")] = 400,
    policy: Annotated[
        list[str] | None, typer.Option(help="A policy; may be given several times.")
    ] = None,
    order: Annotated[
        str, typer.Option(help="Who chooses first: fixed, queued-first or rotating.")
    ] = "fixed",
    scenario: Annotated[str, typer.Option(help="A scenario's name or file.")] = "paper",
    slot_ms: Annotated[float, typer.Option(min=15.0, help="How long a slot lasts.")] = 25.0,
    datagrams: Annotated[int, typer.Option(min=1, max=32, help="UDP packets a packet.")] = 4,
    seed: Annotated[int, typer.Option(min=0, max=2**64 - 1)] = 42,
    audit: Annotated[Path | None, typer.Option(help="Keep the controller's audit log.")] = None,
) -> None:
    """Start a real Open vSwitch lab (as root), drive it, and account for every packet."""
    from tacan.controller.lab.experiment import LabSettings, run_policy
    from tacan.controller.lab.ledger import compare
    from tacan.controller.lab.testbed import Testbed, be_quick
    from tacan.controller.wiring import live_policy
    from tacan.errors import UserError
    from tacan.policies.assignment import ServiceOrder
    from tacan.scenario import load_scenario

    if order not in tuple(ServiceOrder):
        raise UserError(f"order {order!r}: must be one of {', '.join(ServiceOrder)}")
    found = load_scenario(scenario).changed({"episode_slots": slots})
    settings = LabSettings(
        found, slots, ServiceOrder(order), seed, slot_ms / 1_000.0, datagrams, audit
    )
    names = policy or list(POLICIES)
    for name in names:
        live_policy(name, found, seed)
    console = wide_console()
    results: list[tuple[LabRun, Ledger]] = []
    be_quick()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with Testbed(found.users, found.channels) as testbed:
        for left in testbed.removed:
            console.print(f"removed what the killed lab {left} had left behind")
        for number, name in enumerate(names, start=1):
            console.print(escape(f"{name}: {slots} slots of {slot_ms:g} ms .."))
            run = asyncio.run(run_policy(testbed, settings, name, number))
            results.append((run, compare(run, settings)))
    ledgers = [ledger for _, ledger in results]
    console.print(_accounts(ledgers))
    console.print(_latencies(results))
    for line in _verdict(ledgers):
        console.print(escape(line))
    if any(ledger.objections() for ledger in ledgers):
        raise typer.Exit(1)


def _accounts(ledgers: list[Ledger]) -> Table:
    table = Table(
        "datagrams", *(escape(one.policy) for one in ledgers), title="On the air, and as predicted"
    )
    rows: dict[str, Callable[[Ledger], int]] = {
        "sent": lambda one: one.sent,
        "delivered": lambda one: one.delivered,
        "delivered, as predicted": lambda one: one.predicted_delivered,
        "collided": lambda one: one.collided,
        "collided, as predicted": lambda one: one.predicted_collided,
        "misrouted": lambda one: one.misrouted,
        "lost": lambda one: one.lost,
        "slots overrun and excluded": lambda one: len(one.overran),
        "OpenFlow errors": lambda one: one.errors,
        "decisions that were not the policy's": lambda one: one.fallbacks,
        "decisions that differ from a replay": lambda one: one.replay_differs,
    }
    for title, number in rows.items():
        table.add_row(title, *(f"{number(one):,}" for one in ledgers))
    return table


def _latencies(results: list[tuple[LabRun, Ledger]]) -> Table:
    table = Table("stage", "median ms", "p95 ms", "samples", title="The live path, all policies")
    runs = [run for run, _ in results]
    names = {
        "aggregate": "sense: report to observation",
        "decide": "decide: policy and assignment",
        "rules": "rules",
        "encode": "encode: OpenFlow messages",
        "barrier": "barrier round trip (bundle confirmed)",
    }
    for key, title in names.items():
        _row(table, title, np.concatenate([np.asarray(run.stages[key]) for run in runs]))
    after = np.concatenate([ledger.first_after_barrier for _, ledger in results])
    whole = np.concatenate([ledger.first_packet for _, ledger in results])
    _row(table, "first packet on the new channel, after the barrier (6 ms guard)", after)
    _row(table, "first packet on the new channel, from the start of the slot", whole)
    return table


def _row(table: Table, title: str, seconds: np.ndarray) -> None:
    if seconds.size:
        middle, high = np.percentile(seconds, [50, 95]) * 1_000.0
        table.add_row(title, f"{middle:.3f}", f"{high:.3f}", str(seconds.size))


def _verdict(ledgers: list[Ledger]) -> list[str]:
    lines = []
    for one in ledgers:
        if one.overran:
            named = ", ".join(map(str, one.overran[:MOST_NAMED]))
            more = ", .." if len(one.overran) > MOST_NAMED else ""
            lines.append(f"{one.policy}: overrun and excluded: slots {named}{more}")
        if one.different:
            named = ", ".join(map(str, one.different[:MOST_NAMED]))
            lines.append(f"{one.policy}: DIFFERS from the prediction in slots {named}")
        lines += [f"{one.policy}: NOT SHOWN: {objection}" for objection in one.objections()]
    total = sum(one.sent for one in ledgers)
    agree = not any(one.objections() for one in ledgers)
    lines.append(
        f"{total} datagrams: "
        + ("every one fared as predicted" if agree else "not shown that every one fares so")
    )
    return lines
