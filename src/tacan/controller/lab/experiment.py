"""One policy in the lab: the loop decides, the switch steers, users send, the air judges."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tacan.controller.actuators.openflow import OpenFlowSwitch, Terms
from tacan.controller.address import Address
from tacan.controller.audit import AuditLog
from tacan.controller.choice import Chooser
from tacan.controller.decide import Decider, Limits
from tacan.controller.history import History
from tacan.controller.intake import Intake
from tacan.controller.lab.testbed import Testbed
from tacan.controller.loop import ControlLoop, Manner, Parts
from tacan.controller.messages import NO_CHANNEL, Applied, Plan
from tacan.controller.metrics import Metrics
from tacan.controller.ports import NANOSECONDS, SystemClock
from tacan.controller.sensors.simulator import SimulatedRadio
from tacan.controller.wiring import live_policy
from tacan.policies.assignment import ServiceOrder
from tacan.policies.heuristics import GreedyPolicy
from tacan.scenario import EMPTY, Scenario
from tacan.simulator.streams import Domain, EpisodeKeys

logger = logging.getLogger("tacan.controller")

SENDING_NS = 4_000_000
"""What the users need at most to send a slot's datagrams: later than that they do not begin."""


@dataclass(frozen=True)
class LabSettings:
    """What every policy of a lab run has in common."""

    scenario: Scenario
    slots: int
    order: ServiceOrder
    seed: int
    slot_seconds: float = 0.025
    datagrams: int = 4
    audit: Path | None = None


@dataclass(slots=True)
class SlotLog:
    """What the controller's side knows of a slot."""

    channels: tuple[int, ...]
    sending: int
    """users that had a packet, as bits; 0 if the slot overran before they could send"""
    changed: tuple[int, ...]
    """users whose channel changed"""
    overran: bool
    began_ns: int
    confirmed_ns: int
    ends_ns: int
    success: npt.NDArray[np.bool_]
    """[U]: the simulator's judgement"""


@dataclass(slots=True)
class LabRun:
    """One policy's run, before it is compared with anything."""

    policy: str
    number: int
    datagrams: int
    slots: list[SlotLog]
    records: bytes
    sources: Mapping[str, int]
    errors: int
    """OpenFlow errors"""
    stages: Mapping[str, list[float]]
    """seconds, by stage"""


@dataclass(slots=True)
class LabActuator:
    """Applies a plan to the switch, waits for the guard time, lets the users send.

    The slot is then played in the simulator too, whose judgement is the prediction.
    """

    switch: OpenFlowSwitch
    radio: SimulatedRadio
    testbed: Testbed
    number: int
    datagrams: int
    slots: list[SlotLog] = field(default_factory=list)
    encode: list[float] = field(default_factory=list)
    confirm: list[float] = field(default_factory=list)
    began_ns: int = 0
    _clock: SystemClock = field(default_factory=SystemClock)

    async def start(self) -> None:
        """Listen, then send the switch to us: the other way round it would back off for seconds."""
        await self.switch.listen()
        await asyncio.to_thread(self.testbed.set_controller)
        await self.switch.start()

    async def apply(self, plan: Plan) -> Applied:
        """One slot."""
        applied = await self.switch.apply(plan)
        if not self.radio.waiting:
            return applied
        confirmed = self._clock.monotonic_ns()
        self.encode.append(applied.encode_ns / NANOSECONDS)
        self.confirm.append(applied.confirm_ns / NANOSECONDS)
        await self._clock.sleep_until(applied.transmit_at_ns)
        queues = self.radio.simulator.queues.head_class[0]
        sending = sum(
            1 << user
            for user, channel in enumerate(plan.channels)
            if channel != NO_CHANNEL and queues[user] != EMPTY
        )
        ends = self.radio.slot_ends_ns
        overran = self._clock.monotonic_ns() > ends - SENDING_NS
        if sending and not overran:
            self.testbed.transmit(self.number, len(self.slots), self.datagrams, sending)
        before = self.slots[-1].channels if self.slots else plan.channels
        changed = [u for u, channel in enumerate(plan.channels) if channel != before[u]]
        facts = self.radio.play(plan.channels)
        self.slots.append(
            SlotLog(
                channels=plan.channels,
                sending=0 if overran else sending,
                changed=tuple(changed),
                overran=overran,
                began_ns=ends - self.radio.step_ns,
                confirmed_ns=confirmed,
                ends_ns=ends,
                success=facts.success[0].copy(),
            )
        )
        return applied

    def down(self) -> frozenset[int]:
        """The switch's."""
        return self.switch.down()

    def healthy(self) -> bool:
        """The switch's."""
        return self.switch.healthy()

    def counts(self) -> Mapping[str, int]:
        """The switch's."""
        return self.switch.counts()

    async def stop(self) -> None:
        """Let the switch go."""
        await self.switch.stop()


async def run_policy(testbed: Testbed, settings: LabSettings, policy: str, number: int) -> LabRun:
    """Play a policy for the settings' slots; the packets' fate is read from the air at the end."""
    scenario, clock = settings.scenario, SystemClock()
    radio = SimulatedRadio(
        scenario,
        clock,
        seed=settings.seed,
        slots=settings.slots,
        slot_seconds=settings.slot_seconds,
    )
    testbed.set_occupancy(radio.world.occupancy[0, scenario.history :].tobytes())
    switch = OpenFlowSwitch(Address.parse(testbed.controller), testbed.layout, clock, Terms())
    actuator = LabActuator(switch, radio, testbed, number, settings.datagrams)
    parts = Parts(
        sensor=radio,
        actuator=actuator,
        clock=clock,
        intake=Intake(scenario.history),
        history=History(scenario),
        decider=Decider(
            scenario,
            lambda: live_policy(policy, scenario, settings.seed),
            GreedyPolicy(),
            EpisodeKeys.of(Domain.EVALUATION, settings.seed, 0),
            Limits(settings.slot_seconds / 2, 5.0, 3),
        ),
        chooser=Chooser(scenario.users, scenario.channels, settings.order),
        layout=testbed.layout,
        audit=AuditLog(settings.audit),
        metrics=Metrics(),
    )
    for histogram in parts.metrics.stages.values():
        histogram.keep()
    manner = Manner(
        interval=None,
        silence=1.0,
        withdraw_on_silence=True,
        shadow=False,
        stop_without_audit=True,
        run=f"lab-{number}-{policy}-{secrets.token_hex(4)}",
    )
    await ControlLoop(parts, manner).run()
    await clock.sleep_until(clock.monotonic_ns() + radio.step_ns)
    stages = {
        name: list(parts.metrics.stages[name].kept or ())
        for name in ("aggregate", "decide", "rules")
    }
    return LabRun(
        policy=policy,
        number=number,
        datagrams=settings.datagrams,
        slots=actuator.slots,
        records=testbed.records(),
        sources=dict(parts.metrics.sources),
        errors=switch.counts()["errors"],
        stages={**stages, "encode": actuator.encode, "barrier": actuator.confirm},
    )
