"""The measurement of tab:sdn_overhead; its figures are the machine's, its shape is checked."""

from __future__ import annotations

import os

from tacan.controller.benchmark import measure_decision_path
from tacan.scenario import load_scenario


def test_every_stage_and_their_sum_are_measured() -> None:
    """Four rows, medians below their 95th percentiles, and the processors given back."""
    before = os.sched_getaffinity(0)
    cycles = []
    found = measure_decision_path(
        load_scenario("tiny"), "greedy", 20, on_cycle=lambda: cycles.append(1)
    )
    assert [latency.component for latency in found] == ["extraction", "inference", "rules", "total"]
    assert all(0.0 < latency.median_ms <= latency.p95_ms for latency in found)
    assert found[3].median_ms >= max(latency.median_ms for latency in found[:3])
    assert len(cycles) == 20
    assert os.sched_getaffinity(0) == before
