"""The log: what it survives, and what reading it back finds."""

import errno
import os
from pathlib import Path

import pytest

from tacan.controller.audit import AuditError, AuditLog
from tacan.controller.audit_check import check_audit
from tacan.controller.messages import Source
from tacan.controller.settings import validate_settings
from tacan.controller.wiring import build_controller
from tacan.errors import UserError

CUT = "is unfinished: it runs still, was killed, or its end is missing"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def write_run(path: Path, name: str, lines: int = 3) -> None:
    """A run of so many lines, the last of which says that it stopped."""
    log = AuditLog(path)
    log.open()
    for line in range(lines):
        source = Source.STOPPED if line == lines - 1 else Source.POLICY
        log.write({"run": name, "source": source.value})
    log.close()


def test_a_whole_log_has_no_faults(path: Path) -> None:
    """Two runs, one after the other."""
    write_run(path, "a")
    write_run(path, "b", 5)
    found = check_audit(path)
    assert (found.runs, found.faults) == ({"a": 3, "b": 5}, ())


def test_a_missing_line_is_named(path: Path) -> None:
    """By its place in the file and in its run."""
    write_run(path, "a")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[2])
    assert check_audit(path).faults == ("line 2 is record 2 of run a, where record 1 should be",)


def test_a_run_name_used_twice_is_noticed(path: Path) -> None:
    """Numbers that begin again are not where they should be."""
    write_run(path, "a", 2)
    write_run(path, "a", 2)
    assert check_audit(path).faults == ("line 3 is record 0 of run a, where record 2 should be",)


def test_a_run_whose_end_is_missing_is_unfinished(path: Path) -> None:
    """A cut tail does not pass as complete."""
    write_run(path, "a")
    write_run(path, "b")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert check_audit(path).faults == (f"run b {CUT}",)


@pytest.mark.parametrize("kept", [1, 5, 20])
@pytest.mark.parametrize("zeros", [0, 7])
def test_a_torn_line_costs_no_other(path: Path, kept: int, zeros: int) -> None:
    """The next run ends it before it appends; it is named, and all else is read."""
    write_run(path, "a", 2)
    whole = path.read_bytes()
    first, last = whole.splitlines(keepends=True)
    path.write_bytes(first + last[:kept] + bytes(zeros))
    write_run(path, "b")
    found = check_audit(path)
    assert found.runs == {"a": 1, "b": 3}
    assert found.faults == ("line 2 is torn", f"run a {CUT}")


def test_a_line_that_a_full_disk_tears_costs_no_other(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line that failed is torn and missing; the next one stands on a line of its own."""
    really, room = os.write, [None, 10, None, None]

    def write(file: int, data: bytes) -> int:
        return really(file, data[: room.pop(0)])

    monkeypatch.setattr(os, "write", write)
    log = AuditLog(path)
    log.open()
    log.write({"run": "a", "source": "policy"})
    with pytest.raises(AuditError, match="10 of 39 bytes written"):
        log.write({"run": "a", "source": "policy"})
    log.write({"run": "a", "source": "policy"})
    log.write({"run": "a", "source": Source.STOPPED.value})
    log.close()
    assert check_audit(path).faults == (
        "line 2 is torn",
        "line 3 is record 2 of run a, where record 1 should be",
    )


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\x01\xff\xfe",
        b"[" * 100_000,
        b"1e999",
        b'{"line": 1e999, "run": "a", "source": "policy"}',
        b'{"line":0,"run":7}',
        b"hello\n",
        b"9" * 5_000,
    ],
    ids=["binary", "nested", "infinite", "infinite-line", "types", "text", "digits"],
)
def test_what_is_no_log_is_refused_in_one_sentence(path: Path, content: bytes) -> None:
    """Whatever it holds, it is named by its line."""
    write_run(path, "a")
    with path.open("ab") as log:
        log.write(content)
    with pytest.raises(UserError, match=r"line 4 is not a record, nor the beginning of one"):
        check_audit(path)


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("no/such/audit.jsonl", "there is no folder"),
        (".", "must be a file that can be appended to"),
        ("/dev/full", "must be a file that can be appended to"),
    ],
)
def test_a_place_where_no_log_can_be_is_refused_before_anything_starts(
    tmp_path: Path, place: str, sentence: str
) -> None:
    """When the controller is put together, and so by check, too."""
    settings = validate_settings(
        {
            "policy": "greedy",
            "sensor": {"kind": "simulator"},
            "actuator": {"kind": "dry-run"},
            "audit": {"path": place},
        },
        "x",
    )
    with pytest.raises(UserError, match=sentence):
        build_controller(settings, tmp_path, print)


def test_a_disk_that_fails_at_the_end_is_said(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning: all else is stopped already, and must not be hidden by it."""

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    write_run(path, "a")
    assert "its end may not be kept: Input/output error" in caplog.text
