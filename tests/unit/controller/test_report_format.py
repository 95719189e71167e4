"""Reports as plain values, and traces."""

import json
import os
import random
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from controller_fakes import TINY, report
from tacan.controller.sensors.report_format import MalformedReport, ReportFormat, plain_report
from tacan.controller.sensors.trace import TraceWriter, read_trace
from tacan.errors import UserError

FORM = ReportFormat(TINY)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"version": 2}, "version must be 1"),
        ({"version": True}, "version must be 1"),
        ({"slot": 1.5}, "slot must be a whole number"),
        ({"slot": True}, "slot must be a whole number"),
        ({"slot": 2**60}, "slot must be a whole number"),
        ({"time": None}, "time must be a number"),
        ({"time": 10**400}, "time must be a number"),
        ({"occupancy": [0, 1, 0]}, "occupancy must be a list of 4"),
        ({"occupancy": [0, 1, 0, 2]}, "occupancy must hold whole numbers from 0 to 1"),
        ({"entropy": [0, 0, 0, 1.5]}, "entropy must hold numbers from 0 to 1"),
        ({"queue_class": [3, 0]}, "queue_class must hold whole numbers from -1 to 2"),
        ({"queue_delay": [1, 5]}, "queue_delay must be 0 where queue_class is -1"),
        ({"restart": 1}, "restart must be true or false"),
        ({"power": 3}, "key 'power' is not known"),
        ({"posterior": []}, "either entropy or posterior"),
    ],
)
def test_a_malformed_report_is_named(changes: dict[str, Any], sentence: str) -> None:
    """Each field says what would be right."""
    with pytest.raises(MalformedReport, match=sentence):
        FORM.read(plain_report(report(1)) | changes)


@pytest.mark.parametrize("text", [b"", b"[" * 100_000, b"{", b"\xff\xfe", b'{"slot": NaN}', b"1"])
def test_what_is_no_json_map_is_malformed(text: bytes) -> None:
    """Nothing, nesting without end, half a map, no text, NaN and a number."""
    with pytest.raises(MalformedReport):
        FORM.read_json(text)


def test_a_key_that_stands_twice_is_refused() -> None:
    """Slot 1 and slot 9 in one report: neither is believed, in JSON or msgpack."""
    text = json.dumps(plain_report(report(1)))
    with pytest.raises(MalformedReport, match="more than once"):
        FORM.read_json((text[:-1] + ', "slot": 9}').encode())
    packed = msgpack.packb(plain_report(report(1)))
    longer = bytes([packed[0] + 1]) + packed[1:] + msgpack.packb("slot") + msgpack.packb(9)
    with pytest.raises(MalformedReport, match="more than once"):
        FORM.read_msgpack(longer)


def test_a_posterior_is_turned_into_its_entropy() -> None:
    """A uniform row has entropy 1, a certain one 0 (eq:modent)."""
    schemes = len(TINY.modulation.schemes)
    certain = [1.0] + [0.0] * (schemes - 1)
    content = plain_report(report(1))
    del content["entropy"]
    content["posterior"] = [[1.0 / schemes] * schemes, certain, certain, certain]
    assert FORM.read(content).entropy.tolist() == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e-6)


@pytest.mark.parametrize("suffix", [".jsonl", ".npz"])
def test_a_trace_comes_back_as_it_was_written(tmp_path: Path, suffix: str) -> None:
    """Every field of every report, bit by bit, in both formats."""
    written = [report(slot, busy=[slot % 4], entropy=slot / 7) for slot in range(5)]
    path = tmp_path / f"trace{suffix}"
    with TraceWriter(path) as writer:
        for one in written:
            writer.write(one)
    back = list(read_trace(path, TINY))
    assert [one.slot for one in back] == [0, 1, 2, 3, 4]
    assert all(a.says_the_same(b) for a, b in zip(written, back, strict=True))
    assert [one.time for one in back] == [one.time for one in written]


def test_a_trace_that_fails_half_way_leaves_no_file(tmp_path: Path) -> None:
    """Written under a temporary name, renamed at the end."""

    def fails_half_way() -> None:
        with TraceWriter(tmp_path / "trace.jsonl") as writer:
            writer.write(report(0))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails_half_way()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".jsonl", ".npz"])
def test_a_trace_that_cannot_be_written_is_named(tmp_path: Path, suffix: str) -> None:
    """There is a folder of its name; nothing else is left behind."""
    path = tmp_path / f"trace{suffix}"
    path.mkdir()
    with (
        pytest.raises(UserError, match=r"trace\.\w+: is a folder, not a file"),
        TraceWriter(path) as writer,
    ):
        writer.write(report(0))
    assert list(tmp_path.iterdir()) == [path]


def test_a_trace_is_renamed_over_files_only(tmp_path: Path) -> None:
    """A link stays one and its file is replaced; a pipe of that name is refused."""
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    with TraceWriter(tmp_path / "link.jsonl") as writer:
        writer.write(report(0))
    assert (tmp_path / "link.jsonl").is_symlink()
    assert len((tmp_path / "real.jsonl").read_text().splitlines()) == 1
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(UserError, match=r"trace .*pipe.jsonl: is a device or a pipe, not a file"):
        TraceWriter(tmp_path / "pipe.jsonl")


def test_a_bad_line_is_named_by_its_number(tmp_path: Path) -> None:
    """The second report of the file is broken."""
    path = tmp_path / "trace.jsonl"
    path.write_text(json.dumps(plain_report(report(0))) + "\nnonsense\n")
    with pytest.raises(UserError, match="report 2: not JSON"):
        list(read_trace(path, TINY))


def test_a_damaged_npz_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """Up to five bytes changed, or the end cut off: read whole, or a UserError."""
    draw = random.Random(1)
    good, path = tmp_path / "good.npz", tmp_path / "damaged.npz"
    with TraceWriter(good) as writer:
        for slot in range(20):
            writer.write(report(slot, busy=[slot % 4]))
    refused = 0
    for _ in range(300):
        data = bytearray(good.read_bytes())
        for _ in range(draw.randint(1, 5)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        if draw.random() < 0.2:
            del data[draw.randrange(len(data)) :]
        path.write_bytes(data)
        try:
            list(read_trace(path, TINY))
        except UserError:
            refused += 1
    assert refused > 100


def test_a_single_array_is_no_trace(tmp_path: Path) -> None:
    """A .npy that was renamed to .npz."""
    np.save(tmp_path / "plain.npy", np.zeros(3))
    (tmp_path / "plain.npy").rename(tmp_path / "plain.npz")
    with pytest.raises(UserError, match=r"plain\.npz: cannot be read as NPZ"):
        list(read_trace(tmp_path / "plain.npz", TINY))


def test_an_npz_with_objects_is_refused(tmp_path: Path) -> None:
    """Nothing is unpickled."""
    path = tmp_path / "trace.npz"
    fields = ("slot", "time", "occupancy", "entropy", "queue_class", "queue_delay", "restart")
    arrays: dict[str, Any] = {name: np.array([None], dtype=object) for name in fields}
    np.savez(path, **arrays)
    with pytest.raises(UserError, match="cannot be read"):
        list(read_trace(path, TINY))
