"""Numba kernels, compiled once and kept on disk until a source that they are made from changes.

Numba by itself trusts a kept kernel while the file that defines it is the same. But the kernel also
holds what it calls and the constants it reads, and those stand in other files: after a change there
the old kernel would silently go on. Ours are therefore kept in a folder named by a digest of all
sources that a kernel can be made from, and every such change starts an empty one:

    CACHE/kernels/DIGEST           CACHE is cache_folder()
    NUMBA_CACHE_DIR/tacan/DIGEST   where the user has chosen a folder for numba

Kernels of other packages stay where numba puts them. Without a folder that can be written to,
kernels are compiled anew in every process: that costs time, never an answer.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any

import numba

from tacan.cache_folder import cache_folder

SOURCES = (
    "kernels.py",
    "scenario.py",
    "observation.py",
    "simulator",
    "policies",
    "evaluation/ledger.py",
    "training/rollout.py",
    "controller/choice.py",
)
"""Where kernels stand, and the constants that are compiled into them."""
SECONDS_KEPT = 7 * 24 * 3600
"""A digest that no process has started with for so long is removed when a new one comes."""

log = logging.getLogger("tacan")
numba_config: Any = numba.config  # untyped
_lock = RLock()


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` whose ``cache=True`` keeps the kernel in a folder of its sources' digest."""

    def compiled(function: Callable[..., Any]) -> Any:
        folder = _kernel_folder()
        if folder is None:
            return numba.njit(**{**options, "cache": False})(function)
        with _numba_keeps_in(folder):
            return numba.njit(**options)(function)

    return compiled


@contextmanager
def _numba_keeps_in(folder: Path) -> Iterator[None]:
    """Numba asks for its folder while it decorates, and only then."""
    with _lock:
        before = numba_config.CACHE_DIR
        numba_config.CACHE_DIR = str(folder)
        try:
            yield
        finally:
            numba_config.CACHE_DIR = before


@cache
def _kernel_folder() -> Path | None:
    """The folder of this digest, made if need be; None if it cannot be written to."""
    with _lock:
        chosen = numba_config.CACHE_DIR
    parent = Path(chosen).absolute() / "tacan" if chosen else cache_folder() / "kernels"
    folder = parent / sources_digest(Path(__file__).parent)
    try:
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)  # in use: not to be removed
    except OSError as error:
        log.warning(
            "numba's kernels cannot be kept in %s (%s), so every process compiles them anew; "
            "set NUMBA_CACHE_DIR to a folder that can be written to",
            folder,
            error.strerror,
        )
        return None
    if is_new:
        _remove_old(parent)
    return folder


def sources_digest(package: Path) -> str:
    """A digest of everything that kernels are made from, numba included."""
    found = hashlib.sha256(numba.__version__.encode())
    for name in SOURCES:
        place = package / name
        for path in sorted(place.glob("*.py")) if place.is_dir() else (place,):
            found.update(b"\0%s\0" % path.name.encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def _remove_old(parent: Path) -> None:
    for folder in parent.iterdir():
        with suppress(OSError):  # another process may be removing it as well
            if time.time() - folder.stat().st_mtime > SECONDS_KEPT:
                shutil.rmtree(folder)
