"""``tacan reproduce`` as a user runs it, on few and short seeds."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from tacan.cli import app
from tacan.errors import UserError

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SHORT = ["--seeds", "2", "--steps", "200", "--threads", "1"]


def reproduce(out: Path, *more: str) -> str:
    """Run the command and return what it printed."""
    result = CliRunner().invoke(app, ["reproduce", *SHORT, "--out", str(out), *more])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of the whole command."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "printed.txt").write_text(reproduce(folder))
    return folder


def test_one_command_leaves_records_tables_figures_and_a_page(results: Path) -> None:
    """All of it in one folder, and a closing summary that counts."""
    for name in ("records/main.parquet", "tables/packet_main.tex", "figures/ladder_figure.pdf"):
        assert (results / name).stat().st_size > 0
    assert (results / "report.html").read_text().startswith("<!doctype html>")
    printed = (results / "printed.txt").read_text()
    assert "Of 22 claims" in printed
    assert "reproduced" in printed
    manifest = json.loads((results / "records/main.json").read_text())
    assert manifest["inputs"]["seeds"] == [42, 123]
    assert manifest["inputs"]["steps"] == 200


def test_records_of_the_same_inputs_are_reused(results: Path) -> None:
    """A second run plays nothing; --fresh and other inputs do."""
    again = reproduce(results, "--stage", "main")
    assert "records reused" in again
    assert "records reused" not in reproduce(results, "--stage", "main", "--fresh")
    other = reproduce(results, "--stage", "main", "--steps", "150")
    assert "made from other inputs" in other
    assert "records reused" not in other
    reproduce(results, "--stage", "main")


def test_damaged_records_are_made_anew_and_said(results: Path) -> None:
    """A run finds the damage, says so and does the stage again; the numbers are the old ones."""
    path = results / "records" / "main.parquet"
    before = pl.read_parquet(path)["packet_access"]
    path.write_bytes(path.read_bytes()[:-100])
    printed = reproduce(results, "--stage", "main")
    assert "main.parquet is not what was written" in printed
    assert pl.read_parquet(path)["packet_access"].equals(before)


def test_a_report_over_damaged_records_shows_no_number_and_fails(results: Path) -> None:
    """--stage report runs nothing: what is damaged is said, and the exit code is 1."""
    path = results / "records" / "main.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    result = CliRunner().invoke(
        app, ["reproduce", "--out", str(results), *SHORT, "--stage", "report"]
    )
    path.write_bytes(whole)
    assert result.exit_code == 1
    assert "no numbers: records of stage 'main'" in result.output
    assert "No numbers here." in (results / "report.html").read_text()


def test_an_unknown_stage_is_refused(tmp_path: Path) -> None:
    """The sentence names the stages that there are."""
    with pytest.raises(UserError, match="stage 'mian' is not known: choose from main, ablation"):
        reproduce(tmp_path, "--stage", "mian")


def test_one_seed_is_refused_before_anything_runs(tmp_path: Path) -> None:
    """Its tables are paired by seed: two are the least."""
    with pytest.raises(UserError, match="seeds = 1: a paired comparison needs two or more"):
        reproduce(tmp_path, "--seeds", "1")
    assert list(tmp_path.iterdir()) == []
