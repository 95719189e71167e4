"""The testbed with a radio, a controller and one user that sends steadily, to break things in.

The radio reports an idle spectrum, so Greedy keeps the user on channel 0 for as long as all is
well: a datagram on another channel is misrouted, and a pause in the arrivals is an outage.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacan.controller.lab.ledger import RECORD
from tacan.controller.lab.testbed import Testbed
from tacan.controller.ports import SystemClock
from tacan.controller.settings import validate_settings
from tacan.controller.wiring import Controller, build_controller
from tacan.observation import Observation
from tacan.policies.heuristics import GreedyPolicy
from tacan.policies.policy import Scores
from tacan.scenario import load_scenario
from tacan.simulator.simulator import Secrets

SCENARIO = "tiny"
LEASE = 2
SLOT = 0.05
PERIOD = 0.002
HOME = 0
SETTINGS = {
    "scenario": SCENARIO,
    "policy": "greedy",
    "pace": {"mode": "slot", "deadline_ms": 20.0, "abandon_ms": 500.0},
    "safety": {"silence_ms": 500.0},
    "sensor": {"kind": "network", "listen": "unix:sensor.sock", "max_rate": 200.0},
    "actuator": {"kind": "openflow", "listen": "unix:of.sock", "lease_seconds": LEASE},
}
CONTROL_FILE = """
scenario = "tiny"
policy = "greedy"
[pace]
mode = "slot"
[sensor]
kind = "network"
listen = "unix:sensor.sock"
[actuator]
kind = "openflow"
listen = "unix:of.sock"
lease_seconds = 2
"""


@dataclass(frozen=True)
class Outcome:
    """What the air saw of one fault."""

    name: str
    sent: int
    arrived: int
    misrouted: int
    longest_gap: float
    """seconds between two arrivals, or before the first, at most"""
    last_after_fault: float
    """seconds from the fault to the last datagram before the longest gap"""
    rules_left: int
    """rules of the switch at the end"""
    said: str
    """what the controller counted"""


class JumpingClock(SystemClock):
    """A wall clock that somebody sets."""

    offset = 0.0

    def wall(self) -> float:
        """The time, as set."""
        return super().wall() + self.offset


class StallingPolicy(GreedyPolicy):
    """Greedy until ``stalls`` is set; then it does not come back for a second."""

    stalls = False

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """Late on demand."""
        if self.stalls:
            time.sleep(1.0)
        return super().score(observation, secrets)


class Radio:
    """A radio front end in miniature: reports an idle spectrum every slot, over a socket."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.mute = False
        self.offset = 0.0

    def report(self, slot: int) -> bytes:
        """One line."""
        scenario = load_scenario(SCENARIO)
        content = {
            "version": 1,
            "slot": slot,
            "time": time.time() + self.offset,
            "occupancy": [0] * scenario.channels,
            "entropy": [0.5] * scenario.channels,
            "queue_class": [0] * scenario.users,
            "queue_delay": [1] * scenario.users,
        }
        return json.dumps(content).encode() + b"\n"

    async def run(self) -> None:
        """Report until cancelled; connect again whenever needed."""
        slot = 0
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_unix_connection(str(self._path))
                try:
                    while True:
                        if not self.mute:
                            writer.write(self.report(slot))
                            await writer.drain()
                        slot += 1
                        await asyncio.sleep(SLOT)
                finally:
                    writer.close()
            await asyncio.sleep(SLOT)


async def _until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(60.0):  # a busy machine starts Python slowly
        while not happened():  # noqa: ASYNC110 - it happens in another process
            await asyncio.sleep(0.02)


class FaultRig:
    """The testbed with a radio, a controller and a user that sends."""

    def __init__(self, testbed: Testbed) -> None:
        self.testbed = testbed
        self.radio = Radio(testbed.folder / "sensor.sock")
        self.clock = JumpingClock()
        self.policy = StallingPolicy()
        self.controller: Controller | None = None
        self.fault_ns = 0
        self._number = 0

    @contextlib.asynccontextmanager
    async def inside(self) -> AsyncIterator[Controller]:
        """A controller in this process, up and deciding."""
        settings = validate_settings(SETTINGS, "faults")
        self.policy = StallingPolicy()
        controller = build_controller(
            settings, self.testbed.folder, print, clock=self.clock, policy=lambda: self.policy
        )
        running = asyncio.create_task(controller.loop.run())
        try:
            await self._connect()
            await _until(lambda: controller.loop.cycle >= 3)
            self.controller = controller
            yield controller
        finally:
            self.controller = None
            controller.loop.stop()
            await asyncio.wait((running,), timeout=5.0)

    @contextlib.asynccontextmanager
    async def outside(self, policy: str = "greedy") -> AsyncIterator[asyncio.subprocess.Process]:
        """A controller of its own process: ``tacan control``."""
        path = self.testbed.folder / "control.toml"
        path.write_text(CONTROL_FILE.replace("greedy", policy), encoding="utf-8")
        with contextlib.suppress(FileNotFoundError):
            (self.testbed.folder / "of.sock").unlink()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tacan", "control", "--config", str(path)),
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

    async def _connect(self) -> None:
        await _until((self.testbed.folder / "of.sock").exists)
        await asyncio.to_thread(self.testbed.set_controller)

    async def connect_outside(self) -> None:
        """Send the switch to the controller of the other process, and wait for its rules."""
        await self._connect()
        await _until(lambda: self.rules() == load_scenario(SCENARIO).users)

    def rules(self) -> int:
        """How many rules the switch holds."""
        return self.testbed.flows().count("output:")

    async def observe(
        self, name: str, seconds: float, fault: Callable[[], Awaitable[str]]
    ) -> Outcome:
        """Send for so long; after one second the fault happens. It returns what was said."""
        self._number += 1
        self.testbed.set_occupancy(b"")
        self.testbed.stream(self._number, 0, PERIOD, seconds)
        ends = time.monotonic() + seconds
        await asyncio.sleep(1.0)
        self.fault_ns = time.monotonic_ns()
        said = await fault()
        await asyncio.sleep(max(0.0, ends - time.monotonic()) + 0.2)
        packets = np.frombuffer(self.testbed.records(), dtype=RECORD)
        packets = packets[packets["run"] == self._number]
        arrived = np.sort(packets["arrived"]).astype(np.int64)
        edges = np.concatenate([arrived, [int(ends * 1e9)]])
        gaps = np.diff(edges)
        widest = int(gaps.argmax()) if gaps.size else 0
        last = (arrived[widest] - self.fault_ns) / 1e9 if gaps.size else float("nan")
        return Outcome(
            name=name,
            sent=int(seconds / PERIOD),
            arrived=len(packets),
            misrouted=int((packets["channel"] != HOME).sum()),
            longest_gap=float(gaps.max() / 1e9) if gaps.size else seconds,
            last_after_fault=float(last),
            rules_left=self.rules(),
            said=said,
        )

    def counted(self) -> str:
        """What the controller says of itself, in short."""
        if self.controller is None:
            return ""
        parts = self.controller.loop.parts
        heard = parts.sensor.counts()
        counts = {
            **{k: v for k, v in parts.metrics.sources.items() if not k.startswith("policy")},
            **parts.metrics.events,
            **parts.intake.counts,
            **{k: heard[k] for k in ("too_many", "cut_off", "stale") if k in heard},
            **{k: v for k, v in parts.decider.counts.items() if v},
        }
        return ", ".join(f"{name} {count}" for name, count in counts.items()) or "nothing"
