"""The audit log: what was known, what was decided, and why, one JSON line for each cycle.

The file is only ever appended to. Every line carries a number that grows by one, and the run it
belongs to, so that a missing line shows. Lines are written at once (a killed process loses none);
``fsync`` says when they must also have reached the disk (a power cut may cost what came after):

* ``always``: before the decision is acted upon,
* ``second``: at most one second later,
* ``never``: when the system gets to it.

A full disk or a power cut may leave a torn line. Whoever writes next ends it first, so that it
costs no other; ``audit_check.py`` names it.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from tacan.errors import UserError

logger = logging.getLogger("tacan.controller")

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
        self._torn = False
        self.lines = 0

    def examine(self) -> None:
        """See that it could be opened, without making it."""
        if self._path is None:
            return
        if not self._path.parent.is_dir():
            raise UserError(f"audit log {self._path}: there is no folder {self._path.parent}")
        if self._path.exists() and not self._path.is_file():
            raise UserError(f"audit log {self._path}: must be a file that can be appended to")
        if not os.access(self._path if self._path.exists() else self._path.parent, os.W_OK):
            raise UserError(f"audit log {self._path}: must not be written")

    def open(self) -> None:
        """Open the file for appending; its folder must exist."""
        if self._path is None:
            return
        self.examine()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            self._file = os.open(self._path, flags, 0o640)
            self._torn = _ends_torn(self._path)
        except OSError as error:
            raise UserError(f"audit log {self._path}: cannot be opened: {error.strerror}") from None

    def write(self, record: Mapping[str, Any]) -> None:
        """Append one line."""
        line = json.dumps({"line": self.lines, **record}, allow_nan=False, separators=(",", ":"))
        data = line.encode() + b"\n"
        self.lines += 1
        if self._file is None:
            return
        if self._torn:
            data = b"\n" + data
        try:
            written = os.write(self._file, data)
            self._torn = written != len(data)
            if self._torn:
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
        if self._file is None:
            return
        try:
            os.fsync(self._file)
        except OSError as error:
            logger.warning("audit log %s: its end may not be kept: %s", self._path, error.strerror)
        finally:
            os.close(self._file)
            self._file = None


def _ends_torn(path: Path) -> bool:
    with path.open("rb") as log:
        if log.seek(0, os.SEEK_END) == 0:
            return False
        log.seek(-1, os.SEEK_END)
        return log.read() != b"\n"
