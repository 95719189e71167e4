"""Evaluations on disk: Parquet, one row for every (policy, order, scenario, load, seed).

A row says all that is needed to make it again: the command, the package's version, the whole
scenario and which policy it was. Every row carries a fingerprint of its own content, so that a
number that was altered or damaged later is refused and never shown.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import tacan
from tacan.errors import UserError
from tacan.evaluation.metrics import metric_names
from tacan.evaluation.results import Result
from tacan.scenario import Scenario, scenario_toml, validate_scenario

FORMAT = 1
FINGERPRINT = "fingerprint"
COLUMNS: Mapping[str, type[pl.DataType]] = {
    "format": pl.Int64,
    "policy": pl.String,
    "order": pl.String,
    "scenario": pl.String,
    "scenario_digest": pl.String,
    "scenario_toml": pl.String,
    "load": pl.String,
    "perturbation": pl.String,
    "seed": pl.Int64,
    "steps": pl.Int64,
    "training_seed": pl.Int64,
    "policy_hash": pl.String,
    "version": pl.String,
    "command": pl.String,
    FINGERPRINT: pl.String,
}
"""Every column but the metrics, which are Float64. perturbation, training_seed, policy_hash and
metrics without data are null."""


def _fingerprint(row: Mapping[str, Any]) -> str:
    """A hash of all values that are there; null columns may come and go as files are joined."""
    content = {key: row[key] for key in sorted(row) if row[key] is not None and key != FINGERPRINT}
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def rows_of(result: Result, command: str) -> list[dict[str, Any]]:
    """The rows of one result, a seed each."""
    toml = scenario_toml(result.scenario)
    rows = []
    for found in result.seeds:
        row: dict[str, Any] = {
            "format": FORMAT,
            "policy": result.policy,
            "order": result.order,
            "scenario": result.scenario.name,
            "scenario_digest": result.scenario.digest(),
            "scenario_toml": toml,
            "load": result.load,
            "perturbation": result.perturbation,
            "seed": found.seed,
            "steps": result.steps,
            "training_seed": found.training_seed,
            "policy_hash": found.policy_hash,
            "version": tacan.__version__,
            "command": command,
            **found.metrics,
        }
        rows.append({**row, FINGERPRINT: _fingerprint(row)})
    return rows


def frame_of(result: Result, command: str) -> pl.DataFrame:
    """The rows of one result as a table."""
    metrics = dict.fromkeys(metric_names(result.scenario.users), pl.Float64)
    return pl.DataFrame(rows_of(result, command), schema={**COLUMNS, **metrics})


def record_name(result: Result) -> str:
    """The file of a result. The same policy, order, scenario, load and perturbation evaluated
    again takes the same name, and so replaces what was found before.
    """
    parts = (result.policy, result.order, result.scenario.name, result.load)
    perturbation = () if result.perturbation is None else (result.perturbation,)
    key = json.dumps([*parts, result.scenario.digest(), *perturbation])
    readable = "_".join(
        re.sub(r"[^A-Za-z0-9.-]+", "-", Path(part).name) for part in (*parts, *perturbation)
    )
    return f"{readable}_{hashlib.sha256(key.encode()).hexdigest()[:8]}.parquet"


def encode_records(results: Sequence[Result], folder: Path, command: str) -> dict[Path, bytes]:
    """The files of these results, ready to be written by ``files.write_files``."""
    contents = {}
    for result in results:
        buffer = io.BytesIO()
        frame_of(result, command).write_parquet(buffer)
        contents[folder / record_name(result)] = buffer.getvalue()
    return contents


def read_records(path: Path) -> pl.DataFrame:
    """The records of a file, or of all ``.parquet`` files in a folder, checked."""
    if not path.exists():
        raise UserError(f"records {path}: there is no such file or folder")
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise UserError(f"records {path}: the folder holds no .parquet files")
    return pl.concat([_read_file(file) for file in files], how="diagonal")


def recorded_scenario(toml: str, path: Path) -> Scenario:
    """The scenario in a row's ``scenario_toml``."""
    try:
        content = tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"records {path}: the scenario is not valid TOML: {error}") from None
    return validate_scenario(content, f"records {path}: scenario")


def _read_file(path: Path) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(io.BytesIO(path.read_bytes()))
    except OSError as error:
        raise UserError(f"records {path}: cannot be read: {error.strerror}") from error
    except Exception as error:
        # whatever a damaged file makes the decoder raise (it has no common class), it means this
        raise UserError(f"records {path}: damaged, or no Parquet file") from error
    _check_columns(path, frame)
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        if _fingerprint(row) != row[FINGERPRINT]:
            raise UserError(
                f"records {path}: row {number} was altered after it was written; evaluate again"
            )
    return frame


def _check_columns(path: Path, frame: pl.DataFrame) -> None:
    """Refuse a table that ``frame_of`` did not make."""
    foreign = f"records {path}: not written by 'tacan evaluate' of this version"
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise UserError(f"{foreign}: column {missing[0]!r} is missing")
    if frame.is_empty():
        raise UserError(f"{foreign}: it has no rows")
    if set(frame["format"]) != {FORMAT}:
        raise UserError(f"{foreign}: its format is {frame['format'][0]}, not {FORMAT}")
    scenario = recorded_scenario(str(frame["scenario_toml"][0]), path)
    expected = {**COLUMNS, **dict.fromkeys(metric_names(scenario.users), pl.Float64)}
    for name, kind in expected.items():
        if frame.schema.get(name) != kind:
            raise UserError(f"{foreign}: column {name!r} is missing or not of type {kind}")
    unknown = [name for name in frame.columns if name not in expected]
    if unknown:
        raise UserError(f"{foreign}: column {unknown[0]!r} is not known")
