"""The three ports of the controller: what senses, what acts, and what time it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from tacan.controller.messages import Applied, Plan, Report

NANOSECONDS = 1_000_000_000


class Sensor(Protocol):
    """Where reports come from."""

    async def start(self) -> None:
        """Open it."""

    async def read(self, patience: float) -> Sequence[Report]:
        """The reports since the last read; waits up to ``patience`` seconds for the first.

        Empty if none came. Raises SensorEnded when none will ever come again.
        """

    async def stop(self) -> None:
        """Close it; harmless when it is closed."""

    def counts(self) -> Mapping[str, int]:
        """Reports that were refused before they became one, by reason."""


class Actuator(Protocol):
    """What carries assignments out."""

    async def start(self) -> None:
        """Open it; returns when plans can be applied."""

    async def apply(self, plan: Plan) -> Applied:
        """Make the plan hold; raises ActuatorError if that cannot be confirmed."""

    def down(self) -> frozenset[int]:
        """The channels that cannot be used at present (their port is down)."""

    def healthy(self) -> bool:
        """Whether a plan could be applied now."""

    def counts(self) -> Mapping[str, int]:
        """What happened to it, for the metrics."""

    async def stop(self) -> None:
        """Close it; harmless when it is closed."""


class Clock(Protocol):
    """What time it is. The loop plans by the monotonic time, which nobody can set."""

    def monotonic_ns(self) -> int:
        """Nanoseconds that only ever grow."""

    def wall(self) -> float:
        """Seconds since 1970, for the log only: it may jump."""

    async def sleep_until(self, moment_ns: int) -> None:
        """Return at this monotonic time, at once if it has passed."""


class SystemClock:
    """This machine's clocks."""

    def monotonic_ns(self) -> int:
        """CLOCK_MONOTONIC, shared by all processes of the machine."""
        return time.monotonic_ns()

    def wall(self) -> float:
        """CLOCK_REALTIME."""
        return time.time()

    async def sleep_until(self, moment_ns: int) -> None:
        """Sleep; asyncio's timers are good to about 0.1 ms."""
        await asyncio.sleep(max(0, moment_ns - time.monotonic_ns()) / NANOSECONDS)
