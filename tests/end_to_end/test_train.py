"""``tacan train`` and ``tacan export`` as a user runs them: processes, signals, files, refusals."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tacan.policies.frozen import load_policy
from tacan.scenario import load_scenario
from tacan.training.checkpoint import load_checkpoint
from tacan.training.run import CHECKPOINT

TINY = ["--scenario", "tiny"]
SETTINGS = "steps = 240\ncloning_steps = 80\nrollout_episodes = 2\nminibatch_slots = 20\n"
LONG = "steps = 1000000\ncloning_steps = 0\nrollout_episodes = 2\nminibatch_slots = 20\n"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tacan", *arguments]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a folder, to its end."""
    return subprocess.run(
        command(*arguments), cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the flat network was trained to its end on the tiny scenario."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "settings.toml").write_text(SETTINGS)
    done = run(folder, "train", "mlp", *TINY, "--settings", "settings.toml")
    assert done.returncode == 0, done.stderr
    assert "freeze it with: tacan export runs/mlp-tiny-42 --out mlp.onnx" in done.stdout
    return folder


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one sentence of a refusal."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert lines[-1].startswith("error: "), done.stderr
    return lines[-1]


def test_a_run_is_trained_frozen_and_evaluated(trained: Path) -> None:
    """Three commands lead from nothing to the figures of a policy of one's own."""
    done = run(trained, "export", "runs/mlp-tiny-42", "--out", "mlp.onnx")
    assert done.returncode == 0, done.stderr
    policy = load_policy(trained / "mlp.onnx", load_scenario("tiny"))
    assert (policy.name, policy.training_seed) == ("mlp", 42)
    quick = [*TINY, "--steps", "200", "--seeds", "2"]
    done = run(trained, "evaluate", "mlp.onnx", "greedy", *quick)
    assert done.returncode == 0, done.stderr
    assert "mlp" in done.stdout


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_a_run_that_can_be_resumed(tmp_path: Path, kind: signal.Signals) -> None:
    """SIGTERM and Ctrl-C end it in one sentence; resuming goes on from its last checkpoint."""
    (tmp_path / "settings.toml").write_text(LONG)
    going = subprocess.Popen(
        command("train", "mlp", *TINY, "--settings", "settings.toml", "--out", "run"),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    checkpoint = tmp_path / "run" / CHECKPOINT
    deadline = time.monotonic() + 120
    while not checkpoint.exists() or load_checkpoint(checkpoint).iteration < 2:
        assert going.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    going.send_signal(kind)
    _, said = going.communicate(timeout=60)
    assert going.returncode == 2, said
    assert "Traceback" not in said
    assert "go on with: tacan train --resume run" in said.splitlines()[-1]
    assert load_checkpoint(checkpoint).iteration >= 2
    assert "finish it with" in refused(run(tmp_path, "export", "run", "--out", "mlp.onnx"))
    done = run(tmp_path, "export", "run", "--out", "mlp.onnx", "--unfinished")
    assert done.returncode == 0, done.stderr


def test_resuming_goes_on_to_the_same_end(trained: Path, tmp_path: Path) -> None:
    """A run that has ended can be resumed: nothing is left to do, and nothing changes."""
    checkpoint = trained / "runs" / "mlp-tiny-42" / CHECKPOINT
    before = checkpoint.read_bytes()
    done = run(trained, "train", "--resume", "runs/mlp-tiny-42")
    assert done.returncode == 0, done.stderr
    assert checkpoint.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["tacan"], "METHOD"),
        (["--scenario", "paper"], "--scenario"),
        (["--seed", "7"], "--seed"),
        (["--preset", "quick"], "--preset"),
        (["--steps", "99"], "--steps"),
        (["--advantages", "gae"], "--advantages"),
        (["--out", "elsewhere", "--seed", "42"], "--seed and --out"),
    ],
)
def test_resuming_ignores_nothing_that_is_said(
    trained: Path, arguments: list[str], named: str
) -> None:
    """What a run is from its start on is refused by name, not passed over."""
    done = run(trained, "train", *arguments, "--resume", "runs/mlp-tiny-42")
    assert f"leave out {named} (" in refused(done)


def test_the_advice_on_divergence_can_be_followed(tmp_path: Path) -> None:
    """A run that diverged goes on from its good checkpoint with the settings that it is told."""
    (tmp_path / "hot.toml").write_text(SETTINGS + "learning_rate = 1e30\nwarm_up = 0.0\n")
    (tmp_path / "cool.toml").write_text("learning_rate = 1e-4\n")
    done = run(tmp_path, "train", "mlp", *TINY, "--settings", "hot.toml", "--out", "run")
    assert "try a lower learning_rate" in refused(done)
    done = run(tmp_path, "train", "--resume", "run", "--settings", "cool.toml", "--threads", "2")
    assert done.returncode == 0, done.stderr
    assert "changed after rollout 0: learning_rate 0.0001, threads 2" in done.stderr
    assert load_checkpoint(tmp_path / "run" / CHECKPOINT).settings["threads"] == 2


def test_the_default_folder_names_the_scenario(trained: Path) -> None:
    """A run of the tiny scenario does not stand in the way of one of the paper's."""
    assert [path.name for path in (trained / "runs").iterdir()] == ["mlp-tiny-42"]
    again = run(trained, "train", "mlp", *TINY, "--preset", "quick")
    assert "runs/mlp-tiny-42: already holds another run (" in refused(again)
