"""``tacan train`` and ``tacan export`` as a user runs them: processes, signals, files, refusals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


@contextmanager
def background(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A training command that has written two more checkpoints and goes on."""
    place = folder / arguments[-1] / CHECKPOINT
    begun = load_checkpoint(place).iteration if place.exists() else 0
    with subprocess.Popen(
        command(*arguments),
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as going:
        try:
            deadline = time.monotonic() + 120
            while not place.exists() or load_checkpoint(place).iteration < begun + 2:
                assert going.poll() is None, going.communicate()[1]
                assert time.monotonic() < deadline
                time.sleep(0.1)
            yield going
        finally:
            going.kill()


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_a_run_that_can_be_resumed(tmp_path: Path, kind: signal.Signals) -> None:
    """SIGTERM and Ctrl-C end it in one sentence; resuming goes on from its last checkpoint."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    (tmp_path / "settings.toml").write_text(LONG)
    fresh = ["train", "mlp", *TINY, "--settings", "settings.toml", "--out", "run"]
    with background(tmp_path, *fresh) as going:
        going.send_signal(kind)
        _, said = going.communicate(timeout=60)
    assert going.returncode == 2, said
    assert "Traceback" not in said
    assert "go on with: tacan train --resume run" in said.splitlines()[-1]
    assert "finish it with" in refused(run(tmp_path, "export", "run", "--out", "mlp.onnx"))
    done = run(tmp_path, "export", "run", "--out", "mlp.onnx", "--unfinished")
    assert done.returncode == 0, done.stderr
    with background(tmp_path, "train", "--resume", "run") as going:
        assert going.poll() is None


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


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["dqn", "--out", "run"], "method 'dqn': must be one of tacan, mlp, mlp-matched"),
        (["--out", "file"], "file: cannot be used as the folder of a run (File exists)"),
        (["--out", "file/run"], "file/run: cannot be used as the folder of a run (Not a dir"),
        (["--out", "/proc/none"], "/proc/none: cannot be used as the folder of a run ("),
        (["--resume", "none"], "none: cannot be used as the folder of a run (No such file"),
        (["--settings", "many.toml", "--out", "run"], "rollout_episodes = 1000000000"),
        (["--threads", "100000", "--out", "run"], "threads = 100000"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    """One sentence says what is wrong, and no folder is left behind."""
    (tmp_path / "file").touch()
    (tmp_path / "many.toml").write_text("rollout_episodes = 1000000000\n")
    assert complaint in refused(run(tmp_path, "train", *arguments))
    assert not (tmp_path / "run").exists()


def test_a_seed_that_no_generator_takes_is_refused(tmp_path: Path) -> None:
    """2**64 is one too many."""
    done = run(tmp_path, "train", "mlp", *TINY, "--seed", str(2**64))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "--seed" in done.stderr


def test_the_largest_seed_is_taken(tmp_path: Path) -> None:
    """2**64 - 1 seeds weights, episodes and shuffles."""
    (tmp_path / "settings.toml").write_text(SETTINGS)
    last = ["--seed", str(2**64 - 1), "--out", "run"]
    done = run(tmp_path, "train", "mlp", *TINY, "--settings", "settings.toml", *last)
    assert done.returncode == 0, done.stderr


def test_a_policy_file_that_cannot_be_written_is_refused(trained: Path) -> None:
    """The sentence names the file."""
    done = run(trained, "export", "runs/mlp-tiny-42", "--out", "/proc/none/a.onnx")
    assert "/proc/none/a.onnx: cannot be written (" in refused(done)


def test_progress_is_told_where_no_terminal_is(tmp_path: Path) -> None:
    """Ten lines on the way to a file or a pipe, and a closing table with the slots of the run."""
    (tmp_path / "settings.toml").write_text(SETTINGS.replace("240", "720"))
    done = run(tmp_path, "train", "mlp", *TINY, "--settings", "settings.toml", "--out", "run")
    told = [line for line in done.stderr.splitlines() if "rollouts" in line]
    assert len(told) == 10
    assert told[0].startswith("mlp seed 42: 2/20 rollouts  cloning  access ")
    assert told[-1].startswith("mlp seed 42: 20/20 rollouts  ppo  access ")
    assert "mlp seed 42, 800 slots" in done.stdout


def test_the_command_does_not_run_what_lies_about(tmp_path: Path) -> None:
    """Started anew with its memory settings, it imports nothing from the current folder."""
    (tmp_path / "queue.py").write_text("raise SystemExit('ran the queue.py that lay there')\n")
    (tmp_path / "settings.toml").write_text(SETTINGS)
    script = Path(sys.executable).parent / "tacan"
    arguments = ["train", "mlp", *TINY, "--settings", "settings.toml", "--out", "run"]
    done = subprocess.run(
        [script, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_two_commands_do_not_write_to_one_run(tmp_path: Path) -> None:
    """While a run goes on, starting and resuming in its folder are refused; it goes on unharmed."""
    (tmp_path / "settings.toml").write_text(LONG)
    fresh = ["train", "mlp", *TINY, "--settings", "settings.toml", "--out", "run"]
    with background(tmp_path, *fresh) as going:
        for arguments in (["train", "--resume", "run"], fresh):
            done = run(tmp_path, *arguments)
            assert "run: another 'tacan train' is writing to this run" in refused(done)
        assert going.poll() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small disk")
def test_a_full_disk_leaves_a_run_that_can_be_resumed(tmp_path: Path) -> None:
    """Whatever is written first when the disk is full, one sentence says so; nothing is lost."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", disk], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        (tmp_path / "settings.toml").write_text(LONG)
        fresh = ["train", "mlp", *TINY, "--settings", "settings.toml", "--out", "disk/run"]
        with background(tmp_path, *fresh) as going:
            with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
                while True:
                    filler.write(bytes(4096))
            _, said = going.communicate(timeout=120)
        assert going.returncode == 2, said
        assert "Traceback" not in said
        assert "cannot be written (No space left on device)" in said.splitlines()[-1]
        (disk / "filler").unlink()
        assert load_checkpoint(disk / "run" / CHECKPOINT).iteration >= 2
        with background(tmp_path, "train", "--resume", "disk/run") as going:
            assert going.poll() is None
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
