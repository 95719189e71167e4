"""The audit log: what was known, what was decided, and why, one JSON line for each cycle.

The file is only ever appended to. Every line carries a number that grows by one, and the run it
belongs to, so that a missing line shows. Lines are written at once (a killed process loses none);
``fsync`` says when they must also have reached the disk (a power cut may cost what came after):

* ``always``: before the decision is acted upon,
* ``second``: at most one second later,
* ``never``: when the system gets to it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from tacan.errors import UserError

Fsync = Literal["always", "second", "never"]


class AuditError(Exception):
    """A line could not be written."""


class AuditLog:
    """An open log. With no path it counts lines and keeps none."""

    def __init__(self, path: Path | None, fsync: Fsync = "second") -> None:
        self._path = path
        self._fsync = fsync
        self._file: int | None = None
        self._synced = 0.0
        self.lines = 0

    def open(self) -> None:
        """Open the file for appending; its folder must exist."""
        if self._path is None:
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            self._file = os.open(self._path, flags, 0o640)
        except OSError as error:
            raise UserError(f"audit log {self._path}: cannot be opened: {error.strerror}") from None

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one line."""
        line = json.dumps({"line": self.lines, **record}, allow_nan=False, separators=(",", ":"))
        data = line.encode() + b"\n"
        self.lines += 1
        if self._file is None:
            return
        try:
            written = os.write(self._file, data)
            if written != len(data):
                raise AuditError(f"{self._path}: {written} of {len(data)} bytes written")
            self._sync()
        except OSError as error:
            raise AuditError(f"{self._path}: {error.strerror}") from error

    def _sync(self) -> None:
        if self._file is None or self._fsync == "never":
            return
        now = time.monotonic()
        if self._fsync == "always" or now - self._synced >= 1.0:
            os.fdatasync(self._file)
            self._synced = now

    def close(self) -> None:
        """Bring everything to the disk."""
        if self._file is not None:
            os.fsync(self._file)
            os.close(self._file)
            self._file = None


def check_audit(path: Path) -> dict[str, int]:
    """Read a log and see that each run's lines are complete; how many lines each run has."""
    runs: dict[str, int] = {}
    if not path.is_file():
        raise UserError(f"audit log {path}: there is no such file")
    with path.open(encoding="utf-8") as lines:
        for number, text in enumerate(lines, start=1):
            try:
                record = json.loads(text)
                run, line = str(record["run"]), int(record["line"])
            except (ValueError, KeyError, TypeError):
                raise UserError(f"audit log {path}: line {number} is not a record") from None
            if line != runs.get(run, 0):
                raise UserError(
                    f"audit log {path}: line {number} is record {line} of run {run}, "
                    f"where record {runs.get(run, 0)} should be"
                )
            runs[run] = line + 1
    return runs
