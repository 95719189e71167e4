"""Reports over a socket: framing, limits and what is counted."""

import asyncio
import contextlib
import json
import socket
import struct
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgpack
import pytest

from controller_fakes import TINY, report
from tacan.controller.address import Address
from tacan.controller.intake import Intake
from tacan.controller.messages import Report
from tacan.controller.ports import SystemClock
from tacan.controller.sensors.network import Allowance, Limits, NetworkSensor
from tacan.controller.sensors.report_format import MalformedReport, plain_report
from tacan.errors import UserError

Talk = Callable[[NetworkSensor, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def line(slot: int, busy: Sequence[int] = (), sent: float | None = None) -> bytes:
    return json.dumps(plain_report(report(slot, busy, time=sent))).encode() + b"\n"


def with_sensor(
    tmp_path: Path, talk: Talk, form: str = "json", limits: Limits | None = None
) -> NetworkSensor:
    """A sensor and one client of it."""
    path = str(tmp_path / "sensor.sock")
    sensor = NetworkSensor(Address("unix", path, 0), TINY, SystemClock(), form, limits)

    async def run() -> None:
        await sensor.start()
        try:
            reader, writer = await asyncio.open_unix_connection(path)
            async with asyncio.timeout(10.0):
                await talk(sensor, reader, writer)
            writer.close()
        finally:
            await sensor.stop()

    asyncio.run(run())
    return sensor


async def read_all(sensor: NetworkSensor, count: int) -> list[int]:
    slots: list[int] = []
    while len(slots) < count:
        slots += [one.slot for one in await sensor.read(1.0)]
    return slots


@pytest.mark.parametrize("form", ["json", "msgpack"])
def test_reports_arrive_whole_however_they_are_cut(tmp_path: Path, form: str) -> None:
    """Two reports sent seven bytes at a time."""

    async def talk(
        sensor: NetworkSensor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if form == "json":
            data = line(1) + line(2)
        else:
            packed = [msgpack.packb(plain_report(report(slot))) for slot in (1, 2)]
            data = b"".join(struct.pack("!I", len(one)) + one for one in packed)
        for start in range(0, len(data), 7):
            writer.write(data[start : start + 7])
            await writer.drain()
        assert await read_all(sensor, 2) == [1, 2]

    with_sensor(tmp_path, talk, form)


def test_malformed_reports_are_counted_and_the_next_one_is_taken(tmp_path: Path) -> None:
    """Nonsense between two reports costs only itself."""

    async def talk(
        sensor: NetworkSensor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(line(1) + b"nonsense\n" + line(2))
        assert await read_all(sensor, 2) == [1, 2]

    assert with_sensor(tmp_path, talk).counts()["malformed"] == 1


def test_a_negative_slot_is_for_traces_only(tmp_path: Path) -> None:
    """Slots before the first are padding, which no radio reports."""

    async def talk(
        sensor: NetworkSensor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(line(-3) + line(4))
        assert await read_all(sensor, 1) == [4]

    assert with_sensor(tmp_path, talk).counts()["malformed"] == 1


@pytest.mark.parametrize(
    ("data", "form", "reason"),
    [
        (b"x" * 5_000, "json", "too_long"),
        (struct.pack("!I", 2**31), "msgpack", "too_long"),
        (b"nonsense\n" * 200, "json", "malformed"),
    ],
)
def test_a_hopeless_sender_is_cut_off(tmp_path: Path, data: bytes, form: str, reason: str) -> None:
    """A message beyond the limit and twenty malformed ones end the connection."""

    async def talk(
        sensor: NetworkSensor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(data)
        with contextlib.suppress(ConnectionResetError):  # closed with unread data
            assert await reader.read() == b""

    sensor = with_sensor(tmp_path, talk, form, Limits(max_bytes=4_096))
    assert sensor.counts()[reason] in {1, 20}


def test_nonsense_takes_little_of_the_loops_time(tmp_path: Path) -> None:
    """Each takes 5 ms to refuse and is followed by 100 ms of rest: six at most in half a second."""

    async def talk(
        sensor: NetworkSensor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        def refuse(_: bytes) -> Report:
            time.sleep(0.005)
            raise MalformedReport

        sensor._format.read_json = refuse  # type: ignore[method-assign]
        writer.write(b"nonsense\n" * 200)
        await asyncio.sleep(0.5)
        assert 1 <= sensor.counts()["malformed"] <= 6

    with_sensor(tmp_path, talk)


def test_a_flood_is_dropped_unread_and_then_cut_off(tmp_path: Path) -> None:
    """At ten reports a second, a burst of two hundred gets ten through and is cut off."""

    async def talk(
        sensor: NetworkSensor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"".join(line(slot) for slot in range(200)))
        with contextlib.suppress(ConnectionResetError):  # closed with unread data
            assert await reader.read() == b""

    sensor = with_sensor(tmp_path, talk, limits=Limits(max_rate=10.0))
    assert sensor.counts()["reports"] in {10, 11}
    assert sensor.counts()["cut_off"] == 1


def test_connections_are_limited(tmp_path: Path) -> None:
    """With one allowed, a second client is closed at once and the first stays."""

    async def talk(
        sensor: NetworkSensor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(line(1))
        assert await read_all(sensor, 1) == [1]
        second, other = await asyncio.open_unix_connection(str(tmp_path / "sensor.sock"))
        assert await second.read() == b""
        other.close()
        writer.write(line(2))
        assert await read_all(sensor, 1) == [2]

    sensor = with_sensor(tmp_path, talk, limits=Limits(max_connections=1))
    assert sensor.counts()["connections_refused"] == 1


def test_busy_if_either_of_two_radios_says_so(tmp_path: Path) -> None:
    """Their clocks are an hour apart and the second one comes a little later, slot by slot."""
    intake = Intake(TINY.history)

    async def talk(
        sensor: NetworkSensor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        _, second = await asyncio.open_unix_connection(str(tmp_path / "sensor.sock"))
        writer.write(line(0, sent=3_600.0))
        second.write(line(0, sent=0.0))
        assert await read_all(sensor, 2) == [0, 0]
        for slot in range(1, 6):
            writer.write(line(slot, sent=slot + 3_600.0))
            deciding = asyncio.create_task(sensor.read(5.0))
            await asyncio.sleep(0.02)
            second.write(line(slot, busy=[3], sent=float(slot)))
            for one in await deciding:
                intake.offer(one)
            (joined,) = intake.take()
            assert joined.occupancy.tolist() == [0, 0, 0, 1]
        second.close()

    with_sensor(tmp_path, talk, limits=Limits(gather=5.0, max_age=3.0))
    assert intake.counts == {"contradictory": 5}


def test_nobody_waits_long_for_a_second_radio_that_is_quiet(tmp_path: Path) -> None:
    """It has told of slot 1 only: slot 2 is given without it, and slot 3 at once, as it left."""

    async def talk(
        sensor: NetworkSensor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        _, other = await asyncio.open_unix_connection(str(tmp_path / "sensor.sock"))
        other.write(line(1))
        assert await read_all(sensor, 1) == [1]
        writer.write(line(2))
        assert await read_all(sensor, 1) == [2]
        sensor._limits = Limits(gather=60.0)
        writer.write(line(3))
        other.close()
        assert await read_all(sensor, 1) == [3]

    with_sensor(tmp_path, talk, limits=Limits(gather=0.05))


def test_a_report_that_travelled_too_long_is_stale(tmp_path: Path) -> None:
    """The second was sent a millisecond after the first and comes 150 ms later: 100 are allowed."""

    async def talk(
        sensor: NetworkSensor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(line(1, sent=0.0))
        assert await read_all(sensor, 1) == [1]
        await asyncio.sleep(0.15)
        writer.write(line(2, sent=0.001) + line(3, sent=1.0))
        assert await read_all(sensor, 1) == [3]

    assert with_sensor(tmp_path, talk, limits=Limits(max_age=0.1)).counts()["stale"] == 1


def test_what_waited_too_long_for_the_loop_is_stale(tmp_path: Path) -> None:
    """The loop was held up, and the radio has said nothing since: that is no news any more."""

    async def talk(
        sensor: NetworkSensor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(line(1) + line(2, sent=1.0))
        await asyncio.sleep(0.3)
        assert await sensor.read(0.0) == ()

    assert with_sensor(tmp_path, talk, limits=Limits(max_age=0.1)).counts()["stale"] == 2


def test_a_socket_that_somebody_listens_at_is_not_taken_over(tmp_path: Path) -> None:
    """A second sensor at the same path is refused in one sentence, and the first one goes on."""

    async def talk(
        sensor: NetworkSensor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        second = NetworkSensor(sensor._address, TINY, SystemClock())
        with pytest.raises(UserError, match=r"sensor\.sock: in use: another process listens there"):
            await second.start()
        _, later = await asyncio.open_unix_connection(str(tmp_path / "sensor.sock"))
        later.write(line(1))
        assert await read_all(sensor, 1) == [1]
        later.close()

    with_sensor(tmp_path, talk)


def test_a_socket_that_nobody_listens_at_is_replaced(tmp_path: Path) -> None:
    """A process that was killed leaves its socket behind."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "sensor.sock"))

    async def talk(
        sensor: NetworkSensor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(line(1))
        assert await read_all(sensor, 1) == [1]

    with_sensor(tmp_path, talk)


def test_a_connection_without_reports_is_closed(tmp_path: Path) -> None:
    """One that says nothing and one that only talks nonsense make room; a radio stays."""

    async def talk(
        sensor: NetworkSensor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        silent, one = await asyncio.open_unix_connection(str(tmp_path / "sensor.sock"))
        babble, other = await asyncio.open_unix_connection(str(tmp_path / "sensor.sock"))
        for slot in range(20):
            writer.write(line(slot))
            if slot < 5:
                other.write(b"nonsense\n")
            await asyncio.sleep(0.1)
        assert await silent.read() == b""
        assert await babble.read() == b""
        one.close()
        other.close()
        writer.write(line(20))
        assert await read_all(sensor, 21) == list(range(21))

    sensor = with_sensor(tmp_path, talk, limits=Limits(max_connections=3, idle=1.0, max_age=9.0))
    assert sensor.counts()["idle"] == 2


def test_an_allowance_fills_up_again() -> None:
    """Two a second: two at once, none more, and one more after half a second."""
    allowance = Allowance(2.0, now=0.0)
    taken = [allowance.take(moment) for moment in (0.0, 0.0, 0.0, 0.5)]
    assert taken == [True, True, False, True]


@pytest.mark.parametrize(("times", "cut_off"), [(2.5, False), (9.0, False), (12.0, True)])
def test_only_a_sender_above_ten_times_its_rate_is_cut_off(times: float, cut_off: bool) -> None:
    """For a minute at a hundred a second, that many times as fast: what is too many is dropped."""
    allowance = Allowance(100.0, now=0.0)
    for count in range(int(60 * 100 * times)):
        allowance.take(count / (100.0 * times))
    assert allowance.abused is cut_off
