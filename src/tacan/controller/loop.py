"""The control loop: sense, decide, make rules, act; each stage timed, every cycle in the log."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tacan.controller.audit import AuditError, AuditLog
from tacan.controller.choice import Chooser
from tacan.controller.decide import Decider
from tacan.controller.history import History
from tacan.controller.intake import Intake
from tacan.controller.messages import (
    NO_CHANNEL,
    ActuatorError,
    Applied,
    Choice,
    Plan,
    Report,
    SensorEnded,
    Source,
)
from tacan.controller.metrics import Metrics
from tacan.controller.ports import NANOSECONDS, Actuator, Clock, Sensor
from tacan.controller.records import decision_record, plain_record
from tacan.controller.rules import Layout, make_plan, withdrawn, without
from tacan.errors import UserError
from tacan.observation import Observation

logger = logging.getLogger("tacan.controller")

UNCHANGED_NS = NANOSECONDS
"""A cycle without news that is like the one before is logged this long after the last line."""
MICROSECOND = 1e-6
Outcome = TypeVar("Outcome")


class _Stopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """``stop`` was called."""


@dataclass(frozen=True)
class Parts:
    """What the loop is made of."""

    sensor: Sensor
    actuator: Actuator
    clock: Clock
    intake: Intake
    history: History
    decider: Decider
    chooser: Chooser
    layout: Layout
    audit: AuditLog
    metrics: Metrics


@dataclass(frozen=True)
class Manner:
    """How the loop behaves."""

    interval: float | None
    """seconds between decisions; None: one for every slot that is reported"""
    silence: float
    """seconds without a report after which the sensor counts as silent"""
    withdraw_on_silence: bool
    shadow: bool
    stop_without_audit: bool
    run: str
    """this run's name in the audit log"""
    hold: float = 0.5
    """where slots set the pace: seconds after which the last plan is applied again without one"""


@dataclass(slots=True)
class Knowledge:
    """What one cycle knows: the new slots, and the observation after the newest."""

    slots: Sequence[Report]
    observations: list[Observation]
    restart: bool


class ControlLoop:
    """Owns the cycle. ``run`` returns when the sensor ends, after ``cycles``, or after ``stop``."""

    def __init__(self, parts: Parts, manner: Manner) -> None:
        self.parts = parts
        self.manner = manner
        self.cycle = 0
        self.present: tuple[int, ...] = (NO_CHANNEL,) * len(parts.layout.user_ports)
        self.last_source = Source.HELD
        self.troubles: dict[str, str] = {}
        """what is wrong with the log and with the actuator, until it goes well again"""
        self._plan = withdrawn(0, len(self.present))
        self._outcome: dict[str, object] = {}
        self._logged_ns = 0
        self._logged: object = None
        self._unlogged = 0
        self._stopping = False
        self._waiting: asyncio.Task[Any] | None = None
        self._due_ns = parts.clock.monotonic_ns()
        self._heard_ns = self._due_ns
        self.cycle_ns = self._due_ns

    async def run(self, cycles: int | None = None) -> None:
        """Play until the end, then withdraw all rules and close everything."""
        parts = self.parts
        try:
            parts.audit.open()
            parts.decider.start()
            await self._unless_stopped(parts.actuator.start())
            await self._unless_stopped(parts.sensor.start())
            self._due_ns = self._heard_ns = self.cycle_ns = parts.clock.monotonic_ns()
            while cycles is None or self.cycle < cycles:
                await self._one_cycle(await self._unless_stopped(self._sense()))
        except (SensorEnded, _Stopped):
            pass
        finally:
            await self._close()

    def stop(self) -> None:
        """End after the present cycle; wakes the loop if it waits for a switch or for reports."""
        self._stopping = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def _unless_stopped(self, wait: Coroutine[Any, Any, Outcome]) -> Outcome:
        self._waiting = asyncio.current_task()
        try:
            if self._stopping:
                wait.close()
                raise _Stopped
            return await wait
        except asyncio.CancelledError:
            if not self._stopping or self._waiting is None:
                raise
            self._waiting.uncancel()
            raise _Stopped from None
        finally:
            self._waiting = None

    async def _sense(self) -> Sequence[Report]:
        if self.manner.interval is None:
            return await self.parts.sensor.read(self._patience())
        await self._wait_for_tick(self.manner.interval)
        return await self.parts.sensor.read(0.0)

    def _patience(self) -> float:
        """Seconds to wait for a slot's report: until a plan is to be held, or there is silence.

        A microsecond more: it must not be rounded to just before.
        """
        now = self.parts.clock.monotonic_ns()
        hold = self.manner.hold - (now - self.cycle_ns) / NANOSECONDS
        silence = self.manner.silence - (now - self._heard_ns) / NANOSECONDS
        return max(0.0, min(hold, silence) if silence > 0.0 else hold) + MICROSECOND

    async def _wait_for_tick(self, interval: float) -> None:
        clock, step = self.parts.clock, int(interval * NANOSECONDS)
        now = clock.monotonic_ns()
        behind = (now - self._due_ns) // step
        if behind > 0:  # a pause is not made up for by a burst of decisions
            self.parts.metrics.events["skipped_ticks"] += behind
            self._due_ns += behind * step
        await clock.sleep_until(self._due_ns)
        self._due_ns += step

    async def _one_cycle(self, reports: Sequence[Report]) -> None:
        self.cycle += 1
        self.cycle_ns = self.parts.clock.monotonic_ns()
        started = time.perf_counter_ns()
        known = self._aggregate(reports)
        stages = self.parts.metrics.stages
        aggregated = time.perf_counter_ns()
        stages["aggregate"].add((aggregated - started) / NANOSECONDS)
        if not known.observations:
            await self._without_news()
            return
        allowed = self.parts.chooser.allow(self.parts.actuator.down())
        verdict = await self.parts.decider.decide(
            known.observations, restart=known.restart, usable=int(allowed.sum())
        )
        newest = known.observations[-1]
        choices = self.parts.chooser.choose(verdict.scores, newest, allowed, self.present)
        decided = time.perf_counter_ns()
        stages["decide"].add((decided - aggregated) / NANOSECONDS)
        plan = self._make_plan(newest.slot, choices)
        ruled = time.perf_counter_ns()
        stages["rules"].add((ruled - decided) / NANOSECONDS)
        self._note(verdict.source, verdict.detail)
        self._log(
            decision_record(
                known.slots, newest.slot, allowed, choices, verdict.source, verdict.detail
            )
        )
        logged = time.perf_counter_ns()
        await self._actuate(plan)
        ended = time.perf_counter_ns()
        stages["actuate"].add((ended - logged) / NANOSECONDS)
        stages["total"].add((ended - started) / NANOSECONDS)

    def _aggregate(self, reports: Sequence[Report]) -> Knowledge:
        parts = self.parts
        arrived = parts.clock.monotonic_ns()
        for report in reports:
            parts.intake.offer(report)
        slots = parts.intake.take()
        if slots:
            self._heard_ns = arrived
        known = Knowledge(slots, [], restart=False)
        for report in slots:
            if report.restart:
                parts.history.restart()
                known.observations.clear()
                known.restart = True
            observation = parts.history.push(report)
            if observation is not None:
                known.observations.append(observation)
        return known

    def _make_plan(self, slot: int, choices: Sequence[Choice]) -> Plan:
        channels = tuple(choice.channel for choice in choices)
        if NO_CHANNEL in channels:
            self.parts.metrics.events["users_without_channel"] += channels.count(NO_CHANNEL)
        return make_plan(slot, channels, self.parts.layout)

    async def _without_news(self) -> None:
        quiet = (self.parts.clock.monotonic_ns() - self._heard_ns) / NANOSECONDS
        silent = quiet >= self.manner.silence
        if silent:
            self.parts.intake.silence()
        withdraw = silent and self.manner.withdraw_on_silence
        held = Source.HELD_SILENT if silent else Source.HELD
        source = Source.SILENT if withdraw else held
        self._note(source, f"{quiet:.3f} s without a report")
        if self._is_to_be_logged(source):
            self._log(plain_record(self._plan.slot, source, f"{quiet:.3f} s without a report"))
        await self._actuate(
            withdrawn(self._plan.slot, len(self.present)) if withdraw else self._plan
        )

    def _is_to_be_logged(self, source: Source) -> bool:
        """Whether a cycle without news differs from the last line, or that line is old enough.

        A sender that repeats itself makes hundreds of such cycles a second, which must not fill
        a disk. The next line says how many there were.
        """
        since = self.parts.clock.monotonic_ns() - self._logged_ns
        if (source.value, self._outcome.get("error")) == self._logged and since < UNCHANGED_NS:
            self._unlogged += 1
            return False
        return True

    def _note(self, source: Source, detail: str) -> None:
        self.parts.metrics.sources[source.value] += 1
        if source is Source.HELD:  # the decision before still stands, and what is to be said of it
            return
        if source is not self.last_source:
            level = logging.INFO if source is Source.POLICY else logging.WARNING
            logger.log(level, "cycle %d: %s %s", self.cycle, source.value, detail)
        self.last_source = source

    def _log(self, record: dict[str, object]) -> None:
        stamp = {
            "run": self.manner.run,
            "time": self.parts.clock.wall(),
            "cycle": self.cycle,
            "unlogged": self._unlogged,
            "shadow": self.manner.shadow,
        }
        self._logged = (record["source"], self._outcome.get("error"))
        self._logged_ns = self.parts.clock.monotonic_ns()
        try:
            self.parts.audit.write({**stamp, **record, "before": self._outcome})
        except AuditError as error:
            self.parts.metrics.events["audit_failures"] += 1
            self.troubles["audit"] = f"audit log: {error}"
            logger.error("%s", self.troubles["audit"])  # noqa: TRY400 - the sentence says it all
            if self.manner.stop_without_audit:
                raise UserError(
                    f"audit log {error}: stopped and withdrew all rules "
                    '(safety.on_audit_failure = "continue" would go on without a log)'
                ) from None
        else:
            self.troubles.pop("audit", None)
            self._unlogged = 0

    async def _actuate(self, plan: Plan) -> None:
        # a port may go down while the policy thinks, or while its last decision is held
        wanted, plan = plan, without(plan, self.parts.actuator.down())
        lost = sorted(set(wanted.channels) - set(plan.channels)) if plan is not wanted else []
        if lost:
            self.parts.metrics.events["channels_lost"] += len(lost)
        self._plan = plan
        if self.manner.shadow:
            self.present = plan.channels  # what would have been applied: hysteresis goes by it
            self._outcome = {"shadow": True}
            return
        try:
            applied = await self.parts.actuator.apply(plan)
        except ActuatorError as error:
            self.parts.metrics.events["actuator_failures"] += 1
            if "actuator" not in self.troubles:
                logger.warning("cycle %d: not applied: %s", self.cycle, error)
            self.troubles["actuator"] = f"actuator: {error}"
            self._outcome = {"error": str(error)}
            return
        self.troubles.pop("actuator", None)
        self.present = plan.channels
        self._outcome = _outcome(applied) | ({"lost": lost} if lost else {})

    async def _close(self) -> None:
        parts = self.parts
        try:
            if not self.manner.shadow and self.cycle:
                self._plan = withdrawn(self._plan.slot, len(self.present))
                await parts.actuator.apply(self._plan)
                self._outcome = {"withdrawn": True}
        except ActuatorError as error:
            self._outcome = {"error": str(error)}
            logger.warning("rules could not be withdrawn, their leases will: %s", error)
        finally:
            await parts.sensor.stop()
            await parts.actuator.stop()
            if not parts.decider.stop(patience=0.5):
                logger.warning("the policy did not come back and was left alone")
            self._last_line()
            parts.audit.close()

    def _last_line(self) -> None:
        try:
            self._log(plain_record(self._plan.slot, Source.STOPPED, ""))
        except UserError:
            logger.warning("the audit log lacks its last line")


def _outcome(applied: Applied) -> dict[str, object]:
    return {
        "changed": applied.changed,
        "renewed": applied.renewed,
        "confirm_us": round(applied.confirm_ns / 1_000, 1),
    }
