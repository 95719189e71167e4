"""The controller's decision path, by the paper's stages (tab:sdn_overhead), on one core.

    python benchmarks/decision.py [--policy tacan] [--cycles 1000] [--realtime]

*Called directly* is what the paper measured: state extraction, policy inference, rules, one after
the other in one thread. *In the loop* is what runs: the policy in its own thread with a deadline,
then checks, masks and reasons. ``--realtime`` (root) keeps a busy machine's other work out of the
figures. The live path, to the barrier and the first packet, is what ``tacan lab`` prints.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from pathlib import Path

import numpy as np

from tacan.controller.choice import Chooser
from tacan.controller.history import History
from tacan.controller.intake import Intake
from tacan.controller.ports import SystemClock
from tacan.controller.rules import Layout, make_plan
from tacan.controller.sensors.simulator import SimulatedRadio
from tacan.controller.settings import validate_settings
from tacan.controller.wiring import build_controller, live_policy
from tacan.policies.assignment import ServiceOrder
from tacan.scenario import load_scenario
from tacan.simulator.streams import Domain, EpisodeKeys

WARM_UP = 50
PAPER = {
    "state extraction": (0.041, 0.087),
    "policy inference": (4.943, 17.097),
    "rule construction": (0.033, 0.069),
    "total": (5.01, 17.27),
}


async def directly(reference: str, cycles: int) -> dict[str, np.ndarray]:
    """The paper's three stages [cycles], in milliseconds."""
    scenario, clock = load_scenario("paper"), SystemClock()
    radio = SimulatedRadio(scenario, clock, seed=42)
    intake, history = Intake(scenario.history), History(scenario)
    chooser = Chooser(scenario.users, scenario.channels, ServiceOrder.FIXED)
    layout = Layout.numbered(scenario.users, scenario.channels)
    policy = live_policy(reference, scenario, 42)
    policy.start(EpisodeKeys.of(Domain.EVALUATION, 42, 0))
    await radio.start()
    channels = (-1,) * scenario.users
    marks = np.empty((cycles + WARM_UP, 4), dtype=np.int64)
    for cycle in range(cycles + WARM_UP):
        reports = await radio.read(0.0)
        marks[cycle, 0] = time.perf_counter_ns()
        for report in reports:
            intake.offer(report)
        for slot in intake.take():
            observation = history.push(slot)
        marks[cycle, 1] = time.perf_counter_ns()
        scores = policy.score(observation)
        marks[cycle, 2] = time.perf_counter_ns()
        allowed = chooser.allow(frozenset())
        made = chooser.choose(scores, observation, allowed, channels)
        channels = tuple(choice.channel for choice in made)
        make_plan(observation.slot, channels, layout)
        marks[cycle, 3] = time.perf_counter_ns()
        radio.play(channels)
    spans = np.diff(marks[WARM_UP:], axis=1) / 1e6
    names = ("state extraction", "policy inference", "rule construction")
    return {name: spans[:, n] for n, name in enumerate(names)} | {"total": spans.sum(axis=1)}


def in_the_loop(reference: str, cycles: int) -> dict[str, np.ndarray]:
    """The loop's stages, in milliseconds; nothing is printed or sent."""
    settings = validate_settings(
        {
            "policy": reference,
            "pace": {"mode": "slot", "deadline_ms": 1_000.0},
            "sensor": {"kind": "simulator", "slots": cycles + WARM_UP},
            "actuator": {"kind": "dry-run", "print_rules": False},
        },
        "benchmark",
    )
    loop = build_controller(settings, Path.cwd(), print).loop
    stages = loop.parts.metrics.stages
    for histogram in stages.values():
        histogram.keep()
    asyncio.run(loop.run())
    spans = {
        name: np.asarray(stages[name].kept)[-cycles:] * 1e3
        for name in ("aggregate", "decide", "rules")
    }
    titles = {
        "aggregate": "state extraction",
        "decide": "policy, with its deadline, checks and assignment",
        "rules": "rule construction",
    }
    result = {title: spans[name] for name, title in titles.items()}
    return result | {"total": sum(spans.values())}


def show(title: str, spans: dict[str, np.ndarray], *, paper: bool) -> None:
    print(f"\n{title}\n\n| stage | median ms | p95 ms |" + (" paper |" if paper else ""))
    print("|---|---|---|" + ("---|" if paper else ""))
    for name, values in spans.items():
        middle, high = np.percentile(values, [50, 95])
        theirs = " {} / {} |".format(*PAPER[name]) if paper else ""
        print(f"| {name} | {middle:.3f} | {high:.3f} |{theirs}")


def main() -> None:
    parser = argparse.ArgumentParser(description="The controller's decision path, on one core.")
    parser.add_argument("--policy", default="tacan")
    parser.add_argument("--cycles", type=int, default=1_000)
    parser.add_argument("--realtime", action="store_true")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if options.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    print(f"policy {options.policy}, {options.cycles} cycles, one core")
    show(
        "Called directly, as the paper measured",
        asyncio.run(directly(options.policy, options.cycles)),
        paper=True,
    )
    show("In the loop", in_the_loop(options.policy, options.cycles), paper=False)


if __name__ == "__main__":
    main()
