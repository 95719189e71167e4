"""A fingerprint of the code that trains, so that a policy can be traced to what made it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import tacan

PARTS = (
    "networks",
    "training",
    "simulator",
    "observation.py",
    "policies/assignment.py",
    "policies/contexts.py",
)
"""what decides the weights that a run ends in, beside its scenario, settings and seed"""


def digest_of(root: Path) -> str:
    """SHA-256 over the names and contents of the parts below a folder, in a fixed order."""
    digest = hashlib.sha256()
    for part in PARTS:
        place = root / part
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        for file in files:
            content = file.read_bytes()
            digest.update(f"{file.relative_to(root).as_posix()} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()


@cache
def code_digest() -> str:
    """The fingerprint of this installation."""
    return digest_of(Path(tacan.__file__).parent)
