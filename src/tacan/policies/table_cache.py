"""Tables that take a while to make, kept on disk (cache_folder.py).

A file is only trusted if it can be read whole and its contents are what its name promises; else
its table is made anew. A folder that cannot be written costs time, never an answer.
"""

from __future__ import annotations

import logging
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.cache_folder import cache_folder

Tables = dict[str, npt.NDArray[Any]]
"""Named arrays."""

log = logging.getLogger("tacan")


def load_or_make(
    key: str, make: Callable[[], Tables], complaint: Callable[[Tables], str | None]
) -> Tables:
    """The tables of a key; ``complaint`` says what is wrong with those read from a file, if any."""
    path = cache_folder() / f"{key}.npz"
    try:
        tables = _read(path)
        wrong = complaint(tables)
        if wrong is None:
            return tables
        log.warning("cache file %s is damaged, made anew: %s", path, wrong)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        log.warning("cache file %s cannot be read, made anew: %s", path, error)
    tables = make()
    try:
        _write(path, tables)
    except OSError as error:
        log.warning("cache file %s cannot be written, it will be made again: %s", path, error)
    return tables


def _read(path: Path) -> Tables:
    # an open file, for numpy leaves its own handle open when a damaged one makes it give up
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError("it is not an archive of tables")
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}


def _write(path: Path, tables: Tables) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, allow_pickle=False, **tables)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
