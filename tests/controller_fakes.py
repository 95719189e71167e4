"""Stand-ins around the control loop: a clock, a sensor, an actuator and a policy that obey."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tacan.controller.audit import AuditLog
from tacan.controller.choice import Chooser
from tacan.controller.decide import Decider, Limits
from tacan.controller.history import History
from tacan.controller.intake import Intake
from tacan.controller.loop import ControlLoop, Manner, Parts
from tacan.controller.messages import ActuatorError, Applied, Plan, Report, SensorEnded
from tacan.controller.metrics import Metrics
from tacan.controller.rules import Layout
from tacan.observation import Observation
from tacan.policies.assignment import ServiceOrder
from tacan.policies.heuristics import GreedyPolicy
from tacan.policies.policy import Policy, Scores
from tacan.scenario import Scenario, load_scenario
from tacan.simulator.simulator import Privilege, Secrets
from tacan.simulator.streams import Domain, EpisodeKeys

TINY = load_scenario("tiny")
"""4 channels, 2 users, 4 slots of history."""


def report(
    slot: int,
    busy: Sequence[int] = (),
    *,
    time: float | None = None,
    entropy: float = 0.5,
    restart: bool = False,
) -> Report:
    """A report of TINY with these channels busy; sent one second after the other."""
    occupancy = np.zeros(TINY.channels, dtype=np.uint8)
    occupancy[list(busy)] = 1
    return Report(
        slot=slot,
        time=float(slot) if time is None else time,
        occupancy=occupancy,
        entropy=np.full(TINY.channels, entropy, dtype=np.float32),
        queue_class=np.array([0, -1], dtype=np.int8),
        queue_delay=np.array([1, 0], dtype=np.int32),
        restart=restart,
    )


class FakeClock:
    """Time passes only when somebody sleeps; the wall clock can be set."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000_000
        self.wall_time = 1.7e9

    def monotonic_ns(self) -> int:
        return self.now_ns

    def wall(self) -> float:
        return self.wall_time

    async def sleep_until(self, moment_ns: int) -> None:
        self.now_ns = max(self.now_ns, moment_ns)
        await asyncio.sleep(0)

    def pass_by(self, seconds: float) -> None:
        self.now_ns += int(seconds * 1e9)


class ScriptedSensor:
    """Each read gives the next batch, after ``step`` seconds of the fake clock."""

    def __init__(
        self, clock: FakeClock, batches: Sequence[Sequence[Report]], step: float = 1.0
    ) -> None:
        self._clock, self._batches, self._step = clock, list(batches), step
        self.stopped = False

    async def start(self) -> None:
        pass

    async def read(self, patience: float) -> Sequence[Report]:
        del patience
        if not self._batches:
            raise SensorEnded
        self._clock.pass_by(self._step)
        await asyncio.sleep(0)
        return self._batches.pop(0)

    async def stop(self) -> None:
        self.stopped = True

    def counts(self) -> Counter[str]:
        return Counter()


@dataclass
class RecordingActuator:
    """Remembers plans; may be told to fail, or that channels are down."""

    plans: list[Plan] = field(default_factory=list)
    down_channels: frozenset[int] = frozenset()
    failing: bool = False
    stopped: bool = False

    async def start(self) -> None:
        pass

    async def apply(self, plan: Plan) -> Applied:
        if self.failing:
            raise ActuatorError("told to fail")
        self.plans.append(plan)
        return Applied(len(plan.rules), 0, 0, 0, 0)

    def down(self) -> frozenset[int]:
        return self.down_channels

    def healthy(self) -> bool:
        return not self.failing

    def counts(self) -> Counter[str]:
        return Counter()

    async def stop(self) -> None:
        self.stopped = True

    @property
    def channels(self) -> list[tuple[int, ...]]:
        return [plan.channels for plan in self.plans]


class ScriptedPolicy:
    """Asks ``answer`` for its scores, and counts what it is asked."""

    name = "scripted"
    privilege = Privilege.NONE

    def __init__(self, answer: Callable[[Observation], Scores]) -> None:
        self._answer = answer
        self.starts = 0
        self.slots: list[int] = []

    def start(self, keys: EpisodeKeys) -> None:
        del keys
        self.starts += 1
        self.slots = []

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        del secrets
        self.slots.append(observation.slot)
        return self._answer(observation)


def prefers(*channels: int) -> Scores:
    """Scores of TINY with these channels first, in this order."""
    scores = np.zeros((1, 1, TINY.channels))
    scores[0, 0, list(channels)] = np.arange(len(channels), 0, -1)
    return scores


@dataclass
class Rig:
    """A loop of TINY with its stand-ins."""

    clock: FakeClock
    sensor: ScriptedSensor
    actuator: RecordingActuator
    loop: ControlLoop

    def run(self, cycles: int | None = None) -> None:
        asyncio.run(self.loop.run(cycles))

    @property
    def sources(self) -> dict[str, int]:
        return dict(self.loop.parts.metrics.sources)


def make_decider(
    factory: Callable[[], Policy], limits: Limits | None = None, scenario: Scenario = TINY
) -> Decider:
    keys = EpisodeKeys.of(Domain.EVALUATION, 1, 0)
    return Decider(scenario, factory, GreedyPolicy(), keys, limits or Limits(5.0, 60.0, 1))


def make_rig(
    batches: Sequence[Sequence[Report]],
    policy: Callable[[], Policy] = GreedyPolicy,
    *,
    limits: Limits | None = None,
    masked: frozenset[int] = frozenset(),
    hysteresis: float = 0.0,
    interval: float | None = None,
    silence: float = 5.0,
    withdraw: bool = True,
    shadow: bool = False,
    audit: Path | None = None,
    step: float = 1.0,
) -> Rig:
    """Everything around one loop."""
    clock = FakeClock()
    sensor = ScriptedSensor(clock, batches, step)
    actuator = RecordingActuator()
    parts = Parts(
        sensor=sensor,
        actuator=actuator,
        clock=clock,
        intake=Intake(TINY.history),
        history=History(TINY),
        decider=make_decider(policy, limits),
        chooser=Chooser(TINY.users, TINY.channels, ServiceOrder.FIXED, masked, hysteresis),
        layout=Layout.numbered(TINY.users, TINY.channels),
        audit=AuditLog(audit),
        metrics=Metrics(),
    )
    manner = Manner(
        interval=interval,
        silence=silence,
        withdraw_on_silence=withdraw,
        shadow=shadow,
        stop_without_audit=True,
        run="test",
    )
    return Rig(clock, sensor, actuator, ControlLoop(parts, manner))
