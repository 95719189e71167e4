"""Faults, and what happens to packets: one user sends steadily while something breaks.

The radio reports an idle spectrum, so Greedy keeps the user on channel 0 for as long as all is
well: a datagram on another channel is misrouted, and a pause in the arrivals is an outage.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tacan.controller.actuators.openflow import OpenFlowSwitch
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
    async with asyncio.timeout(15.0):
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
        counts = {
            **{k: v for k, v in parts.metrics.sources.items() if not k.startswith("policy")},
            **parts.metrics.events,
            **parts.intake.counts,
            **{k: v for k, v in parts.sensor.counts().items() if k in {"too_many", "cut_off"}},
            **{k: v for k, v in parts.decider.counts.items() if v},
        }
        return ", ".join(f"{name} {count}" for name, count in counts.items()) or "nothing"


async def kill_controller(rig: FaultRig) -> Outcome:
    """Nobody renews the leases."""
    async with rig.outside() as process:
        await rig.connect_outside()

        async def fault() -> str:
            process.send_signal(signal.SIGKILL)
            await process.wait()
            return "the process is gone"

        return await rig.observe("controller killed with -9", 5.5, fault)


async def restart_switch(rig: FaultRig) -> Outcome:
    """The switch dies and comes back with no rules."""
    async with rig.inside():

        async def fault() -> str:
            rig.testbed.stop_switch()
            rig.testbed.start_switch()
            return "the switch was killed and started again"

        outcome = await rig.observe("switch restarted", 7.0, fault)
        return _with(outcome, rig)


async def cut_connection(rig: FaultRig) -> Outcome:
    """Five seconds without OpenFlow: longer than the lease."""
    async with rig.inside() as controller:

        async def fault() -> str:
            switch = controller.loop.parts.actuator
            if isinstance(switch, OpenFlowSwitch):  # which it is; its door is closed for a while
                await switch.stop()
                (rig.testbed.folder / "of.sock").unlink()
                await asyncio.sleep(5.0)
                await switch.listen()
            return ""

        return _with(await rig.observe("connection cut for 5 s", 8.0, fault), rig)


async def silence_sensor(rig: FaultRig) -> Outcome:
    """Two seconds without a report: rules are withdrawn after half a second."""
    async with rig.inside():

        async def fault() -> str:
            rig.radio.mute = True
            await asyncio.sleep(2.0)
            rig.radio.mute = False
            return ""

        return _with(await rig.observe("sensor silent for 2 s", 4.0, fault), rig)


async def flood_sensor(rig: FaultRig) -> Outcome:
    """A second sender repeats an old slot as fast as the socket takes it."""
    async with rig.inside():

        async def fault() -> str:
            line = rig.radio.report(0)
            until = time.monotonic() + 2.0
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            while time.monotonic() < until:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_unix_connection(
                        str(rig.testbed.folder / "sensor.sock")
                    )
                    try:
                        while time.monotonic() < until:
                            writer.write(line * 100)
                            await writer.drain()
                    finally:
                        writer.close()
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            return f"memory grew by {grown / 1024:.1f} MB"

        return _with(await rig.observe("sensor flooding for 2 s", 4.0, fault), rig)


async def stall_policy(rig: FaultRig) -> Outcome:
    """The policy takes a second for every decision."""
    async with rig.inside():

        async def fault() -> str:
            rig.policy.stalls = True
            await asyncio.sleep(2.0)
            rig.policy.stalls = False
            return ""

        return _with(await rig.observe("policy stalling for 2 s", 4.0, fault), rig)


async def jump_clock(rig: FaultRig) -> Outcome:
    """Our wall clock and the radio's are set back a day, then forward two."""
    async with rig.inside():

        async def fault() -> str:
            for offset in (-86_400.0, 86_400.0):
                rig.clock.offset = rig.radio.offset = offset
                await asyncio.sleep(1.0)
            return ""

        return _with(await rig.observe("clocks jumping", 4.0, fault), rig)


async def corrupt_policy(rig: FaultRig) -> Outcome:
    """The policy file is nonsense: the controller refuses to start, and nobody transmits."""
    (rig.testbed.folder / "broken.onnx").write_bytes(os.urandom(4_096))
    async with rig.outside("broken.onnx") as process:

        async def fault() -> str:
            _, complaint = await process.communicate()
            text = " ".join(complaint.decode(errors="replace").split())
            return f"exit {process.returncode}: {text[:90]}"

        return await rig.observe("policy file corrupted", 3.0, fault)


def _with(outcome: Outcome, rig: FaultRig) -> Outcome:
    said = "; ".join(text for text in (outcome.said, rig.counted()) if text)
    return replace(outcome, said=said)


FAULTS: tuple[Callable[[FaultRig], Awaitable[Outcome]], ...] = (
    kill_controller,
    restart_switch,
    cut_connection,
    silence_sensor,
    flood_sensor,
    corrupt_policy,
    stall_policy,
    jump_clock,
)


async def run_faults(
    testbed: Testbed, faults: tuple[Callable[[FaultRig], Awaitable[Outcome]], ...] = FAULTS
) -> list[Outcome]:
    """One after the other, on one testbed."""
    outcomes: list[Outcome] = []
    for fault in faults:
        rig = FaultRig(testbed)
        radio = asyncio.create_task(rig.radio.run())
        try:
            outcomes.append(await fault(rig))
        finally:
            radio.cancel()
            await asyncio.gather(radio, return_exceptions=True)
    return outcomes
