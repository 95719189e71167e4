"""How long an evaluation takes, and how much of a first run is compilation.

    python benchmarks/evaluation.py

1. Greedy over 5 seeds x 4 loads x 10,000 slots, metrics included, in a process that has already
   compiled: the best and the median of some repetitions.
2. ``tacan evaluate greedy`` as its own process, from start to exit, on a machine that has never
   compiled (an empty folder for numba's cache) and once more with that cache. The difference is
   what compilation costs on a first run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

SEEDS, STEPS = 5, 10_000


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def evaluate_greedy() -> None:
    from tacan.evaluation.protocol import Protocol, evaluation_seeds, load_names
    from tacan.evaluation.replay import Contender, replay
    from tacan.evaluation.results import Result
    from tacan.policies.assignment import ServiceOrder
    from tacan.scenario import load_scenario

    scenario = load_scenario("paper")
    plan = Protocol(evaluation_seeds(SEEDS), STEPS)
    greedy = Contender.build("greedy", ServiceOrder.FIXED, scenario, plan.seeds)
    for load in load_names(scenario, "all"):
        (found,) = replay([greedy], scenario, plan, load)
        Result.of(found)


def run_command(cache: str) -> None:
    command = [sys.executable, "-c", "from tacan.cli import main; main()", "evaluate", "greedy"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    subprocess.run(command, env=environment, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, help="measurements of each")
    repeat = parser.parse_args().repeat

    evaluate_greedy()
    times = [seconds(evaluate_greedy) for _ in range(repeat)]
    slots = SEEDS * 4 * STEPS
    print(f"greedy, {SEEDS} seeds x 4 loads x {STEPS} slots, after compilation:")
    print(f"  best {min(times):.3f} s, median {statistics.median(times):.3f} s")
    print(f"  {slots / min(times):,.0f} slots a second with 4 users each, metrics included")

    first, warm = [], []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as cache:
            first.append(seconds(lambda: run_command(cache)))
            warm.append(seconds(lambda: run_command(cache)))
    once, again = statistics.median(first), statistics.median(warm)
    print("tacan evaluate greedy, a process from start to exit (medians):")
    print(f"  first run, nothing compiled: {once:.2f} s; with numba's cache: {again:.2f} s")
    print(f"  compilation is {100 * (once - again) / once:.0f} % of the first run")


if __name__ == "__main__":
    main()
