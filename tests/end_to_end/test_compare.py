"""``tacan compare`` as a user runs it."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacan.cli import app
from tacan.errors import UserError

DOCS = Path(__file__).parents[2] / "docs"
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


def test_the_same_under_two_names_is_called_identical(tmp_path: Path) -> None:
    """Not "not clearly different", which would leave a doubt that there is not."""
    printed = compare(tmp_path, "window-bayes", "window-bayes:8")
    assert "window-bayes against window-bayes:8: Access (pp): identical in every seed" in printed


def test_exact_tests_speak_once_there_are_seeds_enough(tmp_path: Path) -> None:
    """Eight seeds, three differences: 2 / 2^8 after Holm is 0.0234, and the words say so."""
    printed = compare(tmp_path, "greedy", "random", "--seeds", "8")
    assert "8 of 8 seeds won; sign-flip p = 0.0234 after Holm, so the exact test agrees" in printed


def test_privileged_policies_are_marked(tmp_path: Path) -> None:
    """Whoever reads the comparison must know who knew more."""
    printed = compare(tmp_path, "greedy", "oracle-state")
    assert "note: oracle-state is privileged: it knows the load, every device's class" in printed
    assert "oracle-state is privileged" in (tmp_path / "report.html").read_text()


def test_a_metric_without_data_is_a_cell_without_number(tmp_path: Path) -> None:
    """A single cut episode has no floor of the user gap; the other numbers are there."""
    printed = compare(tmp_path, "greedy", "random", "--steps", "50")
    row = next(line for line in printed.splitlines() if line.startswith("  greedy "))
    assert row.endswith(" no data")
    assert row.count("±") == 7


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


def write_examples(folder: Path) -> None:
    """The Python files of the page, as it shows them."""
    text = (DOCS / "your-own-policy.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        name = re.match(r"# (\w+\.py)\n", block)
        assert name is not None
        (folder / name.group(1)).write_text(block, encoding="utf-8")


def run(folder: Path, *command: str) -> str:
    """What a command prints, run where the examples lie."""
    result = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_first_example_of_the_page_works(tmp_path: Path) -> None:
    """docs/your-own-policy.md: forgetful.py beside Greedy, as the page calls it."""
    write_examples(tmp_path)
    printed = run(tmp_path, "-m", "tacan", "compare", "forgetful:policy", "greedy", *SHORT)
    assert "forgetful:policy against greedy" in printed
    assert (tmp_path / "comparison" / "report.html").exists()


def test_the_stable_baselines_example_of_the_page_works(tmp_path: Path) -> None:
    """The same page: PPO is trained (briefly), loaded, frozen in ONNX, and both are compared."""
    pytest.importorskip("stable_baselines3", reason="NOT CHECKED: stable-baselines3 is missing")
    write_examples(tmp_path)
    run(tmp_path, "train_ppo.py", "256")
    run(tmp_path, "-W", "ignore::DeprecationWarning", "freeze_ppo.py")
    names = ("my_ppo.onnx", "my_ppo:policy", "greedy")
    printed = run(tmp_path, "-m", "tacan", "compare", *names, *SHORT)
    assert "my_ppo.onnx against greedy" in printed
    # the file plays what the model plays, but for near-ties of its logits
    twins = r"my_ppo.onnx against my_ppo:policy: Access \(pp\): (identical|not clearly different)"
    assert re.search(twins, printed), printed


def test_the_statistics_page_prints_what_it_says(tmp_path: Path) -> None:
    """docs/statistics.md: its example is run, and its output is the one on the page."""
    text = (DOCS / "statistics.md").read_text(encoding="utf-8")
    pattern = r"```python\n(.*?)```\n\nprints\n\n((?:    [^\n]*\n)+)"
    code, expected = re.findall(pattern, text, re.DOTALL)[0]
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    assert run(tmp_path, "example.py") == textwrap.dedent(expected)
