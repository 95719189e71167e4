"""Records of experiments on disk: a Parquet file of rows, and beside it what made them.

    STAGE.parquet   the rows
    STAGE.json      the inputs and their digest, the command, version, time, and the rows' SHA-256

Both are written whole before either gets its name. Reading checks everything that can be checked:
records that are missing, cut short, altered or of another shape are refused with a sentence, and
never become a number.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tacan.errors import UserError
from tacan.evaluation.files import write_files

FORMAT = 1


class RecordsError(UserError):
    """Records that cannot be used: missing, damaged, or not what was asked for."""


@dataclass(frozen=True)
class Manifest:
    """What made a stage's rows."""

    stage: str
    inputs: Mapping[str, Any]
    """everything that the rows depend on"""
    command: str
    version: str
    made: str
    """when, UTC, ISO 8601"""
    seconds: float
    unavailable: tuple[str, ...]
    """one sentence on each thing that was asked for and could not be run"""
    rows: int = 0
    sha256: str = ""
    digest: str = ""
    """of the inputs"""
    format: int = FORMAT


def inputs_digest(inputs: Mapping[str, Any]) -> str:
    """A hash of everything that rows depend on."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]


def save_records(folder: Path, frame: pl.DataFrame, manifest: Manifest) -> Manifest:
    """Write a stage's rows and then its manifest, which comes back completed."""
    rows_path = folder / f"{manifest.stage}.parquet"
    out = io.BytesIO()
    frame.write_parquet(out)
    buffer = out.getvalue()
    content = asdict(manifest) | {
        "rows": frame.height,
        "sha256": hashlib.sha256(buffer).hexdigest(),
        "digest": inputs_digest(manifest.inputs),
    }
    text = json.dumps(content, indent=2, sort_keys=True) + "\n"
    write_files({rows_path: buffer, folder / f"{manifest.stage}.json": text.encode()})
    return _manifest(content)


def _manifest(content: Mapping[str, Any]) -> Manifest:
    return Manifest(**(dict(content) | {"unavailable": tuple(content["unavailable"])}))


def read_manifest(folder: Path, stage: str) -> Manifest:
    """A stage's manifest."""
    path = folder / f"{stage}.json"
    if not path.is_file():
        raise RecordsError(f"stage {stage!r} has no records in {folder}: run it first")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        manifest = _manifest(content)
    except (OSError, ValueError, TypeError, KeyError):
        raise RecordsError(
            f"records of stage {stage!r}: {path.name} is damaged; run the stage again with --fresh"
        ) from None
    if manifest.format != FORMAT or manifest.stage != stage:
        raise RecordsError(
            f"records of stage {stage!r}: {path.name} is of stage {manifest.stage!r}, "
            f"format {manifest.format}, not format {FORMAT}; run the stage again with --fresh"
        )
    return manifest


def load_records(folder: Path, stage: str) -> tuple[pl.DataFrame, Manifest]:
    """A stage's rows and manifest, checked to be what was written."""
    manifest = read_manifest(folder, stage)
    path = folder / f"{stage}.parquet"
    again = "run the stage again with --fresh"
    try:
        content = path.read_bytes()
    except OSError:
        raise RecordsError(f"records of stage {stage!r}: {path.name} is missing; {again}") from None
    if hashlib.sha256(content).hexdigest() != manifest.sha256:
        raise RecordsError(
            f"records of stage {stage!r}: {path.name} is not what was written "
            f"(altered or cut short); {again}"
        )
    if inputs_digest(manifest.inputs) != manifest.digest:
        raise RecordsError(f"records of stage {stage!r}: its inputs were altered; {again}")
    frame = pl.read_parquet(io.BytesIO(content))
    if frame.height != manifest.rows:
        raise RecordsError(
            f"records of stage {stage!r}: {frame.height} rows instead of {manifest.rows}; {again}"
        )
    return frame, manifest
