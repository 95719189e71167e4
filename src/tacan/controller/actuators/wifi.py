"""Radios that ``iw`` retunes: user u's interface is set to its channel's frequency.

A user that loses its channel is taken down, for an interface that is down cannot transmit, and
brought up when it has one again. One that could not be moved is taken down too: it would else go on
where it was. ``iw`` and ``ip`` are called with argument lists, never through a shell.

What the kernel lets ``iw`` do depends on the type of the interface. A monitor interface is set to
a frequency, if it is up. An IBSS interface leaves its cell and joins it again on the new frequency.
Others refuse (managed, OCB), or take a frequency and stay where they are (AP, mesh): these are not
accepted. Nor is success believed: a radio is where ``iw dev NAME info`` says that it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacan.controller.messages import NO_CHANNEL, ActuatorError, Applied, Plan
from tacan.controller.ports import NANOSECONDS, Clock
from tacan.controller.settings import WifiTarget
from tacan.errors import UserError
from tacan.scenario import Scenario

MOST_ERROR_TEXT = 200
CONFIRM_PAUSE = 0.005
MONITOR, IBSS = "monitor", "IBSS"


@dataclass(frozen=True, slots=True)
class Cell:
    """The IBSS that the radios of all channels form: with both fixed, nobody scans or merges."""

    ssid: str
    bssid: str


class WifiRadios:
    """An Actuator over ``iw``; radios are retuned side by side."""

    def __init__(
        self,
        interfaces: Sequence[str],
        frequencies: Sequence[int],
        clock: Clock,
        timeout: float,
        guard: float,
        cell: Cell,
    ) -> None:
        self._interfaces = tuple(interfaces)
        self._frequencies = tuple(frequencies)
        self._clock = clock
        self._timeout = timeout
        self._guard_ns = int(guard * NANOSECONDS)
        self._cell = cell
        self._types: dict[str, str] = {}
        self._present: list[int | None] = [None] * len(interfaces)
        self._healthy = True
        self._counts: Counter[str] = Counter()

    async def start(self) -> None:
        """See that every interface is there, and of a type that can be retuned."""
        for name in self._interfaces:
            try:
                said = await self._run("iw", "dev", name, "info")
            except ActuatorError as error:
                raise UserError(f"actuator.interfaces: {name}: {error}") from None
            found = re.search(r"^\s*type (.+)$", said, re.MULTILINE)
            kind = found.group(1) if found else "unknown"
            if kind not in {MONITOR, IBSS}:
                raise UserError(
                    f"actuator.interfaces: {name} is of type {kind}, and only monitor and IBSS "
                    f"interfaces can be retuned: ip link set {name} down; "
                    f"iw dev {name} set type ibss"
                )
            self._types[name] = kind

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
            await self._link(name, "down")
        else:
            try:
                await self._move(name, before, self._frequencies[channel])
            except ActuatorError:
                with contextlib.suppress(ActuatorError):
                    await self._link(name, "down")
                raise
        self._present[user] = channel

    async def _move(self, name: str, before: int | None, frequency: int) -> None:
        joins = self._types.get(name) == IBSS
        if before is None and joins:
            await self._link(name, "down")  # leaves whatever cell it was in
        if before in {None, NO_CHANNEL}:
            await self._link(name, "up")
        elif joins:
            await self._run("iw", "dev", name, "ibss", "leave")
        if joins:
            where = (self._cell.ssid, str(frequency), "fixed-freq", self._cell.bssid)
            await self._run("iw", "dev", name, "ibss", "join", *where)
        else:
            await self._run("iw", "dev", name, "set", "freq", str(frequency))
        await self._confirm(name, frequency)

    async def _link(self, name: str, state: str) -> None:
        await self._run("ip", "link", "set", "dev", name, state)

    async def _confirm(self, name: str, frequency: int) -> None:
        """Wait until the radio is there: a cell is joined a moment after ``iw`` has returned."""
        deadline = time.monotonic() + self._timeout
        while True:
            said = await self._run("iw", "dev", name, "info")
            found = re.search(r"\bchannel \d+ \((\d+)", said)
            if found and int(found.group(1)) == frequency:
                return
            if time.monotonic() > deadline:
                where = f"on {found.group(1)} MHz" if found else "on no channel"
                raise ActuatorError(f"{name} is {where}, though iw set it to {frequency} MHz")
            await asyncio.sleep(CONFIRM_PAUSE)

    async def _run(self, *command: str) -> str:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise ActuatorError(f"{command[0]} cannot be run: {error.strerror}") from None
        try:
            async with asyncio.timeout(self._timeout):
                output, complaint = await process.communicate()
        except TimeoutError:
            raise ActuatorError(f"{' '.join(command)}: no answer in {self._timeout:g} s") from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode:
            text = " ".join(complaint.decode(errors="replace").split())[:MOST_ERROR_TEXT]
            raise ActuatorError(f"{' '.join(command)}: {text or f'exit {process.returncode}'}")
        return output.decode(errors="replace")

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
        Cell(target.ssid, target.bssid),
    )
