"""Torch and ONNX Runtime over 10,000 slots: python benchmarks/parity.py RUN [RUN ..]

RUN is a folder of `tacan train`. Logits must agree within 1e-4, and every assignment be the same.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from tacan.policies.assignment import ServiceOrder, assign, service_order
from tacan.policies.frozen import load_policy
from tacan.simulator.simulator import Simulator
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import WorldGenerator
from tacan.training.checkpoint import load_checkpoint
from tacan.training.export import export_policy
from tacan.training.run import CHECKPOINT, resume_run

SLOTS = 10_000
TOLERANCE = 1e-4


def compare(folder: Path, path: Path) -> tuple[float, int, int]:
    """The largest difference of logits, the assignments that differ, and all assignments."""
    export_policy(load_checkpoint(folder / CHECKPOINT), path)
    run = resume_run(folder, {"precision": "fp32"})
    scenario = run.learner.scenario
    policy = load_policy(path, scenario)
    keys = EpisodeKeys.of(Domain.EVALUATION, 42, np.arange(-(-SLOTS // scenario.episode_slots)))
    simulator = Simulator(WorldGenerator(scenario).draw(keys))
    largest, different, total = 0.0, 0, 0
    while not simulator.done:
        seen = simulator.observe()
        expected, _ = run.learner.judge(seen)
        logits = policy.score(seen)
        order = service_order(ServiceOrder.FIXED, seen)
        channels = assign(logits, order)
        largest = max(largest, float(np.abs(logits - expected).max()))
        different += int((channels != assign(expected, order)).sum())
        total += channels.size
        simulator.step(channels)
    return largest, different, total


def main() -> None:
    """Compare every run that is named."""
    if len(sys.argv) == 1:
        raise SystemExit(__doc__)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:]:
            largest, different, total = compare(Path(name), Path(folder) / "policy.onnx")
            print(f"{name}: logits within {largest:.1e}; {different} of {total:,} choices differ")
            failed |= largest > TOLERANCE or different > 0
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
