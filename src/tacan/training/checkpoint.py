"""Checkpoints that are whole or not there, and that say what is wrong with a damaged one.

A file is one line of magic, the SHA-256 of what follows, and torch's own serialisation, read back
with ``weights_only``: no code is ever loaded. It is written beside its place, synced and renamed,
so a run killed at any moment leaves the last complete one.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from tacan.destinations import real_file
from tacan.errors import UserError

MAGIC = b"tacan checkpoint 1\n"
DIGEST_LENGTH = 64


@dataclass(frozen=True)
class Checkpoint:
    """All that a run is between two rollouts."""

    method: str
    seed: int
    scenario: dict[str, Any]
    settings: dict[str, Any]
    iteration: int
    """rollouts learned from, cloning included; every random stream follows from it"""
    network: dict[str, torch.Tensor]
    optimizer: dict[str, Any]
    curve: list[dict[str, float]]
    """one row an iteration"""
    seconds: dict[str, float]
    """wall-clock so far by part: rollout, learning, world"""
    changes: list[dict[str, Any]] = field(default_factory=list)
    """what was changed when resuming: the iteration from which on, and the new values"""
    code: str = ""
    """fingerprint of the code that trained it; older files carry none"""


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole: to a neighbour, synced, then renamed over the old one."""
    path = real_file(path, "cannot write")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        reason = error.strerror
        raise UserError(f"{path}: cannot be written ({reason}); what was there is kept") from None
    finally:
        with suppress(OSError):  # it was renamed, or never made
            temporary.unlink()


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the file system can be asked to."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, atomically."""
    buffer = io.BytesIO()
    torch.save(vars(checkpoint), buffer)
    payload = buffer.getvalue()
    replace_file(path, MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload)


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint back, or say in a sentence why it is none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"checkpoint {path}: cannot be read ({error.strerror})") from None
    if not content.startswith(MAGIC):
        raise UserError(f"checkpoint {path}: not a TACAN checkpoint of this format")
    start = len(MAGIC) + DIGEST_LENGTH + 1
    digest, payload = content[len(MAGIC) : start - 1], content[start:]
    if hashlib.sha256(payload).hexdigest().encode() != digest:
        raise UserError(f"checkpoint {path}: damaged or cut short: its checksum does not match")
    try:
        # a run of a GPU can be read where there is none
        return Checkpoint(**torch.load(io.BytesIO(payload), map_location="cpu", weights_only=True))
    except (TypeError, RuntimeError, pickle.UnpicklingError):
        raise UserError(
            f"checkpoint {path}: written by another version of TACAN, which this one cannot read"
        ) from None
