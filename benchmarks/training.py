"""The fast training path against the plain one, interleaved: python benchmarks/training.py

Plain is the paper's training as one would first write it: stock eager fp32, every user's context
run by itself, the allocator as it comes. Fast is what `tacan train` does: equal contexts of a slot
run once, bfloat16 where the processor has it, and the allocator told to keep its memory. Each
measurement is a process of its own; both play and learn from one rollout of the command's own
settings (one thread, too), by a policy as cloning leaves it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 3
EPISODES = 20
PAPER_SLOTS = 500_000


def measure(path: str, threads: int | None) -> dict[str, float]:
    """Seconds of one rollout and of learning from it, by this path (in this process)."""
    import numpy as np
    import torch

    from tacan.scenario import load_scenario
    from tacan.simulator.streams import Domain, EpisodeKeys
    from tacan.simulator.world import WorldGenerator
    from tacan.training.learner import Learner
    from tacan.training.rollout import play
    from tacan.training.settings import load_settings

    changes = {} if threads is None else {"threads": threads}
    plain = {"precision": "fp32", "distinct_contexts": False}
    settings = load_settings(changes=changes | (plain if path == "plain" else {}))
    torch.set_num_threads(settings.threads)
    scenario = load_scenario("paper")
    learner = Learner("tacan", scenario, settings, 1)
    # near Greedy, as cloning leaves it: a policy that plays badly has more distinct contexts
    learner.network.get_parameter("greedy_prior").data.fill_(5.0)
    generator = WorldGenerator(scenario)
    seconds = {"world": 0.0, "rollout": 0.0, "learning": 0.0}
    for warm_up in (True, False):
        episodes = np.arange(1 if warm_up else EPISODES)
        keys = EpisodeKeys.of(Domain.TRAINING, 1, episodes)
        start = time.perf_counter()
        world = generator.draw(keys)
        drawn = time.perf_counter()
        rollout = play(world, learner.judge, explore=True)
        played = time.perf_counter()
        learner.improve(rollout, (0,), 0.5, 0.01)
        learned = time.perf_counter()
        if not warm_up:
            parts = (drawn - start, played - drawn, learned - played)
            seconds = dict(zip(seconds, parts, strict=True))
    return seconds


def run_child(path: str, threads: int | None) -> dict[str, float]:
    """Measure in a fresh process, with the allocator settings of that path."""
    from tacan.cli.train import ENVIRONMENT

    environment = {**os.environ, **(ENVIRONMENT if path == "fast" else {})}
    command = [sys.executable, __file__, "--child", path]
    command += [] if threads is None else ["--threads", str(threads)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Interleave both paths and print the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", choices=("fast", "plain"))
    parser.add_argument("--threads", type=int, default=None, help="as in `tacan train`")
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measure(arguments.child, arguments.threads)))
        return
    totals: dict[str, list[float]] = {"fast": [], "plain": []}
    for _ in range(ROUNDS):
        for path, taken in totals.items():
            seconds = run_child(path, arguments.threads)
            taken.append(sum(seconds.values()))
            shares = "  ".join(f"{k} {v / taken[-1]:.1%}" for k, v in seconds.items())
            print(f"{path:6} {EPISODES * 200} slots in {taken[-1]:6.2f} s   {shares}", flush=True)
    fast, plain = (statistics.median(taken) for taken in totals.values())
    whole = fast / (EPISODES * 200) * PAPER_SLOTS / 60
    print(f"fast path {plain / fast:.2f} times the speed of the plain path (medians)")
    print(f"{PAPER_SLOTS:,} slots by the fast path at this speed: {whole:.1f} minutes")


if __name__ == "__main__":
    main()
