"""Records that say exactly what the paper says, made without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tacan.evaluation.experiments import MATCHED, paper_plans
from tacan.evaluation.metrics import metric_names
from tacan.evaluation.probes import ATTENTION_COLUMNS, TRAINING_COLUMNS
from tacan.evaluation.records import COLUMNS
from tacan.evaluation.store import Manifest, save_records
from tacan.reporting.columns import METRIC_OF
from tacan.reporting.paper import read_paper
from tacan.scenario import load_scenario, scenario_toml

SEEDS = (42, 123, 7, 2024, 314)
SPREAD = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]) / np.sqrt(2.5)
"""Mean 0 and standard deviation 1 (n - 1) over five seeds."""
PERCENT = {
    "assignment_success",
    "packet_access",
    "delivery_per_slot",
    "empty_success_share",
    "access_gap",
    "delivery_gap",
    "urllc_deadline_miss",
}


GAP_SPREAD = {"greedy": 0.585, "mlp": 1.393}
DELAY_SPREAD = {"greedy": 0.020, "mlp": 0.052}
"""What the intervals of tab:packet_comparison imply: half width x sqrt(5) / 2.776."""


def papers_metrics(policy: str, load: str) -> dict[str, tuple[float, float]]:
    """Mean and deviation of every metric that the paper prints of a policy, in its own units."""
    tables = read_paper().tables
    found: dict[str, tuple[float, float]] = {}
    if load != "mixed":
        value = tables["packet_load"].value(policy, load)
        return {"packet_access": (value.mean, value.deviation or 0.1)} if value else {}
    for key in ("packet_class", "packet_fairness", "packet_main"):
        for column in tables[key].row(policy):
            value = tables[key].value(policy, column)
            metric = METRIC_OF.get(column)
            if metric is None:  # urllc_access -> packet_access_urllc
                name, _, what = column.partition("_")
                metric = f"{METRIC_OF[what]}_{name}"
            assert value is not None
            found[metric] = (value.mean, value.deviation or 0.0)
    if policy in GAP_SPREAD:
        found["access_gap"] = (found["access_gap"][0], GAP_SPREAD[policy])
        found["delay_mean"] = (found["delay_mean"][0], DELAY_SPREAD[policy])
    return found


def rows_of(policy: str, order: str, load: str, perturbation: str | None) -> list[dict[str, Any]]:
    """Five rows, one a seed."""
    scenario = load_scenario("paper")
    means = dict.fromkeys(metric_names(scenario.users), (0.5, 0.0))
    of_others = {"packet_access": (95.0, 0.2), "assignment_success": (95.0, 0.2)}
    means |= papers_metrics(policy, load) or of_others
    if perturbation is not None:
        table, row = "ablation", perturbation
        if perturbation.startswith("mixing:"):
            table, row = "amc_robustness", f"{100 * float(perturbation.partition(':')[2]):g}"
        value = read_paper().tables[table].value(row, "assignment")
        assert value is not None
        means["assignment_success"] = (value.mean, value.deviation or 0.0)
    rows = []
    for seed, offset in zip(SEEDS, SPREAD, strict=True):
        row: dict[str, Any] = dict.fromkeys(COLUMNS)
        row |= {
            "format": 1,
            "policy": policy,
            "order": order,
            "scenario": scenario.name,
            "scenario_toml": scenario_toml(scenario),
            "load": load,
            "perturbation": perturbation,
            "seed": seed,
        }
        for name, (mean, deviation) in means.items():
            base = name.rsplit("_", 1)[0] if name.endswith(("urllc", "mmtc", "embb")) else name
            scale = 100.0 if base in PERCENT else 1.0
            row[name] = (mean + deviation * offset) / scale
        rows.append(row)
    return rows


def save(
    folder: Path,
    stage: str,
    frame: pl.DataFrame,
    unavailable: tuple[str, ...] = (),
    **inputs: object,
) -> None:
    """Records of a stage, as a run would leave them; inputs are the paper's unless given."""
    save_records(
        folder,
        frame,
        Manifest(
            stage=stage,
            inputs={"seeds": list(SEEDS), "steps": 10_000, **inputs},
            command="tacan reproduce",
            version="0.1.0",
            made="2026-01-01T00:00:00+00:00",
            seconds=1.0,
            unavailable=unavailable,
        ),
    )


def replay_frame(stage: str, leave_out: tuple[str, ...] = ()) -> pl.DataFrame:
    """The rows of a replay stage."""
    scenario = load_scenario("paper")
    plan = next(plan for plan in paper_plans(scenario) if plan.stage == stage)
    rows = [
        row
        for batch in plan.batches
        for policy, order in batch.contenders
        if policy not in leave_out
        for row in rows_of(
            policy, order, batch.load, batch.perturbation.name if batch.perturbation else None
        )
    ]
    metrics = dict.fromkeys(metric_names(scenario.users), pl.Float64)
    return pl.DataFrame(rows, schema={**COLUMNS, **metrics})


def attention_frame() -> pl.DataFrame:
    """The paper's attention, the same for every seed."""
    rows = [
        {"policy": "tacan", "seed": seed, "load": load, "rank": rank, "weight": weight, "slots": 1}
        for load, row in read_paper().tables["attention"].content["rows"].items()
        for seed in SEEDS
        for rank, weight in enumerate(row["weights"])
    ]
    return pl.DataFrame(rows, schema=ATTENTION_COLUMNS)


def training_frame() -> pl.DataFrame:
    """Two points of a curve for each learned policy."""
    sizes = {"tacan": 485_892, "mlp": 155_413, MATCHED: 486_130}
    rows = [
        {
            "policy": policy,
            "seed": seed,
            "slots": slots,
            "metric": "packet_access",
            "value": value,
            "parameters": size,
        }
        for policy, size in sizes.items()
        for seed in SEEDS
        for slots, value in ((20_000.0, 0.7), (500_000.0, 0.9))
    ]
    return pl.DataFrame(rows, schema=TRAINING_COLUMNS)


def controller_frame() -> pl.DataFrame:
    """The paper's latencies."""
    rows = [
        {
            "policy": "tacan",
            "component": component,
            "median_ms": row["median"],
            "p95_ms": row["p95"],
            "cycles": 1000,
        }
        for component, row in read_paper().tables["sdn_overhead"].content["rows"].items()
    ]
    return pl.DataFrame(rows)


def papers_frames() -> dict[str, pl.DataFrame]:
    """Every stage's rows as the paper has them."""
    frames = {
        stage: replay_frame(stage) for stage in ("main", "ablation", "mixing", "orders", "ladder")
    }
    return frames | {
        "attention": attention_frame(),
        "training": training_frame(),
        "controller": controller_frame(),
    }
