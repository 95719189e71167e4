"""Files whose names a user gave, and that are written beside their place and then renamed."""

from __future__ import annotations

import os
from pathlib import Path

from tacan.errors import UserError


def real_file(path: Path, what: str) -> Path:
    """Where the file that a name stands for is, or will be.

    Links are followed and stay as they are, for a rename would put a file in the link's place; for
    the same reason a device or a pipe is refused.
    """
    try:
        if path.exists() and not path.is_file():
            kind = "a folder" if path.is_dir() else "a device or a pipe"
            raise UserError(f"{what} {path}: is {kind}, not a file")
        return Path(os.path.realpath(path))
    except OSError as error:
        raise UserError(f"{what} {path}: cannot be reached: {error.strerror}") from None
