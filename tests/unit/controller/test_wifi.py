"""Radios driven by ``iw``, against a recording ``iw`` and ``ip`` on PATH.

Simulated radios of a real kernel are in tests/end_to_end/test_radios.py.
"""

import asyncio
import os
from pathlib import Path

import pytest

from tacan.controller.actuators.wifi import Cell, WifiRadios
from tacan.controller.messages import ActuatorError
from tacan.controller.ports import SystemClock
from tacan.controller.rules import Layout, make_plan
from tacan.errors import UserError

LAYOUT = Layout.numbered(2, 3)
# cell0 is an IBSS, ap0 an AP, others are monitors; deaf0 is one that stays on no channel.
SCRIPT = """#!/bin/sh
echo "$(basename "$0") $*" >> "{log}"
case "$*" in
  *"broken1 up") printf "no such\\n device\\n" >&2; exit 237;;
  *"slow1 up") exec sleep 30;;
  *" set freq "*) echo "$5" > "{log}.$2";;
  *" ibss join "*) echo "$6" > "{log}.$2";;
  "dev gone0 info") echo "no such device" >&2; exit 237;;
  "dev cell"*" info") echo "	type IBSS";;
  "dev ap"*" info") echo "	type AP";;
  *" info") echo "	type monitor";;
esac
case "$*" in
  "dev deaf"*) ;;
  *" info") [ ! -e "{log}.$2" ] || echo "	channel 1 ($(cat "{log}.$2") MHz), width: 20 MHz";;
esac
"""
CELL = Cell("tacan", "02:54:41:43:41:4e")


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
    frequencies = (2412, 2437, 2462)
    return WifiRadios(interfaces, frequencies, SystemClock(), timeout=1.0, guard=0.0, cell=CELL)


def changes(log: Path) -> list[str]:
    """The commands that are not mere questions."""
    return [line for line in log.read_text().splitlines() if not line.endswith(" info")]


def apply(target: WifiRadios, *plans: tuple[int, ...]) -> None:
    async def run() -> None:
        async with asyncio.timeout(10.0):
            await target.start()
            for plan in plans:
                await target.apply(make_plan(0, plan, LAYOUT))

    asyncio.run(run())


def test_only_changed_channels_are_set(log: Path) -> None:
    """Radios come up on their first channel; then only the second one moves."""
    apply(radios("wlan0", "wlan1"), (0, 1), (0, 2))
    assert sorted(changes(log)[:4]) == [
        "ip link set dev wlan0 up",
        "ip link set dev wlan1 up",
        "iw dev wlan0 set freq 2412",
        "iw dev wlan1 set freq 2437",
    ]
    assert changes(log)[4:] == ["iw dev wlan1 set freq 2462"]


def test_a_user_without_channel_is_taken_down(log: Path) -> None:
    """A radio that is down cannot transmit; it comes up again with its next channel."""
    apply(radios("wlan0", "wlan1"), (0, 1), (0, -1), (0, 2))
    assert changes(log)[4:] == [
        "ip link set dev wlan1 down",
        "ip link set dev wlan1 up",
        "iw dev wlan1 set freq 2462",
    ]


def test_an_ibss_interface_changes_its_channel_by_joining_its_cell_anew(log: Path) -> None:
    """Whatever cell it was in is left first; the network and its address are always the same."""
    apply(radios("cell0"), (0,), (2,), (-1,), (1,))
    join = "iw dev cell0 ibss join tacan {} fixed-freq 02:54:41:43:41:4e"
    assert changes(log) == [
        "ip link set dev cell0 down",
        "ip link set dev cell0 up",
        join.format(2412),
        "iw dev cell0 ibss leave",
        join.format(2462),
        "ip link set dev cell0 down",
        "ip link set dev cell0 up",
        join.format(2437),
    ]


def test_a_failure_is_told_with_its_reason_and_tried_again(log: Path) -> None:
    """The complaint of the program is in the sentence; the next plan repeats the command."""
    target = radios("wlan0", "broken1")
    for _ in range(2):
        with pytest.raises(ActuatorError, match="broken1 up: no such device"):
            apply(target, (0, 1))
    assert not target.healthy()
    assert log.read_text().count("ip link set dev broken1 up") == 2
    assert log.read_text().count("iw dev wlan0 set") == 1


def test_a_radio_that_could_not_be_moved_is_taken_down(log: Path) -> None:
    """It would else go on transmitting on the channel that it was to leave."""
    with pytest.raises(ActuatorError, match="broken1 up"):
        apply(radios("broken1"), (0,))
    assert changes(log) == ["ip link set dev broken1 up", "ip link set dev broken1 down"]


def test_a_radio_that_is_not_where_iw_set_it_is_no_success(log: Path) -> None:
    """The command succeeds, and the radio says that it has no channel."""
    with pytest.raises(ActuatorError, match="deaf0 is on no channel, though iw set it to 2412"):
        apply(radios("deaf0"), (0,))


def test_a_command_that_hangs_is_ended(log: Path) -> None:
    """It is killed after its time, and the plan fails."""
    with pytest.raises(ActuatorError, match="no answer in 1 s"):
        apply(radios("wlan0", "slow1"), (0, 1))


def test_a_missing_interface_is_named_at_the_start(log: Path) -> None:
    """Before the first decision."""
    with pytest.raises(UserError, match=r"actuator\.interfaces: gone0: .* no such device"):
        asyncio.run(radios("gone0").start())


def test_an_interface_that_cannot_be_retuned_is_named_at_the_start(log: Path) -> None:
    """With the types that can be, and how to get there."""
    with pytest.raises(UserError, match="ap0 is of type AP, and only monitor and IBSS interfaces"):
        asyncio.run(radios("ap0").start())
