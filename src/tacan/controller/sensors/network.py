"""Reports over TCP or a unix socket, so that a radio front end in any language can feed us.

Framing: a line of JSON ends with a newline; a msgpack map follows its length as four bytes, big end
first. The limits:

* a message longer than ``max_bytes`` closes the connection,
* reports beyond ``max_rate`` a second are dropped unread; a sender that stays more than ten times
  as fast is cut off,
* after a malformed report the connection rests ``REST`` times as long as reading it took, so that
  nonsense costs one sender's share at most; ``MOST_MALFORMED`` in a row close the connection,
* at most ``MOST_WAITING`` reports wait for the loop: the oldest make room,
* connections beyond ``max_connections`` are closed at once,
* a connection without a report for ``idle`` seconds is closed, so that dead ones leave room,
* a report older than ``max_age`` seconds is dropped, and so is all that waited for the loop if even
  the newest of it has become so old.

Several senders may report the same slots: a read waits until each has told of the newest slot, for
``gather`` seconds at most, for what comes after the decision comes too late.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tacan.controller.address import Address, listen
from tacan.controller.messages import Report
from tacan.controller.ports import NANOSECONDS, Clock
from tacan.controller.sensors.age import Age
from tacan.controller.sensors.report_format import MalformedReport, ReportFormat
from tacan.scenario import Scenario

MOST_WAITING = 1_024
MOST_MALFORMED = 20
REST = 20
CUT_OFF = 10
LENGTH = struct.Struct("!I")


@dataclass(frozen=True)
class Limits:
    """What a sender may do."""

    max_bytes: int = 65_536
    max_rate: float = 1_000.0
    max_connections: int = 4
    idle: float = 5.0
    """seconds"""
    max_age: float = 1.0
    """seconds"""
    gather: float = 0.01
    """seconds"""


class Allowance:
    """How many reports a sender may still send: ``rate`` a second, a second's worth at once."""

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._left = max(rate, 1.0)
        self._then = now
        self._refused = 0.0

    def take(self, now: float) -> bool:
        """Whether one more is allowed."""
        passed = now - self._then
        self._then = now
        most = max(self._rate, 1.0)
        self._left = min(self._left + passed * self._rate, most)
        self._refused = max(self._refused - passed * (CUT_OFF - 1) * self._rate, 0.0)
        if self._left >= 1.0:
            self._left -= 1.0
            return True
        self._refused += 1.0
        return False

    @property
    def abused(self) -> bool:
        """Whether it has sent ten seconds' worth above ten times its rate, or all at once."""
        return self._refused > CUT_OFF * max(self._rate, 1.0)


class FrameTooLong(Exception):  # noqa: N818 - the name says what it is
    """A message beyond the limit."""


@dataclass(slots=True)
class Sender:
    """One connection."""

    age: Age
    idle: asyncio.Timeout
    task: asyncio.Task[None] | None = field(default_factory=asyncio.current_task)
    newest: int | None = None
    """the highest slot it has reported"""


class NetworkSensor:
    """A Sensor that listens; any number of reports may wait, up to ``MOST_WAITING``."""

    def __init__(
        self,
        address: Address,
        scenario: Scenario,
        clock: Clock,
        form: str = "json",
        limits: Limits | None = None,
    ) -> None:
        self._address = address
        self._clock = clock
        self._limits = limits or Limits()
        self._format = ReportFormat(scenario)
        self._msgpack = form == "msgpack"
        self._waiting: deque[tuple[float, Report]] = deque()
        """with the moment at which each was sent, by our clock"""
        self._news = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.StreamWriter, Sender] = {}
        self._counts: Counter[str] = Counter()

    @property
    def port(self) -> int:
        """The TCP port it listens on (a free one was chosen for port 0)."""
        if self._server is None:
            return self._address.port
        return int(self._server.sockets[0].getsockname()[1])

    async def start(self) -> None:
        """Listen."""
        self._server = await listen(self._address, self._serve, self._limits.max_bytes)

    async def read(self, patience: float) -> Sequence[Report]:
        """What has arrived."""
        await self._wait_for(self._any_waiting, patience)
        if not self._waiting:
            return ()
        await self._wait_for(self._all_have_reported, self._limits.gather)
        waiting = list(self._waiting)
        self._waiting.clear()
        if self._now() - max(sent for sent, _ in waiting) > self._limits.max_age:
            self._counts["stale"] += len(waiting)
            return ()
        return [report for _, report in waiting]

    async def _wait_for(self, met: Callable[[], bool], patience: float) -> None:
        if met() or patience <= 0.0:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while not met():
                    self._news.clear()
                    await self._news.wait()

    def _any_waiting(self) -> bool:
        return bool(self._waiting)

    def _all_have_reported(self) -> bool:
        newest = max(report.slot for _, report in self._waiting)
        return all(
            sender.newest is None or sender.newest >= newest for sender in self._open.values()
        )

    async def stop(self) -> None:
        """Close the connections, listen no more."""
        if self._server is None:
            return
        self._server.close()
        tasks = [sender.task for sender in self._open.values() if sender.task is not None]
        for writer in self._open:
            writer.close()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)
        await self._server.wait_closed()
        self._server = None

    def counts(self) -> Mapping[str, int]:
        """What was refused, by reason."""
        return self._counts

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= self._limits.max_connections:
            self._counts["connections_refused"] += 1
            return
        self._counts["connections"] += 1
        try:
            async with asyncio.timeout(self._limits.idle) as idle:
                sender = self._open[writer] = Sender(Age(self._limits.max_age), idle)
                await self._listen_to(reader, sender)
        except FrameTooLong:
            self._counts["too_long"] += 1
        except TimeoutError:
            self._counts["idle"] += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            self._counts["disconnected"] += 1
        finally:
            del self._open[writer]
            self._news.set()  # nobody need wait for it any more

    async def _listen_to(self, reader: asyncio.StreamReader, sender: Sender) -> None:
        allowance = Allowance(self._limits.max_rate, self._now())
        malformed = 0
        frames = 0
        while True:
            frame = await self._frame(reader)
            frames += 1
            if frames % 64 == 0:  # a fast sender must not keep the loop from its decisions
                await asyncio.sleep(0)
            if not allowance.take(self._now()):
                self._counts["too_many"] += 1
                if allowance.abused:
                    self._counts["cut_off"] += 1
                    return
                continue
            began = self._now()
            try:
                report = self._parse(frame)
            except MalformedReport:
                self._counts["malformed"] += 1
                malformed += 1
                await asyncio.sleep(REST * (self._now() - began))
                if malformed >= MOST_MALFORMED:
                    return
                continue
            malformed = 0
            self._keep(report, sender)

    def _now(self) -> float:
        return self._clock.monotonic_ns() / NANOSECONDS

    async def _frame(self, reader: asyncio.StreamReader) -> bytes:
        if self._msgpack:
            (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
            if length > self._limits.max_bytes:
                raise FrameTooLong
            return await reader.readexactly(length)
        try:
            return await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            raise FrameTooLong from None

    def _parse(self, frame: bytes) -> Report:
        report = (
            self._format.read_msgpack(frame) if self._msgpack else self._format.read_json(frame)
        )
        if report.slot < 0:
            raise MalformedReport("slot must not be negative")
        return report

    def _keep(self, report: Report, sender: Sender) -> None:
        sender.idle.reschedule(asyncio.get_running_loop().time() + self._limits.idle)
        now = self._now()
        age = sender.age.of(report, now)
        if age > self._limits.max_age:
            self._counts["stale"] += 1
            return
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.popleft()
            self._counts["overflow"] += 1
        self._waiting.append((now - age, report))
        if report.restart or sender.newest is None or report.slot > sender.newest:
            sender.newest = report.slot
        self._counts["reports"] += 1
        self._news.set()
