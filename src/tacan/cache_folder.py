"""Where the package keeps what takes a while to make: $TACAN_CACHE, or the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder; whether it can be made and written to is for its users to find out."""
    chosen = os.environ.get("TACAN_CACHE")
    if chosen:
        return Path(chosen)
    shared = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(shared) if shared else Path.home() / ".cache") / "tacan"
    except RuntimeError:  # nobody's home is known (a container): a folder that cannot be made
        return Path(os.devnull) / "tacan"
