"""An hour of 500 ms cycles at full speed: flat memory, no lost task, a complete audit log.

python benchmarks/controller_soak.py [--cycles 7200] [--policy tacan]
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import tempfile
import threading
import time
from pathlib import Path

from tacan.controller.audit_check import check_audit
from tacan.controller.settings import validate_settings
from tacan.controller.wiring import build_controller, run_controller


def resident_mb() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


async def soak(folder: Path, policy: str, cycles: int) -> None:
    settings = validate_settings(
        {
            "policy": policy,
            "pace": {"mode": "slot", "deadline_ms": 500.0},
            "sensor": {"kind": "simulator"},
            "actuator": {"kind": "dry-run", "print_rules": False},
            "audit": {"path": "audit.jsonl"},
            "http": {"listen": "tcp:127.0.0.1:0"},
        },
        "soak",
    )
    controller = build_controller(settings, folder, print)
    began = time.perf_counter()
    running = asyncio.create_task(run_controller(controller, cycles))
    memory = []
    for tenth in range(1, 10):
        while controller.loop.cycle < cycles * tenth // 10 and not running.done():  # noqa: ASYNC110 - only watched
            await asyncio.sleep(0.01)
        memory.append(resident_mb())
    await running
    took = time.perf_counter() - began
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    log = check_audit(folder / "audit.jsonl")
    print(f"{cycles} cycles in {took:.1f} s, policy {policy}")
    print("memory at each tenth, MB:", ", ".join(f"{value:.1f}" for value in memory))
    print(f"grown from the second tenth to the ninth: {memory[8] - memory[1]:+.2f} MB")
    print(f"tasks left: {len(left)}, threads left: {threading.active_count() - 1}")
    whole = "; ".join(log.faults) or "none missing"
    print(f"audit lines: {sum(log.runs.values())} (cycles and the last one), {whole}")
    print("decisions:", dict(controller.loop.parts.metrics.sources))


def main() -> None:
    parser = argparse.ArgumentParser(description="An hour of cycles at full speed.")
    parser.add_argument("--cycles", type=int, default=7_200)
    parser.add_argument("--policy", default="tacan")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(soak(Path(folder), options.policy, options.cycles))


if __name__ == "__main__":
    main()
