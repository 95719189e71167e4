"""A results folder whose records say exactly what the paper says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import papers_records


@pytest.fixture(scope="session")
def papers_frames() -> dict[str, pl.DataFrame]:
    """Every stage's rows as the paper has them."""
    return papers_records.papers_frames()


@pytest.fixture
def papers_folder(tmp_path: Path, papers_frames: dict[str, pl.DataFrame]) -> Path:
    """A folder of whole records that say what the paper says."""
    for stage, frame in papers_frames.items():
        papers_records.save(tmp_path / "records", stage, frame)
    return tmp_path


@pytest.fixture
def save_stage() -> Callable[..., None]:
    """To replace a stage's records."""
    return papers_records.save
