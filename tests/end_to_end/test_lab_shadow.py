"""A shadow controller beside one in production, on the real switch."""

import asyncio
from typing import Any

import pytest

from tacan.controller.lab.commands import missing
from tacan.controller.lab.fault_rig import SCENARIO, SETTINGS, FaultRig
from tacan.controller.lab.testbed import BRIDGE, Testbed
from tacan.controller.settings import validate_settings
from tacan.controller.wiring import build_controller
from tacan.scenario import load_scenario

LACKING = missing()
pytestmark = [
    pytest.mark.switch,
    pytest.mark.skipif(bool(LACKING), reason=f"SHADOW MODE ON A SWITCH WAS NOT TESTED: {LACKING}"),
]

SHADOW: dict[str, Any] = SETTINGS | {
    "safety": {"shadow": True},
    "sensor": {"kind": "simulator", "slot_ms": 20.0, "slots": 100},
    "actuator": {"kind": "openflow", "listen": "unix:shadow.sock"},
}


def test_a_shadow_controller_leaves_productions_rules_alone() -> None:
    """It joins, decides a hundred times and leaves; production holds its rules all the time."""
    scenario = load_scenario(SCENARIO)
    with Testbed(scenario.users, scenario.channels) as testbed:
        rig = FaultRig(testbed)
        shadow = build_controller(validate_settings(SHADOW, "shadow"), testbed.folder, print)

        async def story() -> None:
            radio = asyncio.create_task(rig.radio.run())
            async with rig.inside() as production, asyncio.timeout(60.0):
                joined = asyncio.create_task(shadow.loop.run())
                while not (testbed.folder / "shadow.sock").exists():  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
                both = (testbed.controller, f"unix:{testbed.folder / 'shadow.sock'}")
                await asyncio.to_thread(testbed.configure, "set-controller", BRIDGE, *both)
                while not joined.done():
                    assert await asyncio.to_thread(rig.rules) == scenario.users
                    await asyncio.sleep(0.02)
                await joined
                await asyncio.sleep(0.2)
                assert await asyncio.to_thread(rig.rules) == scenario.users
                assert production.loop.parts.metrics.events["actuator_failures"] == 0
            radio.cancel()
            await asyncio.gather(radio, return_exceptions=True)

        asyncio.run(story())
    assert shadow.loop.parts.metrics.sources["policy"] == 100
