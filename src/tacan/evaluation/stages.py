"""Stages: an experiment with a name, run once for its inputs and then read from its records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

import tacan
from tacan.errors import UserError
from tacan.evaluation.experiments import (
    TACAN,
    Plan,
    available,
    only_available,
    plan_inputs,
    run_plan,
    stage_inputs,
)
from tacan.evaluation.probes import (
    ATTENTION_COLUMNS,
    attention_by_rank,
    training_curves,
)
from tacan.evaluation.protocol import Protocol
from tacan.evaluation.replay import Progress
from tacan.evaluation.store import (
    Manifest,
    RecordsError,
    inputs_digest,
    load_records,
    save_records,
)
from tacan.policies import frozen
from tacan.scenario import Scenario

ATTENTION_STEPS = 1_000
"""Slots of each seed and load in which attention is watched; it is a mean, not a rare event."""

Run = Callable[[Progress], pl.DataFrame]


@dataclass(frozen=True)
class Stage:
    """What a stage needs to know, does and depends on."""

    name: str
    about: str
    inputs: Mapping[str, Any]
    run: Run
    steps: int
    """what its progress adds up to"""
    unavailable: tuple[str, ...] = ()


@dataclass(frozen=True)
class Done:
    """What became of a stage."""

    name: str
    reused: bool
    seconds: float
    manifest: Manifest
    note: str = ""
    """why records that were there were not used"""


def choose(stages: Sequence[Stage], names: Iterable[str], extra: str) -> list[Stage]:
    """The stages of these names in their own order; all of them if none is named."""
    asked = list(names)
    known = [stage.name for stage in stages]
    for name in asked:
        if name not in (*known, extra):
            raise UserError(
                f"stage {name!r} is not known: choose from {', '.join((*known, extra))}"
            )
    return [stage for stage in stages if not asked or stage.name in asked]


def run_stage(
    stage: Stage, folder: Path, command: str, progress: Progress, *, fresh: bool = False
) -> Done:
    """Run a stage, unless whole records of the same inputs exist."""
    note = ""
    if not fresh and (folder / f"{stage.name}.json").exists():
        try:
            _, manifest = load_records(folder, stage.name)
        except RecordsError as error:
            note = f"{error} (done now)"
        else:
            if manifest.digest == inputs_digest(stage.inputs):
                return Done(stage.name, reused=True, seconds=0.0, manifest=manifest)
            note = f"stage {stage.name!r}: its records were made from other inputs; made anew"
    start = time.perf_counter()
    frame = stage.run(progress)
    seconds = time.perf_counter() - start
    manifest = save_records(
        folder,
        frame,
        Manifest(
            stage=stage.name,
            inputs=stage.inputs,
            command=command,
            version=tacan.__version__,
            made=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=round(seconds, 3),
            unavailable=stage.unavailable,
        ),
    )
    return Done(stage.name, reused=False, seconds=seconds, manifest=manifest, note=note)


def replay_stage(
    plan: Plan, scenario: Scenario, protocol: Protocol, *, command: str, threads: int
) -> Stage:
    """A stage that replays policies; what does not ship is left out and said."""
    inputs = plan_inputs(plan, scenario, protocol)
    possible, sentences = only_available(plan, protocol)

    def run(progress: Progress) -> pl.DataFrame:
        return run_plan(
            possible, scenario, protocol, command=command, threads=threads, progress=progress
        )

    return Stage(plan.stage, plan.about, inputs, run, max(1, possible.steps(protocol)), sentences)


def comparison_stage(
    plan: Plan, scenario: Scenario, protocol: Protocol, *, command: str, threads: int
) -> Stage:
    """A stage of policies that a user named: one that cannot be built is refused, not left out."""
    inputs = plan_inputs(plan, scenario, protocol)

    def run(progress: Progress) -> pl.DataFrame:
        return run_plan(
            plan, scenario, protocol, command=command, threads=threads, progress=progress
        )

    shipped = [name for name in plan.policies() if name in frozen.shipped()]
    _, sentences = available(shipped, protocol)
    return Stage(plan.stage, plan.about, inputs, run, plan.steps(protocol), tuple(sentences))


def attention_stage(scenario: Scenario, protocol: Protocol, *, threads: int) -> Stage:
    """fig:attention_viz, from a part of the same held-out episodes."""
    short = Protocol(protocol.seeds, min(protocol.steps, ATTENTION_STEPS))
    known, sentences = available([TACAN], protocol)

    def run(progress: Progress) -> pl.DataFrame:
        if not known:
            return pl.DataFrame(schema=ATTENTION_COLUMNS)
        return attention_by_rank(TACAN, scenario, short, threads=threads, progress=progress)

    steps = len(short.seeds) * len(scenario.load.names)
    steps *= short.episodes(scenario) * min(scenario.episode_slots, short.steps)
    return Stage(
        "attention",
        "where the QoS token's attention falls",
        stage_inputs(scenario, short, [TACAN]),
        run,
        steps,
        tuple(sentences),
    )


def training_stage(scenario: Scenario, protocol: Protocol, learned: Sequence[str]) -> Stage:
    """The training curves that the policy files carry."""
    known, sentences = available(learned, protocol)

    def run(progress: Progress) -> pl.DataFrame:
        frame = training_curves([name for name in learned if name in known], scenario)
        progress(1)
        return frame

    inputs = stage_inputs(scenario, protocol, learned) | {"files": sorted(frozen.shipped())}
    return Stage(
        "training", "training curves of the shipped policies", inputs, run, 1, tuple(sentences)
    )
