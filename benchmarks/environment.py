"""How many steps a second the environments make, observations and resets included.

    python benchmarks/environment.py

Random actions, drawn beforehand unless said otherwise. Every figure is the best of some
repetitions, by processor time, so that neighbours on the machine matter little, and by the clock on
the wall. Figures move with the machine; what carries over is the last column, the ratio to
Gymnasium's own CartPole-v1 in the same loop (observations of 4 numbers, no packets).

Then, how much of a first run is compilation: making, resetting and stepping one environment as a
process of its own, once with an empty folder for numba's cache, once more with what it left there.
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
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

import tacan.scenario
from tacan.environments.parallel import ParallelDynamicSpectrumAccess
from tacan.environments.registration import ENVIRONMENT

STEPS = 10_000
VECTOR_STEPS = {64: 1_000, 1024: 200}
FIRST_RUN = f"""
import gymnasium, tacan
env = gymnasium.make("{ENVIRONMENT}")
env.reset(seed=0)
env.step([0, 1, 2, 3])
"""


def run_single(env: gymnasium.Env[Any, Any], next_action: Callable[[int], Any]) -> int:
    """Step through episodes; the environment steps made."""
    env.reset(seed=0)
    for number in range(STEPS):
        _, _, terminated, truncated, _ = env.step(next_action(number))
        if terminated or truncated:
            env.reset()
    return STEPS


def single(name: str, *, sampled: bool = False, **arguments: Any) -> Callable[[], int]:
    """A loop over ``gymnasium.make``."""
    env = gymnasium.make(name, **arguments)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(STEPS)]
    if sampled:
        return lambda: run_single(env, lambda _: env.action_space.sample())
    return lambda: run_single(env, actions.__getitem__)


def vector(rows: int, mode: str, scenario: str) -> Callable[[], int]:
    """A loop over ``gymnasium.make_vec``."""
    env = gymnasium.make_vec(ENVIRONMENT, num_envs=rows, vectorization_mode=mode, scenario=scenario)
    env.action_space.seed(0)
    steps = VECTOR_STEPS[rows]
    actions = [env.action_space.sample() for _ in range(steps)]

    def run() -> int:
        env.reset(seed=0)
        for action in actions:
            env.step(action)
        return steps * rows

    return run


def parallel(scenario: str) -> Callable[[], int]:
    """A loop over the PettingZoo environment; a step of all agents counts once."""
    env = ParallelDynamicSpectrumAccess(scenario)
    agents, generator = env.possible_agents, np.random.default_rng(0)
    channels = generator.integers(0, env.scenario.channels, (STEPS, len(agents))).tolist()
    actions = [dict(zip(agents, row, strict=True)) for row in channels]

    def run() -> int:
        env.reset(seed=0)
        for action in actions:
            env.step(action)
            if not env.agents:
                env.reset()
        return STEPS

    return run


def best_rates(run: Callable[[], int], repetitions: int) -> tuple[float, float]:
    """Steps a second of processor time and on the wall."""
    run()
    processor, wall = [], []
    for _ in range(repetitions):
        start, begin = time.thread_time(), time.perf_counter()
        steps = run()
        processor.append(steps / (time.thread_time() - start))
        wall.append(steps / (time.perf_counter() - begin))
    return max(processor), max(wall)


def processor_seconds(cache: str) -> float:
    """What a process that makes its first step costs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    subprocess.run([sys.executable, "-c", FIRST_RUN], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenario", default="paper", help="a name or a TOML file")
    parser.add_argument("--repeat", type=int, default=7, help="repetitions of each figure")
    arguments = parser.parse_args()
    scenario = tacan.scenario.load_scenario(arguments.scenario)
    print(
        f"{scenario.name}: {scenario.channels} channels, {scenario.devices} primary devices, "
        f"{scenario.users} secondary users, {scenario.episode_slots} slots an episode"
    )
    name = arguments.scenario
    loops = {
        "CartPole-v1 through gymnasium.make": single("CartPole-v1"),
        "gymnasium.make": single(ENVIRONMENT, scenario=name),
        "gymnasium.make, action_space.sample()": single(ENVIRONMENT, sampled=True, scenario=name),
        "PettingZoo, a step of all agents": parallel(name),
        "gymnasium's SyncVectorEnv, 64 rows": vector(64, "sync", name),
        "native vector environment, 64 rows": vector(64, "vector_entry_point", name),
        "native vector environment, 1024 rows": vector(1024, "vector_entry_point", name),
    }
    print(f"{'':<38} {'steps a second':>15} {'on the wall':>12} {'to CartPole':>12}")
    rates: list[float] = []
    for label, run in loops.items():
        processor, wall = best_rates(run, arguments.repeat)
        rates.append(processor)
        print(f"{label:<38} {processor:>15,.0f} {wall:>12,.0f} {processor / rates[0]:>12.2f}")

    first, again = [], []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as cache:
            first.append(processor_seconds(cache))
            again.append(processor_seconds(cache))
    once, later = statistics.median(first), statistics.median(again)
    print(
        f"a process up to its first step: {once:.2f} s of processor time with nothing compiled, "
        f"{later:.2f} s with numba's cache: compilation is {1 - later / once:.0%} of a first run"
    )


if __name__ == "__main__":
    main()
