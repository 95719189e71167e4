"""Radios driven by ``iw``, against a recording ``iw`` and ``ip`` on PATH."""

import asyncio
import os
from pathlib import Path

import pytest

from tacan.controller.actuators.wifi import WifiRadios
from tacan.controller.messages import ActuatorError
from tacan.controller.ports import SystemClock
from tacan.controller.rules import Layout, make_plan
from tacan.errors import UserError

LAYOUT = Layout.numbered(2, 3)
SCRIPT = """#!/bin/sh
echo "$(basename "$0") $*" >> "{log}"
case "$*" in *broken*) echo "no such device" >&2; exit 237;; *slow*) exec sleep 30;; esac
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the recorded commands stand."""
    path = tmp_path / "calls"
    path.touch()
    for name in ("iw", "ip"):
        script = tmp_path / name
        script.write_text(SCRIPT.format(log=path))
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return path


def radios(*interfaces: str) -> WifiRadios:
    return WifiRadios(interfaces, (2412, 2437, 2462), SystemClock(), timeout=1.0, guard=0.0)


def apply(target: WifiRadios, *plans: tuple[int, int]) -> None:
    async def run() -> None:
        async with asyncio.timeout(10.0):
            for plan in plans:
                await target.apply(make_plan(0, plan, LAYOUT))

    asyncio.run(run())


def test_only_changed_channels_are_set(log: Path) -> None:
    """Radios come up on their first channel; then only the second one moves."""
    apply(radios("wlan0", "wlan1"), (0, 1), (0, 2))
    assert sorted(log.read_text().splitlines()[:4]) == [
        "ip link set dev wlan0 up",
        "ip link set dev wlan1 up",
        "iw dev wlan0 set freq 2412",
        "iw dev wlan1 set freq 2437",
    ]
    assert log.read_text().splitlines()[4:] == ["iw dev wlan1 set freq 2462"]


def test_a_user_without_channel_is_taken_down(log: Path) -> None:
    """A radio that is down cannot transmit; it comes up again with its next channel."""
    apply(radios("wlan0", "wlan1"), (0, 1), (0, -1), (0, 2))
    assert log.read_text().splitlines()[4:] == [
        "ip link set dev wlan1 down",
        "ip link set dev wlan1 up",
        "iw dev wlan1 set freq 2462",
    ]


def test_a_failure_is_told_with_its_reason_and_tried_again(log: Path) -> None:
    """The complaint of the program is in the sentence; the next plan repeats the command."""
    target = radios("wlan0", "broken1")
    for _ in range(2):
        with pytest.raises(ActuatorError, match="broken1 up: no such device"):
            apply(target, (0, 1))
    assert not target.healthy()
    assert log.read_text().count("ip link set dev broken1 up") == 2
    assert log.read_text().count("iw dev wlan0") == 1


def test_a_command_that_hangs_is_ended(log: Path) -> None:
    """It is killed after its time, and the plan fails."""
    with pytest.raises(ActuatorError, match="no answer in 1 s"):
        apply(radios("wlan0", "slow1"), (0, 1))


def test_a_missing_interface_is_named_at_the_start(log: Path) -> None:
    """Before the first decision."""
    with pytest.raises(UserError, match=r"actuator\.interfaces: broken1: .* no such device"):
        asyncio.run(radios("broken1").start())
