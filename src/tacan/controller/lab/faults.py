"""Faults, and what happens to packets: one user sends steadily while something breaks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from tacan.controller.actuators.openflow import OpenFlowSwitch
from tacan.controller.lab.fault_rig import FaultRig, Outcome
from tacan.controller.lab.testbed import Testbed


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

        return _with(await rig.observe("connection cut for 5 s", 10.0, fault), rig)


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
