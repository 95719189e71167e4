"""A million malformed inputs for everything that reads from a socket.

    python benchmarks/controller_fuzz.py [--inputs 1000000] [--seed 1]

Inputs are valid messages with bytes flipped, cut, doubled or inserted, and pure noise. Each must be
either read or refused with the parser's own error; anything else is a crash. Memory is compared
after the first tenth and at the end.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from pathlib import Path

from tacan.controller.lab.fuzzing import fuzz_openflow, fuzz_reports
from tacan.scenario import load_scenario


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description="Malformed inputs for every parser.")
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)  # noqa: S311 - test data
    tiny = load_scenario("tiny")
    share = options.inputs // 3 + 1
    parsers: dict[str, Callable[[int], object]] = {
        "OpenFlow": lambda count: fuzz_openflow(draw, count),
        "reports, JSON": lambda count: fuzz_reports(draw, count, tiny, "json"),
        "reports, msgpack": lambda count: fuzz_reports(draw, count, tiny, "msgpack"),
    }
    print("| parser | inputs | seconds | memory after a tenth, MB | at the end, MB |")
    print("|---|---|---|---|---|")
    outcomes = {}
    for name, fuzz in parsers.items():
        began = time.perf_counter()
        fuzz(share // 10)
        early = resident_mb()
        outcomes[name] = fuzz(share - share // 10)
        took = time.perf_counter() - began
        print(f"| {name} | {share} | {took:.0f} | {early:.1f} | {resident_mb():.1f} |")
    for name, counts in outcomes.items():
        print(f"{name}: {dict(counts)}")
    print("no crash")


if __name__ == "__main__":
    main()
