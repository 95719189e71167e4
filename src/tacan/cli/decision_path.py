"""The stage of tab:sdn_overhead: wiring between the controller's measurement and the records."""

from __future__ import annotations

import importlib
import importlib.util
import platform
from typing import TYPE_CHECKING

from tacan.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

    from tacan.evaluation.protocol import Protocol
    from tacan.evaluation.replay import Progress
    from tacan.evaluation.stages import Stage

CYCLES = 1_000
MEASUREMENT = "tacan.controller.benchmark"


def controller_stage(scenario: Scenario, protocol: Protocol) -> Stage:
    """The controller's decision path on this machine."""
    import polars as pl

    from tacan.evaluation.experiments import TACAN, available, stage_inputs
    from tacan.evaluation.stages import Stage

    known, sentences = available([TACAN], protocol)
    if importlib.util.find_spec(MEASUREMENT) is None:
        known, sentences = set(), [*sentences, "this version has no controller measurement"]
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
        measure = importlib.import_module(MEASUREMENT).measure_decision_path
        rows = [
            {
                "policy": TACAN,
                "component": found.component,
                "median_ms": found.median_ms,
                "p95_ms": found.p95_ms,
                "cycles": CYCLES,
            }
            for found in measure(scenario, TACAN, CYCLES)
        ]
        progress(CYCLES)
        return pl.DataFrame(rows, schema=columns)

    inputs = stage_inputs(scenario, protocol, [TACAN]) | {
        "cycles": CYCLES,
        "machine": [platform.node(), platform.machine(), platform.processor()],
        "measured": bool(known),
    }
    about = "the controller's decision path, one core"
    return Stage("controller", about, inputs, run, CYCLES, tuple(sentences))
