"""How many slots the simulator plays in a second, with entropies, queues and rewards.

    python benchmarks/simulator.py

An environment step is one slot of one episode. Worlds are drawn anew for every batch, and drawing
them is part of the time; channels are random and drawn beforehand. Every figure is the best of some
repetitions. Times are processor times, so that neighbours on the machine matter little; the last
column is by the clock on the wall. With two threads, each plays batches of its own: the kernels let
go of the interpreter.

Then, how much of a first run is compilation: the same small program as a process of its own, once
with an empty folder for numba's cache, once more with what the first one left there.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tacan.scenario import Scenario, load_scenario
from tacan.simulator.simulator import Simulator
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import WorldGenerator

BATCHES = (1, 64, 1024)
STEPS_A_REPETITION = 400_000
FIRST_RUN = """
import numpy as np
from tacan.scenario import load_scenario
from tacan.simulator.simulator import Simulator
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import WorldGenerator
keys = EpisodeKeys.of(Domain.TRAINING, 0, np.arange(2))
Simulator(WorldGenerator(load_scenario("paper")).draw(keys)).step(np.zeros((2, 4), dtype=np.int64))
"""


def play(scenario: Scenario, rows: int, batches: int, domain: Domain) -> tuple[float, float, float]:
    """Seconds of processor time that drawing and playing took, and of both on the wall."""
    generator = WorldGenerator(scenario)
    shape = (scenario.episode_slots, rows, scenario.users)
    channels = np.random.default_rng(0).integers(0, scenario.channels, shape)
    drawing = playing = 0.0
    begin = time.perf_counter()
    for batch in range(batches):
        start = time.thread_time()
        world = generator.draw(EpisodeKeys.of(domain, np.arange(rows), batch))
        drawn = time.thread_time()
        simulator = Simulator(world)
        for slot in range(scenario.episode_slots):
            simulator.step(channels[slot])
        drawing += drawn - start
        playing += time.thread_time() - drawn
    return drawing, playing, time.perf_counter() - begin


def two_threads(scenario: Scenario, rows: int, batches: int) -> float:
    """Seconds until both threads have played their batches."""
    with ThreadPoolExecutor(2) as pool:
        start = time.perf_counter()
        list(pool.map(lambda domain: play(scenario, rows, batches, domain), Domain))
        return time.perf_counter() - start


def processor_seconds(cache: str) -> float:
    """What a process that plays its first slot costs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    subprocess.run([sys.executable, "-c", FIRST_RUN], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenario", default="paper", help="a name or a TOML file")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions of each figure")
    arguments = parser.parse_args()
    scenario = load_scenario(arguments.scenario)
    print(
        f"{scenario.name}: {scenario.channels} channels, {scenario.devices} primary devices, "
        f"{scenario.users} secondary users, {scenario.episode_slots} slots an episode"
    )
    play(scenario, 2, 1, Domain.TRAINING)  # compiles, or loads what is compiled

    print(
        f"{'batch':>6} {'drawing':>13} {'playing':>13} {'drawing':>8} "
        f"{'steps a second':>15} {'on the wall':>12}"
    )
    rates = {}
    for rows in BATCHES:
        batches = max(1, STEPS_A_REPETITION // (rows * scenario.episode_slots))
        steps = batches * rows * scenario.episode_slots
        runs = [play(scenario, rows, batches, Domain.TRAINING) for _ in range(arguments.repeat)]
        drawing, playing, _ = min(runs, key=lambda run: run[0] + run[1])
        wall = min(run[2] for run in runs)
        rates[rows] = steps / (drawing + playing)
        print(
            f"{rows:>6} {drawing / steps * 1e9:>7.0f} ns/step {playing / steps * 1e9:>5.0f} ns/step"
            f" {drawing / (drawing + playing):>8.0%} {rates[rows]:>15,.0f} {steps / wall:>12,.0f}"
        )
    taken = min(two_threads(scenario, rows, batches) for _ in range(arguments.repeat))
    both = 2 * batches * rows * scenario.episode_slots / taken
    print(f"{rows:>6} {'on two threads':>52} {both:>12,.0f}")
    print(
        f"ratios: batch of {rows} to one episode {rates[rows] / rates[1]:.1f}, "
        f"two threads to one {both * wall / steps:.2f}"
    )

    first, again = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            first.append(processor_seconds(cache))
            again.append(processor_seconds(cache))
    once, later = statistics.median(first), statistics.median(again)
    print(
        f"a process up to its first slot: {once:.2f} s of processor time with nothing compiled, "
        f"{later:.2f} s with numba's cache: compilation is {1 - later / once:.0%} of a first run"
    )


if __name__ == "__main__":
    main()
