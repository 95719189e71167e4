"""The decision path as the paper measured it (tab:sdn_overhead): three stages in one thread.

State extraction takes a slot's reports into the observation, inference asks the policy, and rule
construction assigns channels and builds their rules. Sensing, transport and retuning are not in it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacan.controller.choice import Chooser
from tacan.controller.history import History
from tacan.controller.intake import Intake
from tacan.controller.messages import NO_CHANNEL
from tacan.controller.ports import SystemClock
from tacan.controller.rules import Layout, make_plan
from tacan.controller.sensors.simulator import SimulatedRadio
from tacan.controller.wiring import live_policy
from tacan.policies.assignment import ServiceOrder
from tacan.scenario import Scenario
from tacan.simulator.streams import Domain, EpisodeKeys

WARM_UP = 50
COMPONENTS = ("extraction", "inference", "rules")
TOTAL = "total"


@dataclass(frozen=True)
class Latency:
    """One stage over all cycles, in milliseconds."""

    component: str
    median_ms: float
    p95_ms: float


def measure_decision_path(
    scenario: Scenario,
    reference: str,
    cycles: int,
    *,
    seed: int = 42,
    on_cycle: Callable[[], None] | None = None,
) -> list[Latency]:
    """Median and 95th percentile of every stage and of their sum, on one core of this machine."""
    with _one_core():
        spans = asyncio.run(_cycles(scenario, reference, cycles, seed, on_cycle))
    columns = [*spans.T, spans.sum(axis=1)]
    return [
        Latency(name, *(float(found) for found in np.percentile(column, [50, 95])))
        for name, column in zip((*COMPONENTS, TOTAL), columns, strict=True)
    ]


@contextmanager
def _one_core() -> Iterator[None]:
    """Keep this thread on one processor; where that cannot be asked for, it stays as it is."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


async def _cycles(
    scenario: Scenario,
    reference: str,
    cycles: int,
    seed: int,
    on_cycle: Callable[[], None] | None,
) -> npt.NDArray[np.float64]:
    """Milliseconds of every cycle and stage [cycles, 3]; warm-up cycles are left out."""
    clock = SystemClock()
    radio = SimulatedRadio(scenario, clock, seed=seed)
    intake, history = Intake(scenario.history), History(scenario)
    chooser = Chooser(scenario.users, scenario.channels, ServiceOrder.FIXED)
    layout = Layout.numbered(scenario.users, scenario.channels)
    policy = live_policy(reference, scenario, seed)
    policy.start(EpisodeKeys.of(Domain.EVALUATION, seed, 0))
    await radio.start()
    channels = (NO_CHANNEL,) * scenario.users
    allowed = chooser.allow(frozenset())
    marks = np.empty((cycles + WARM_UP, 4), dtype=np.int64)
    for cycle in range(cycles + WARM_UP):
        reports = await radio.read(0.0)
        marks[cycle, 0] = time.perf_counter_ns()
        for report in reports:
            intake.offer(report)
        observation = None
        for slot in intake.take():
            observation = history.push(slot)
        if observation is None:
            raise RuntimeError(f"cycle {cycle}: the simulated radio reported no slot")
        marks[cycle, 1] = time.perf_counter_ns()
        scores = policy.score(observation)
        marks[cycle, 2] = time.perf_counter_ns()
        made = chooser.choose(scores, observation, allowed, channels)
        channels = tuple(choice.channel for choice in made)
        make_plan(observation.slot, channels, layout)
        marks[cycle, 3] = time.perf_counter_ns()
        radio.play(channels)
        if on_cycle is not None and cycle >= WARM_UP:
            on_cycle()
    return np.diff(marks[WARM_UP:], axis=1) / 1e6
