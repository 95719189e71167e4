"""Files that are either whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from tacan.destinations import real_file
from tacan.errors import UserError


def check_writable(path: Path, option: str) -> None:
    """Refuse a file that could not be written, before the work whose result it is to hold."""
    folder = path.parent
    if folder.is_dir():  # else the sentence shows the folder as it was named
        folder = real_file(path, option).parent
    if not folder.is_dir():
        raise UserError(f"{option} {path}: the folder {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise UserError(f"{option} {path}: the folder {folder} cannot be written to")


def check_folder(path: Path, option: str) -> None:
    """Refuse a folder that could not be made or written to."""
    existing = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not existing.is_dir():
        raise UserError(f"{option} {path}: {existing} is a file, not a folder")
    if not os.access(existing, os.W_OK):
        raise UserError(f"{option} {path}: the folder {existing} cannot be written to")


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Write each file under a temporary name first; none gets its name before all are whole."""
    temporary: dict[Path, Path] = {}
    try:
        for name, content in contents.items():
            path = real_file(name, "cannot write")
            path.parent.mkdir(parents=True, exist_ok=True)
            hidden = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            temporary[hidden] = path
            hidden.write_bytes(content)
        for hidden, path in temporary.items():
            hidden.replace(path)
    except OSError as error:
        raise UserError(f"cannot write {error.filename}: {error.strerror}") from error
    finally:
        for hidden in temporary:
            hidden.unlink(missing_ok=True)


def remove_files(paths: Iterable[Path]) -> None:
    """Remove files; what is not there, or is no file, is left."""
    try:
        for path in paths:
            if path.is_file():
                path.unlink()
    except OSError as error:
        raise UserError(f"cannot remove {error.filename}: {error.strerror}") from error
