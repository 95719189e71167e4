"""How long an evaluation takes, and how much of a first run is compilation.

    python benchmarks/evaluation.py

1. Greedy over 5 seeds x 4 loads x 10,000 slots, metrics included, in a process that has already
   compiled: the best and the median of some repetitions.
2. ``tacan evaluate greedy`` as its own process, from start to exit, on a machine that has never
   compiled (an empty folder for numba's cache) and once more with that cache. The difference is
   what compilation costs on a first run. Processor time is given as well: unlike wall-clock time it
   hardly depends on what else the machine is doing.
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


def run_command(cache: str) -> tuple[float, float]:
    """Wall-clock and processor seconds of one process."""
    command = [sys.executable, "-c", "from tacan.cli import main; main()", "evaluate", "greedy"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = seconds(
        lambda: subprocess.run(command, env=environment, check=True, capture_output=True)
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


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
            first.append(run_command(cache))
            warm.append(run_command(cache))
    print("tacan evaluate greedy, a process from start to exit (medians):")
    (once, once_busy), (again, again_busy) = (
        (statistics.median(column) for column in zip(*times, strict=True))
        for times in (first, warm)
    )
    print(f"  first run, nothing compiled: {once:.2f} s ({once_busy:.2f} s of processor time)")
    print(f"  with numba's cache: {again:.2f} s ({again_busy:.2f} s of processor time)")
    share = 100 * (once_busy - again_busy) / once_busy
    print(f"  compilation is {share:.0f} % of the first run's processor time")


if __name__ == "__main__":
    main()
