"""Radios that ``iw`` retunes: user u's interface is set to its channel's frequency.

A user that loses its channel is taken down, for an interface that is down cannot transmit, and
brought up when it has one again. ``iw`` and ``ip`` are called with argument lists, never through a
shell.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from tacan.controller.messages import NO_CHANNEL, ActuatorError, Applied, Plan
from tacan.controller.ports import NANOSECONDS, Clock
from tacan.controller.settings import WifiTarget
from tacan.errors import UserError
from tacan.scenario import Scenario

MOST_ERROR_TEXT = 200


class WifiRadios:
    """An Actuator over ``iw``; radios are retuned side by side."""

    def __init__(
        self,
        interfaces: Sequence[str],
        frequencies: Sequence[int],
        clock: Clock,
        timeout: float,
        guard: float,
    ) -> None:
        self._interfaces = tuple(interfaces)
        self._frequencies = tuple(frequencies)
        self._clock = clock
        self._timeout = timeout
        self._guard_ns = int(guard * NANOSECONDS)
        self._present: list[int | None] = [None] * len(interfaces)
        self._healthy = True
        self._counts: Counter[str] = Counter()

    async def start(self) -> None:
        """See that every interface is there."""
        for name in self._interfaces:
            try:
                await self._run("iw", "dev", name, "info")
            except ActuatorError as error:
                raise UserError(f"actuator.interfaces: {name}: {error}") from None

    async def apply(self, plan: Plan) -> Applied:
        """Retune those whose channel changed; one failure fails the plan, and is tried again."""
        moves = [
            (user, channel)
            for user, channel in enumerate(plan.channels)
            if self._present[user] != channel
        ]
        began = time.perf_counter_ns()
        results = await asyncio.gather(
            *(self._tune(user, channel) for user, channel in moves), return_exceptions=True
        )
        failures = [str(result) for result in results if isinstance(result, ActuatorError)]
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, ActuatorError):
                raise result
        self._healthy = not failures
        if failures:
            self._counts["failures"] += len(failures)
            raise ActuatorError("; ".join(failures))
        self._counts["retuned"] += len(moves)
        guard = self._guard_ns if moves else 0
        return Applied(
            changed=len(moves),
            renewed=0,
            encode_ns=0,
            confirm_ns=time.perf_counter_ns() - began,
            transmit_at_ns=self._clock.monotonic_ns() + guard,
        )

    async def _tune(self, user: int, channel: int) -> None:
        name = self._interfaces[user]
        before, self._present[user] = self._present[user], None
        if channel == NO_CHANNEL:
            await self._run("ip", "link", "set", "dev", name, "down")
        else:
            if before in {None, NO_CHANNEL}:
                await self._run("ip", "link", "set", "dev", name, "up")
            frequency = str(self._frequencies[channel])
            await self._run("iw", "dev", name, "set", "freq", frequency)
        self._present[user] = channel

    async def _run(self, *command: str) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise ActuatorError(f"{command[0]} cannot be run: {error.strerror}") from None
        try:
            async with asyncio.timeout(self._timeout):
                _, complaint = await process.communicate()
        except TimeoutError:
            raise ActuatorError(f"{' '.join(command)}: no answer in {self._timeout:g} s") from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            text = complaint.decode(errors="replace").strip()[:MOST_ERROR_TEXT]
            raise ActuatorError(f"{' '.join(command)}: {text or f'exit {process.returncode}'}")

    def down(self) -> frozenset[int]:
        """Radios have no channel ports that could be down."""
        return frozenset()

    def healthy(self) -> bool:
        """Whether the last plan was carried out."""
        return self._healthy

    def counts(self) -> Mapping[str, int]:
        """Channel changes and failures."""
        return self._counts

    async def stop(self) -> None:
        """Nothing stays open."""


def build_wifi(target: WifiTarget, scenario: Scenario, clock: Clock) -> WifiRadios:
    """The radios of a control file, checked against the scenario."""
    for name, count, wanted in (
        ("interfaces", len(target.interfaces), scenario.users),
        ("frequencies_mhz", len(target.frequencies_mhz), scenario.channels),
    ):
        if count != wanted:
            raise UserError(
                f"actuator.{name} holds {count} entries, "
                f"but scenario {scenario.name!r} needs {wanted}"
            )
    return WifiRadios(
        target.interfaces,
        target.frequencies_mhz,
        clock,
        target.timeout_ms / 1_000.0,
        target.guard_ms / 1_000.0,
    )
