"""The stage of tab:sdn_overhead: wiring between the controller's measurement and the records."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from tacan.scenario import Scenario

if TYPE_CHECKING:  # heavy: loaded when the command runs, not whenever help is shown
    import polars as pl

    from tacan.evaluation.protocol import Protocol
    from tacan.evaluation.replay import Progress
    from tacan.evaluation.stages import Stage

CYCLES = 1_000


def controller_stage(scenario: Scenario, protocol: Protocol) -> Stage:
    """The controller's decision path on this machine, with the policy of the first seed."""
    import polars as pl

    from tacan.controller.benchmark import measure_decision_path
    from tacan.evaluation.experiments import TACAN, available, code_digest, stage_inputs
    from tacan.evaluation.protocol import Protocol
    from tacan.evaluation.stages import Stage

    first = Protocol(protocol.seeds[:1], protocol.steps)
    known, sentences = available([TACAN], first)
    columns = {
        "policy": pl.String,
        "component": pl.String,
        "median_ms": pl.Float64,
        "p95_ms": pl.Float64,
        "cycles": pl.Int64,
    }

    def run(progress: Progress) -> pl.DataFrame:
        if not known:
            return pl.DataFrame(schema=columns)
        found = measure_decision_path(
            scenario, TACAN, CYCLES, seed=first.seeds[0], on_cycle=lambda: progress(1)
        )
        rows = [
            {
                "policy": TACAN,
                "component": latency.component,
                "median_ms": latency.median_ms,
                "p95_ms": latency.p95_ms,
                "cycles": CYCLES,
            }
            for latency in found
        ]
        return pl.DataFrame(rows, schema=columns)

    inputs = stage_inputs(scenario, first, [TACAN]) | {
        "controller": code_digest(("controller",)),
        "cycles": CYCLES,
        "machine": [platform.node(), platform.machine(), platform.processor()],
    }
    about = "the controller's decision path, one core"
    return Stage("controller", about, inputs, run, CYCLES, tuple(sentences))
