"""Simulated radios of a real kernel (mac80211_hwsim), retuned by the actuator as it ships.

Radios 0 and 1 are the users'; 2 and 3 listen on channels 0 and 1, each in a namespace of its own.
"""

import asyncio
import os
import re
import shlex
import statistics
import subprocess
import sys
from collections.abc import Iterator

import pytest

from radio_guest import Guest, running_guest
from radio_image import missing
from tacan.controller.actuators.wifi import Cell, WifiRadios
from tacan.controller.messages import ActuatorError, Applied
from tacan.controller.ports import SystemClock
from tacan.controller.rules import Layout, make_plan
from tacan.errors import UserError

LACKING = missing()
pytestmark = [
    pytest.mark.radio,
    pytest.mark.slow,
    pytest.mark.skipif(bool(LACKING), reason=f"NO REAL RADIO WAS RETUNED: {LACKING}"),
]

FREQUENCIES = (2412, 2437, 2462, 2411)
IMPOSSIBLE = 3  # there is no Wi-Fi channel at 2411 MHz
LAYOUT = Layout.numbered(2, len(FREQUENCIES))
CELL = Cell("tacan", "02:54:41:43:41:4e")
FRAMES = 5
CHANGES = 6
# a radiotap header without fields, and a broadcast data frame
FRAME = "0000080000000000" + "08000000" + "ff" * 6 + "02000000000a" + "02000000000b" + "0000"
FRAME += "aaaa0300000088b5" + "6865617200000000"
INJECT = """
my ($name, $frame, $count) = @ARGV;
open(my $file, "<", "/sys/class/net/$name/ifindex") or die $!;
socket(my $socket, 17, 3, 0) or die $!;
bind($socket, pack("SnlSCCa8", 17, 0, <$file>, 0, 0, 0, "")) or die $!;
for (1..$count) { send($socket, pack("H*", $frame), 0) or die $!; }
""".replace("\n", " ")


def started(*names: str) -> WifiRadios:
    """The actuator, as it ships."""
    users = names or ("wlan0", "wlan1")
    radios = WifiRadios(users, FREQUENCIES, SystemClock(), timeout=10.0, guard=0.025, cell=CELL)
    asyncio.run(radios.start())
    return radios


class Air:
    """The guest's radios, all of one type, and what can be heard where."""

    def __init__(self, guest: Guest, kind: str) -> None:
        self.guest = guest
        self.kind = kind
        for user in (0, 1):
            guest.do(
                f"/bin/ip link set wlan{user} down",
                f"iw dev wlan{user} set type {kind}",
                f"/bin/ip addr replace 10.0.{user}.1/24 dev wlan{user}",
            )
        for channel in (0, 1):
            where, name = f"/bin/ip -n air{channel}", f"wlan{2 + channel}"
            tune = f"/bin/ip netns exec air{channel} /bin/iw dev {name}"
            frequency = FREQUENCIES[channel]
            guest.do(
                f"{where} link set {name} down",
                f"{tune} set type {kind}",
                f"{where} link set {name} up",
                f"{tune} set freq {frequency}"
                if kind == "monitor"
                else f"{tune} ibss join {self.cell(frequency)}",
                *(f"{where} addr replace 10.0.{u}.{100 + channel}/24 dev {name}" for u in (0, 1)),
            )

        self.radios = started()

    def cell(self, frequency: object) -> str:
        """What an IBSS interface joins."""
        return f"{CELL.ssid} {frequency} fixed-freq {CELL.bssid}"

    def follow(self, *plan: int) -> Applied:
        """Apply a plan, and wait until the users may transmit."""

        async def act() -> Applied:
            applied = await self.radios.apply(make_plan(0, plan, LAYOUT))
            await SystemClock().sleep_until(applied.transmit_at_ns)
            return applied

        return asyncio.run(act())

    def frequency(self, user: int) -> int | None:
        """Where the user's radio says that it is."""
        found = re.search(r"channel \d+ \((\d+) MHz\)", self.guest.do(f"iw dev wlan{user} info"))
        return int(found.group(1)) if found else None

    def up(self, user: int) -> bool:
        flags = self.guest.do(f"cat /sys/class/net/wlan{user}/flags")
        return bool(int(flags, 16) & 1)

    def heard(self, user: int) -> list[int]:
        """The channels whose listeners hear what the user's radio sends."""
        return self._pings(user) if self.kind == "ibss" else self._frames(user)

    def _pings(self, user: int) -> list[int]:
        ping = f"ping -I wlan{user} -c 1 -W 2 10.0.{user}"
        pings = (f"({ping}.{100 + channel} >/dev/null && echo {channel}) &" for channel in (0, 1))
        return sorted(map(int, self.guest.do(f"{' '.join(pings)} wait").split()))

    def _frames(self, user: int) -> list[int]:
        counts = "; ".join(
            f"/bin/ip netns exec air{channel} "
            f"/bin/cat /sys/class/net/wlan{2 + channel}/statistics/rx_packets"
            for channel in (0, 1)
        )
        inject = shlex.join(["perl", "-e", INJECT, f"wlan{user}", FRAME, str(FRAMES)])
        said = self.guest.do(f"{counts}; {inject} && usleep 300000; {counts}")
        before_0, before_1, after_0, after_1 = map(int, said.split())
        arrived = [after_0 - before_0, after_1 - before_1]
        assert set(arrived) <= {0, FRAMES}
        return [channel for channel in (0, 1) if arrived[channel]]


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    """One guest for all, whose iw and ip stand first on PATH."""
    path = os.environ["PATH"]
    with running_guest() as (running, programs):
        os.environ["PATH"] = f"{programs}:{path}"
        try:
            for channel in (0, 1):
                running.do(
                    f"/bin/ip netns add air{channel}",
                    f"iw phy phy{2 + channel} set netns name air{channel}",
                )
            yield running
        finally:
            os.environ["PATH"] = path


@pytest.fixture(scope="module", params=["monitor", "ibss"])
def air(guest: Guest, request: pytest.FixtureRequest) -> Air:
    """The two types of interface that can be retuned."""
    return Air(guest, request.param)


def test_every_user_is_on_the_channel_of_its_plan(air: Air) -> None:
    """Its radio says so itself, also after two users swapped their channels."""
    for plan in ((0, 1), (1, 0)):
        air.follow(*plan)
        assert [air.frequency(user) for user in (0, 1)] == [FREQUENCIES[c] for c in plan]


def test_packets_pass_on_the_planned_channel_only(air: Air) -> None:
    """Each user reaches the listener of its channel and no other; and again after its return."""
    air.follow(0, 1)
    assert [air.heard(0), air.heard(1)] == [[0], [1]]
    air.follow(2, 0)
    assert [air.heard(0), air.heard(1)] == [[], [0]]
    air.follow(0, 1)
    assert [air.heard(0), air.heard(1)] == [[0], [1]]


def test_a_user_without_channel_is_down_until_it_has_one_again(air: Air) -> None:
    """The other user's radio stays up, and where it is."""
    for plan in ((0, 1), (0, -1), (0, 1)):
        air.follow(*plan)
        assert [air.up(user) for user in (0, 1)] == [channel != -1 for channel in plan]
        assert air.frequency(0) == FREQUENCIES[0]
    assert air.frequency(1) == FREQUENCIES[1]
    assert air.heard(1) == [1]


def test_an_impossible_frequency_is_no_success(air: Air) -> None:
    """The plan fails in iw's own words, and that radio is silent until a plan succeeds."""
    air.follow(0, 1)
    with pytest.raises(ActuatorError, match=r"^iw dev wlan1 .* 2411.*: .*\(-22\)$") as failure:
        air.follow(0, IMPOSSIBLE)
    assert "\n" not in str(failure.value)
    assert not air.radios.healthy()
    assert [air.up(0), air.up(1)] == [True, False]
    air.follow(0, 1)
    assert air.radios.healthy()
    assert [air.frequency(0), air.frequency(1)] == [FREQUENCIES[0], FREQUENCIES[1]]


def test_a_change_of_channel_is_measured(air: Air, capsys: pytest.CaptureFixture[str]) -> None:
    """The median through the actuator, and what iw alone takes inside the guest."""
    air.follow(2, -1)
    took = [air.follow((change + 1) % 2, -1).confirm_ns / 1e6 for change in range(CHANGES)]
    assert air.frequency(0) == 2412
    change = (
        "iw dev wlan0 set freq $f"
        if air.kind == "monitor"
        else f"iw dev wlan0 ibss leave; iw dev wlan0 ibss join {air.cell('$f')}"
    )
    loop = f"for f in {'2437 2462 ' * (CHANGES // 2)}; do {change}; done"
    clock = "cut -d' ' -f1 /proc/uptime"
    began, ended = map(float, air.guest.do(f"{clock}; {loop}; {clock}").split())
    assert air.frequency(0) == 2462
    air.radios = started()  # the guest's loop went behind its back
    through, alone = statistics.median(took), 1000 * (ended - began) / CHANGES
    with capsys.disabled():
        sys.stdout.write(
            f"\n{air.kind}: a change of channel takes {through:.0f} ms through the actuator "
            f"(median of {CHANGES}), {alone:.0f} ms of iw alone in the guest (mean); "
            f"load {os.getloadavg()[0]:.1f}; the guest started in {air.guest.boot_seconds:.1f} s\n"
        )


@pytest.mark.parametrize("kind", ["managed", "__ap", "mesh", "ocb"])
def test_a_type_that_cannot_be_retuned_is_refused(guest: Guest, kind: str) -> None:
    """The kernel refuses it the frequency, or takes it and leaves the radio where it is."""
    guest.do("/bin/ip link set wlan0 down", f"iw dev wlan0 set type {kind}")
    guest.do("/bin/ip link set wlan0 up")
    with pytest.raises(UserError, match=r"wlan0 is of type .*, and only monitor and IBSS"):
        started("wlan0")
    answer = guest.run("iw", "dev", "wlan0", "set", "freq", "2437")
    assert (answer.code == 0) == (kind in {"__ap", "mesh"})
    assert "2437" not in guest.do("iw dev wlan0 info")


def test_what_the_guests_programs_say_comes_back_unchanged(guest: Guest) -> None:
    """Exit code, output and errors: without that nothing above would mean anything."""
    said = subprocess.run(["iw", "dev", "wlan9", "info"], capture_output=True, check=False)
    assert said.returncode == 237
    assert said.stdout == b""
    assert said.stderr == b"command failed: No such device (-19)\n"
