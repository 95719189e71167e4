"""TLS between the controller as a user starts it and a real Open vSwitch."""

import asyncio
import contextlib
import shutil
import sys
from collections.abc import AsyncIterator, Callable

import pytest

from certificates import certificate
from tacan.controller.lab.commands import missing, run
from tacan.controller.lab.fault_rig import SCENARIO, Radio
from tacan.controller.lab.testbed import BRIDGE, Testbed
from tacan.scenario import load_scenario

LACKING = missing() or ("" if shutil.which("openssl") else "openssl makes the certificates")
pytestmark = [
    pytest.mark.switch,
    pytest.mark.skipif(bool(LACKING), reason=f"TLS TO THE REAL SWITCH WAS NOT TESTED: {LACKING}"),
]

PORT = 6653
USERS = load_scenario(SCENARIO).users
CONTROL_FILE = f"""
scenario = "{SCENARIO}"
policy = "greedy"
[pace]
mode = "slot"
[sensor]
kind = "network"
listen = "unix:sensor.sock"
[actuator]
kind = "openflow"
listen = "tls:127.0.0.1:{PORT}"
certificate = "ours.pem"
private_key = "ours.key"
authority = "switch.pem"
lease_seconds = 2
"""


async def until(happened: Callable[[], bool], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):  # a busy machine starts Python slowly
        while not happened():  # noqa: ASYNC110 - it happens in another process
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def controller(testbed: Testbed) -> AsyncIterator[None]:
    """``tacan control`` where the switch runs, so that they meet on 127.0.0.1; and a radio."""
    path = testbed.folder / "control.toml"
    path.write_text(CONTROL_FILE)
    space = testbed.switch_namespace
    run(["ip", "-n", space, "link", "set", "lo", "up"])
    process = await asyncio.create_subprocess_exec(
        *("ip", "netns", "exec", space),
        *(sys.executable, "-m", "tacan", "control", "--config", str(path)),
        stderr=asyncio.subprocess.DEVNULL,
    )
    radio = asyncio.create_task(Radio(testbed.folder / "sensor.sock").run())
    try:
        yield
    finally:
        radio.cancel()
        process.terminate()
        await process.wait()
        await asyncio.gather(radio, return_exceptions=True)


def show(testbed: Testbed, name: str) -> None:
    """The certificate that the switch shows from now on; it trusts ours."""
    folder = testbed.folder
    files = (folder / f"{name}.key", folder / f"{name}.pem", folder / "ours.pem")
    testbed.configure("set-ssl", *map(str, files))


def rules(testbed: Testbed) -> int:
    return testbed.flows().count("output:")


def test_a_real_switch_is_steered_over_tls_and_a_stranger_is_not() -> None:
    """With the certificate that we trust it gets its rules; with another one it gets nothing."""
    with Testbed(USERS, load_scenario(SCENARIO).channels) as testbed:
        for name in ("ours", "switch", "stranger"):
            certificate(testbed.folder, name)

        async def story() -> None:
            async with controller(testbed):
                show(testbed, "switch")
                testbed.set_controller(f"ssl:127.0.0.1:{PORT}")
                await until(lambda: rules(testbed) == USERS)
                testbed.configure("del-controller", BRIDGE)
                await until(lambda: rules(testbed) == 0, 10.0)  # the leases have run out
                show(testbed, "stranger")
                testbed.set_controller(f"ssl:127.0.0.1:{PORT}")
                for _ in range(30):
                    assert rules(testbed) == 0
                    await asyncio.sleep(0.1)
                show(testbed, "switch")  # the door itself still works
                await until(lambda: rules(testbed) == USERS, 20.0)

        asyncio.run(story())
