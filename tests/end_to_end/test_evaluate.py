"""``tacan evaluate`` from its arguments to its files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tacan.cli import app
from tacan.cli.threads import worker_threads
from tacan.errors import UserError
from tacan.evaluation import replay
from tacan.evaluation.metrics import metric_names
from tacan.evaluation.records import read_records
from tacan.scenario import load_scenario

QUICK = ["--scenario", "tiny", "--steps", "200", "--seeds", "2"]
PAPER = ["--seeds", "5", "--steps", "10000"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["evaluate", *arguments])


def test_json_holds_every_metric_of_every_run(tmp_path: Path) -> None:
    """Policies in their order; for each all orders and loads; exactly the documented keys."""
    file = tmp_path / "out.json"
    shown = run("greedy", "random", "--load", "all", "--order", "all", *QUICK, "--json", str(file))
    assert shown.exit_code == 0, shown.output
    content = json.loads(file.read_text())
    keys = [(one["policy"], one["order"], one["load"]) for one in content]
    assert len(set(keys)) == len(keys) == 2 * 3 * 4
    assert [key[0] for key in keys] == ["greedy"] * 12 + ["random"] * 12
    for one in content:
        assert " ".join(one) == "policy order scenario scenario_digest load seeds steps metrics"
        assert one["scenario_digest"] == load_scenario("tiny").digest()
        assert (one["scenario"], one["seeds"], one["steps"]) == ("tiny", [42, 123], 200)
        assert tuple(one["metrics"]) == metric_names(2)
        for summary in one["metrics"].values():
            assert set(summary) == {"mean", "std", "per_seed"}
            assert len(summary["per_seed"]) == 2
    access = content[0]["metrics"]["packet_access"]
    first, second = access["per_seed"]
    assert access["mean"] == pytest.approx((first + second) / 2)
    assert access["std"] == pytest.approx(abs(first - second) / 2**0.5)
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_records_hold_what_json_holds(tmp_path: Path) -> None:
    """One row for each seed, with the same numbers."""
    out = tmp_path / "records"
    assert run("genie", "--load", "all", *QUICK, "--out", str(out)).exit_code == 0
    shown = run("genie", "--load", "all", *QUICK, "--json", "-")
    frame = read_records(out)
    assert frame.height == 4 * 2
    for one in json.loads(shown.stdout):
        rows = frame.filter(load=one["load"])
        found = dict(zip(rows["seed"], rows["packet_access"], strict=True))
        assert [found[seed] for seed in one["seeds"]] == one["metrics"]["packet_access"]["per_seed"]


def test_the_table_shows_means_with_deviations() -> None:
    """What is common stands in the title, what differs in columns; nothing but the table."""
    shown = run("greedy", "--load", "all", *QUICK)
    assert shown.exit_code == 0
    assert "scenario tiny, order fixed, 2 seeds of 200 slots" in shown.stdout
    rows = [line for line in shown.stdout.splitlines() if "greedy" in line]
    assert [row.split()[1] for row in rows] == ["mixed", "normal", "high", "extreme"]
    assert all("±" in row for row in rows)
    assert shown.stderr == ""


def test_json_on_standard_output_stands_alone() -> None:
    """Another program reads it: the table goes to standard error."""
    shown = run("greedy", "greedy", *QUICK, "--json", "-")
    assert len(json.loads(shown.stdout)) == 1
    assert "greedy" in shown.stderr


def test_a_perturbation_is_named_in_what_it_changes(tmp_path: Path) -> None:
    """Greedy does not look at entropy: the same numbers, but under the perturbation's name."""
    plain = json.loads(run("greedy", *QUICK, "--json", "-").stdout)
    out = ("--json", "-", "--out", str(tmp_path))
    blind = json.loads(run("greedy", *QUICK, "--perturb", "zero-entropy", *out).stdout)
    assert blind[0].pop("perturbation") == "zero-entropy"
    assert blind == plain
    assert set(read_records(tmp_path)["perturbation"]) == {"zero-entropy"}


def test_the_papers_greedy_is_reproduced() -> None:
    """Table packet_main, mixed load: assignment 91.60 %, delivered 30.11 %, delay 1.208 slots."""
    (found,) = json.loads(run("greedy", *PAPER, "--json", "-").stdout)
    metrics = {name: summary["mean"] for name, summary in found["metrics"].items()}
    assert found["seeds"] == [42, 123, 7, 2024, 314]
    assert metrics["assignment_success"] == pytest.approx(0.9160, abs=0.006)
    assert metrics["delivery_per_slot"] == pytest.approx(0.3011, abs=0.004)
    assert metrics["delay_mean"] == pytest.approx(1.208, abs=0.05)
    assert metrics["delay_p95"] == 2.0
    assert metrics["access_gap"] > 3 * metrics["access_gap_floor"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "evaluate needs a policy"),
        (["gredy"], "policy 'gredy' is not known: did you mean greedy"),
        (["greedy", "--seeds", "0"], "seeds = 0: must lie between"),
        (["greedy", "--steps", "0"], "steps = 0: must lie between"),
        (["greedy", "--threads", "0"], "threads = 0: must be at least 1"),
        (
            ["greedy", "--load", "low"],
            "load 'low' is not in scenario 'tiny': choose mixed, all or one",
        ),
        (["greedy", "--order", "none"], "order 'none' is not known"),
        (["greedy", "--perturb", "fog"], "perturbation 'fog' is not known"),
        (["greedy", "--scenario", "nowhere"], "scenario 'nowhere': neither a file nor one of"),
        (["greedy", "--json", "none/a.json"], "--json none/a.json: the folder none does not"),
    ],
)
def test_bad_values_are_one_sentence_and_write_nothing(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wrong, its value, and what would be right; before anything is played."""
    monkeypatch.chdir(tmp_path)
    scenario = [] if "--scenario" in arguments else ["--scenario", "tiny"]
    shown = run(*arguments, *scenario, "--out", "records")
    assert isinstance(shown.exception, UserError)
    assert sentence in str(shown.exception)
    assert list(tmp_path.iterdir()) == []


def test_more_threads_than_processors_are_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slip of the finger is no hang; two processors run two threads, and one asked for is one."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert [worker_threads(asked) for asked in (None, 1, 2, 100_000_000)] == [2, 1, 2, 2]
    shown = run("greedy", *QUICK, "--threads", "100000000", "--json", "-")
    assert shown.stdout == run("greedy", *QUICK, "--json", "-").stdout


def test_an_interrupted_run_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the last load: no half records, no half JSON."""
    played: list[str] = []

    def interrupted(*arguments: object, **options: object) -> list[object]:
        played.append(str(arguments[3]))
        if len(played) == 4:
            raise KeyboardInterrupt
        return whole(*arguments, **options)

    whole = replay.replay
    monkeypatch.setattr(replay, "replay", interrupted)
    out, file = tmp_path / "records", tmp_path / "out.json"
    shown = run("greedy", "--load", "all", *QUICK, "--out", str(out), "--json", str(file))
    assert shown.exit_code != 0
    assert played == ["mixed", "normal", "high", "extreme"]
    assert list(tmp_path.iterdir()) == []


def test_every_metric_is_explained_on_request() -> None:
    """``--metrics`` needs no policy and plays nothing."""
    shown = run("--metrics")
    assert shown.exit_code == 0
    assert "delivered packets per SU-slot" in shown.stdout


def test_the_installed_command_says_one_sentence_and_exits_with_two() -> None:
    """A real process: no traceback, nothing on standard output."""
    command = [sys.executable, "-c", "from tacan.cli import main; main()", "evaluate", "gredy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: policy 'gredy' is not known")
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
