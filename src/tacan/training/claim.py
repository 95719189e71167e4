"""One writer for a run folder at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacan.errors import UserError
from tacan.training.run import CHECKPOINT

LOCK = ".lock"


@contextmanager
def claimed(folder: Path, *, new: bool) -> Iterator[None]:
    """Keep other writers out of a run folder, which is made if ``new``.

    The lock is the system's, so it goes with its process however that ends. While it is held no
    other process writes here: half-written checkpoints were left by killed ones and are removed.
    """
    try:
        if new:
            folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise UserError(
            f"{folder}: cannot be used as the folder of a run ({error.strerror})"
        ) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"{folder}: another 'tacan train' is writing to this run; stop it or wait for it"
            ) from None
        for leftover in folder.glob(f".{CHECKPOINT}.*.tmp"):
            leftover.unlink(missing_ok=True)
        yield
    finally:
        os.close(handle)
