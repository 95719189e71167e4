"""Ten runs killed with SIGKILL at random moments and resumed: python benchmarks/kill_and_resume.py

Each must end in the weights of the run that was left alone, bit for bit.
"""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tacan.training.checkpoint import load_checkpoint
from tacan.training.run import CHECKPOINT

KILLS = 10
SETTINGS = """
steps = 6000
cloning_steps = 800
rollout_episodes = 10
minibatch_slots = 50
"""


def weights_digest(folder: Path) -> str:
    """SHA-256 over all final weights."""
    digest = hashlib.sha256()
    for name, tensor in sorted(load_checkpoint(folder / CHECKPOINT).network.items()):
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


def train(*arguments: str, kill_after: float | None = None) -> bool:
    """Run the command; True if it was killed before it ended."""
    command = [sys.executable, "-m", "tacan", "train", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(timeout=kill_after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True
    if process.returncode:
        raise SystemExit(f"training failed: {' '.join(command)}")
    return False


def main() -> None:
    """Train once undisturbed, then ten times with a kill, and compare."""
    draws = random.Random(7)  # noqa: S311 - moments to kill at, not secrets
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = folder / "settings.toml"
        settings.write_text(SETTINGS)
        fresh = ["tacan", "--scenario", "tiny", "--settings", str(settings), "--out"]
        train(*fresh, str(folder / "whole"))  # compiles and caches the kernels
        start = time.perf_counter()
        train(*fresh, str(folder / "again"))
        length = time.perf_counter() - start
        expected = weights_digest(folder / "whole")
        digests = {weights_digest(folder / "again")}
        print(f"undisturbed: {length:.1f} s, weights {expected[:16]}")
        kills = 0
        for number in range(KILLS):
            run = folder / f"killed-{number}"
            moment = length * draws.uniform(0.3, 0.95)
            kills += train(*fresh, str(run), kill_after=moment)
            done = "before its first checkpoint"
            if (run / CHECKPOINT).exists():
                done = f"with {load_checkpoint(run / CHECKPOINT).iteration} rollouts done"
                train("--resume", str(run))
            else:
                train(*fresh, str(run))
            digests.add(weights_digest(run))
            print(f"killed after {moment:4.1f} s {done}: {weights_digest(run)[:16]}", flush=True)
        same = digests == {expected}
        print(f"{kills} kills, {len(digests)} different final weights")
        raise SystemExit(0 if same and kills == KILLS else "the weights differ, or a kill missed")


if __name__ == "__main__":
    main()
