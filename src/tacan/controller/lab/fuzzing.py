"""Malformed inputs: valid messages with a few things wrong, and what must happen to them."""

from __future__ import annotations

import json
import random
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tacan.controller.actuators import openflow_codec as codec
from tacan.controller.actuators.openflow_messages import CodecError
from tacan.controller.intake import Intake
from tacan.controller.sensors.report_format import MalformedReport, ReportFormat
from tacan.scenario import Scenario

INTERESTING = (0, 1, 2, 4, 7, 8, 127, 128, 255)
WORDS = (b"null", b"-1", b"1e999", b"[[[[", b'"a"', b"NaN", b"true", b"{}", b"9" * 40, b"\\u0000")


def openflow_inputs() -> list[bytes]:
    """One valid message of every type that a switch may send."""
    port = struct.pack("!I4x6s2x16sIIIIIIII", 3, b"\2\0\0\0\0\1", b"p", *([0] * 8))
    bodies: list[tuple[int, bytes]] = [
        (0, struct.pack("!HHI", 1, 8, 1 << codec.VERSION)),
        (1, struct.pack("!HH", 5, 1) + b"x" * 64),
        (2, b"ping"),
        (3, b"pong"),
        (4, struct.pack("!IIIHH", codec.BUNDLE_EXPERIMENTER, 2300, 1, 5, 3)),
        (6, struct.pack("!QIBB2xII", 7, 0, 1, 0, 0, 0)),
        (10, struct.pack("!IHBBQHHI", 1, 64, 0, 0, 0, 1, 4, 0) + b"x" * 66),
        (11, struct.pack("!QHBBIIHHQQHHI", 1, 1, 1, 0, 2, 0, 0, 2, 0, 0, 1, 4, 0)),
        (12, struct.pack("!B7x", 2) + port),
        (19, struct.pack("!HH4x", 13, 0) + port * 3),
        (21, b""),
        (25, struct.pack("!I4xQ", 2, 9)),
    ]
    return [
        codec.HEADER.pack(codec.VERSION, kind, codec.HEADER.size + len(body), 5) + body
        for kind, body in bodies
    ]


def report_input(scenario: Scenario) -> dict[str, Any]:
    """A valid report as plain values."""
    return {
        "version": 1,
        "slot": 12,
        "time": 3.5,
        "occupancy": [0] * scenario.channels,
        "entropy": [0.5] * scenario.channels,
        "queue_class": [0] * scenario.users,
        "queue_delay": [1] * scenario.users,
        "restart": False,
    }


def mutated(draw: random.Random, data: bytes) -> bytes:
    """The same with one to six things wrong; now and then nothing but noise."""
    if draw.random() < 0.02:
        return draw.randbytes(draw.randrange(200))
    result = bytearray(data)
    for _ in range(draw.randint(1, 6)):
        place = draw.randrange(len(result) + 1)
        match draw.randrange(6):
            case 0 if result:
                result[place % len(result)] = draw.randrange(256)
            case 1 if result:
                result[place % len(result)] = draw.choice(INTERESTING)
            case 2:
                del result[place : place + draw.randint(1, 16)]
            case 3:
                result[place:place] = draw.randbytes(draw.randint(1, 16))
            case 4:
                result[place:place] = draw.choice(WORDS)
            case _:
                end = place + draw.randint(1, 32)
                result[place:place] = result[place:end]
    return bytes(result)


def fuzz_openflow(draw: random.Random, inputs: int) -> Counter[str]:
    """Mutated messages of a switch: read, or refused with CodecError."""
    seeds = openflow_inputs()

    def read(data: bytes) -> str:
        # as on a connection: the header says how long the message is
        if len(data) >= codec.HEADER.size and draw.random() < 0.9:
            body = data[codec.HEADER.size :][: codec.LONGEST_MESSAGE - codec.HEADER.size]
            length = struct.pack("!H", codec.HEADER.size + len(body))
            data = data[:2] + length + data[4:8] + body
            codec.message_length(data[: codec.HEADER.size])
        return type(codec.decode(data)).__name__

    return _count(draw, inputs, seeds, read, CodecError)


def fuzz_reports(draw: random.Random, inputs: int, scenario: Scenario, form: str) -> Counter[str]:
    """Mutated reports, in JSON or msgpack: read and sorted, or refused with MalformedReport."""
    import msgpack

    plain = report_input(scenario)
    seed = json.dumps(plain).encode() if form == "json" else msgpack.packb(plain)
    reader = ReportFormat(scenario)
    intake = Intake(scenario.history)

    def read(data: bytes) -> str:
        report = reader.read_json(data) if form == "json" else reader.read_msgpack(data)
        intake.offer(report)
        intake.take()
        return "report"

    return _count(draw, inputs, [seed], read, MalformedReport)


def _count(
    draw: random.Random,
    inputs: int,
    seeds: Sequence[bytes],
    read: Callable[[bytes], str],
    refusal: type[Exception],
) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for _ in range(inputs):
        data = mutated(draw, draw.choice(seeds))
        try:
            outcomes[read(data)] += 1
        except refusal:
            outcomes["refused"] += 1
        except Exception as error:
            raise AssertionError(f"{data!r} is neither read nor refused: {error!r}") from error
    return outcomes
