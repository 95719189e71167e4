"""Reading an audit log back: is any line missing, torn, or a run without an end?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tacan.controller.messages import Source
from tacan.errors import UserError

OPENING = b'{"line":'
"""How every record begins, and so every torn one that has come this far."""


@dataclass(frozen=True)
class AuditFindings:
    """What a log holds, and what is wrong with it."""

    runs: Mapping[str, int]
    """how many lines each run has"""
    faults: tuple[str, ...]
    """a sentence for each line that is torn or not where it should be, and each unfinished run"""


def check_audit(path: Path) -> AuditFindings:
    """Read a whole log; a UserError if it is none."""
    if not path.is_file():
        raise UserError(f"audit log {path}: there is no such file")
    try:
        with path.open("rb") as lines:
            return _findings(lines, path)
    except OSError as error:
        raise UserError(f"audit log {path}: cannot be read: {error.strerror}") from None


def _findings(lines: Iterable[bytes], path: Path) -> AuditFindings:
    runs: dict[str, int] = {}
    due: dict[str, int] = {}
    unfinished: set[str] = set()
    faults: list[str] = []
    for number, text in enumerate(lines, start=1):
        content = _parsed(text)
        if content is None and _begins(text):
            faults.append(f"line {number} is torn")
            continue
        match content:
            case {"run": str(run), "line": int(line), "source": source}:
                pass
            case _:
                raise UserError(
                    f"audit log {path}: line {number} is not a record, nor the beginning of one"
                )
        if line != due.get(run, 0):
            faults.append(
                f"line {number} is record {line} of run {run}, "
                f"where record {due.get(run, 0)} should be"
            )
        due[run] = line + 1
        runs[run] = runs.get(run, 0) + 1
        if source == Source.STOPPED.value:
            unfinished.discard(run)
        else:
            unfinished.add(run)
    faults += [
        f"run {run} is unfinished: it runs still, was killed, or its end is missing"
        for run in runs
        if run in unfinished
    ]
    return AuditFindings(runs, tuple(faults))


def _parsed(text: bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _begins(text: bytes) -> bool:
    """Whether a record begins here; a power cut may leave zeros instead of what was written."""
    begun = text.rstrip(b"\n").rstrip(b"\0")
    return begun.startswith(OPENING) or OPENING.startswith(begun)
