"""``tacan compare`` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacan.cli import app
from tacan.errors import UserError

SHORT = ["--seeds", "3", "--steps", "400", "--threads", "1"]


def compare(out: Path, *arguments: str) -> str:
    """Run the command and return what it printed."""
    result = CliRunner().invoke(app, ["compare", *SHORT, "--out", str(out), *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_two_policies_come_out_paired(tmp_path: Path) -> None:
    """Values, paired statistics in words, and the same kind of report."""
    printed = compare(tmp_path, "greedy", "random", "--load", "extreme")
    assert "clearly better" in printed
    assert "3 of 3 seeds won" in printed
    page = (tmp_path / "report.html").read_text()
    assert "greedy against random" in page
    for name in ("values_fixed_extreme", "paired_fixed_extreme"):
        assert (tmp_path / "tables" / f"{name}.tex").exists()
    assert (tmp_path / "figures" / "gains_fixed_extreme.svg").exists()


def test_a_policy_of_ones_own_is_compared(tmp_path: Path) -> None:
    """A Python callable by module:factory, which always prefers the same channels."""
    printed = compare(tmp_path, "greedy", "fakes:first_channels")
    assert "greedy against fakes:first_channels" in printed
    assert "clearly better" in printed


def test_a_policy_is_not_compared_with_itself(tmp_path: Path) -> None:
    """Two names of the same are one."""
    with pytest.raises(UserError, match="two different policies or more, not greedy"):
        compare(tmp_path, "greedy", "greedy")


def test_an_unknown_policy_is_refused_before_anything_runs(tmp_path: Path) -> None:
    """What a user names is never left out silently."""
    with pytest.raises(UserError, match="policy 'gredy' is not known: did you mean"):
        compare(tmp_path, "greedy", "gredy")
    assert not (tmp_path / "report.html").exists()


def test_one_seed_is_no_comparison(tmp_path: Path) -> None:
    """A paired comparison needs a spread."""
    with pytest.raises(UserError, match="seeds = 1: a paired comparison needs two or more"):
        compare(tmp_path, "greedy", "random", "--seeds", "1")
