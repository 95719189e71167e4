"""Saved records as the tables ask for them; nothing here runs an experiment.

Every number is asked for by what it is of. Records that are missing, damaged, incomplete (a seed
lost, doubled or foreign, a rate outside 0 to 1) or of another experiment than those of ``main``
raise a RecordsError, whose sentence the report prints in the place of the numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from tacan.evaluation.metrics import METRICS, Unit
from tacan.evaluation.records import recorded_scenario
from tacan.evaluation.store import Manifest, RecordsError, load_records
from tacan.reporting.paper import Value
from tacan.scenario import Scenario

FRACTIONS = frozenset(metric.name for metric in METRICS if metric.unit is Unit.FRACTION)
FIXED, MIXED = "fixed", "mixed"
MAIN = "main"
EXPERIMENT = ("scenario", "seeds", "steps", "code")
SHARED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("ablation", "mixing", "orders", "ladder"), EXPERIMENT),
    "attention": ("scenario", "seeds", "code"),
    "controller": ("scenario", "code"),
}
"""The inputs in which a stage must agree with ``main``, whose numbers stand beside its own.

Attention is a mean over slots of its own, the controller decides for the first seed alone, and the
training curves lie in the policy files: nothing was played for them.
"""


class UnavailableError(RecordsError):
    """The stage is whole, but this number is not in it: its policy was not there to be run."""


class NoDataError(UnavailableError):
    """The policy was run, but nothing happened that the metric counts."""


@dataclass(frozen=True)
class Question:
    """What a number is of."""

    policy: str
    load: str = MIXED
    order: str = FIXED
    perturbation: str | None = None
    stage: str = MAIN

    def __str__(self) -> str:
        kind = f", {self.perturbation}" if self.perturbation else ""
        return f"{self.policy} ({self.order}, {self.load}{kind})"


def is_fraction(metric: str) -> bool:
    """Whether a metric is a rate, which tables print in percent; NAME_urllc and the like too."""
    return metric in FRACTIONS or any(metric.startswith(f"{name}_") for name in FRACTIONS)


@dataclass
class Records:
    """A results folder's records. Each stage is read and checked once, when first asked for."""

    folder: Path
    asked: set[str] = field(default_factory=set)
    """the stages that were asked for, until somebody clears it"""
    _stages: dict[str, tuple[pl.DataFrame, Manifest] | RecordsError] = field(default_factory=dict)

    def stage(self, stage: str) -> tuple[pl.DataFrame, Manifest]:
        """A stage's rows and manifest, or the reason why they cannot be used."""
        self.asked.add(stage)
        if stage not in self._stages:
            try:
                found = load_records(self.folder, stage)
                self._check_experiment(stage, found[1])
                self._stages[stage] = found
            except RecordsError as error:
                self._stages[stage] = error
        kept = self._stages[stage]
        if isinstance(kept, RecordsError):
            raise kept
        return kept

    def _check_experiment(self, stage: str, manifest: Manifest) -> None:
        """Refuse a stage that was run otherwise than ``main``; without ``main`` nothing is paired.

        A policy that played in both must have been the same one.
        """
        shared = SHARED.get(stage, ())
        if not shared:
            return
        try:
            _, main = self.stage(MAIN)
        except RecordsError:
            return
        theirs, mains = manifest.inputs, main.inputs
        differing = [(key, theirs.get(key), mains.get(key)) for key in shared]
        policies, of_main = theirs.get("policies", {}), mains.get("policies", {})
        differing += [
            (f"policy {name!r}", digest, of_main[name])
            for name, digest in policies.items()
            if name in of_main
        ]
        for what, here, there in differing:
            if here != there:
                raise RecordsError(
                    f"records of stage {stage!r} are of {what} {_said(here)}, "
                    f"those of stage {MAIN!r} of {what} {_said(there)}: "
                    "run both again with the same options"
                )

    def by_seed(self, question: Question, metric: str) -> dict[int, float]:
        """A metric of every seed, fractions in percent."""
        frame, manifest = self.stage(question.stage)
        rows = frame.filter(
            (pl.col("policy") == question.policy)
            & (pl.col("order") == question.order)
            & (pl.col("load") == question.load)
            & pl.col("perturbation").eq_missing(pl.lit(question.perturbation, pl.String))
        )
        if rows.is_empty():
            self._explain_absence(question, manifest)
        if metric not in rows.columns:
            raise RecordsError(f"records of stage {question.stage!r} hold no {metric}")
        seeds: list[int] = rows["seed"].to_list()
        _check_seeds(seeds, list(manifest.inputs["seeds"]), question)
        scale = 100.0 if is_fraction(metric) else 1.0
        values: dict[int, float] = {}
        empty: list[int] = []
        for seed, value in zip(seeds, rows[metric].to_list(), strict=True):
            if value is None:
                empty.append(seed)
                continue
            if not math.isfinite(value):
                raise RecordsError(f"{question}, seed {seed}: {metric} = {value} is no number")
            if is_fraction(metric) and not 0.0 <= value <= 1.0:
                raise RecordsError(
                    f"{question}, seed {seed}: {metric} = {value:g} is no rate between 0 and 1"
                )
            values[seed] = scale * value
        if empty:  # a mean over the other seeds would stand beside means over all of them
            listed = ", ".join(map(str, empty))
            raise NoDataError(f"{question}: {metric} has no data in seed {listed}")
        return values

    def _explain_absence(self, question: Question, manifest: Manifest) -> None:
        for sentence in manifest.unavailable:
            if repr(question.policy) in sentence:
                raise UnavailableError(sentence)
        raise RecordsError(f"records of stage {question.stage!r} hold no rows of {question}")

    def value(self, question: Question, metric: str) -> Value:
        """Mean and standard deviation over seeds."""
        return estimate(self.by_seed(question, metric).values())

    def scenario(self, stage: str = "main") -> Scenario:
        """The scenario that a stage ran in, as its rows carry it."""
        frame, _ = self.stage(stage)
        if frame.is_empty():
            raise RecordsError(f"records of stage {stage!r} hold no rows")
        return recorded_scenario(str(frame["scenario_toml"][0]), self.folder / stage)


def _said(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def estimate(values: Iterable[float]) -> Value:
    """Mean and standard deviation of the values of seeds."""
    numbers = np.array(list(values), dtype=np.float64)
    deviation = float(numbers.std(ddof=1)) if numbers.size > 1 else None
    return Value(float(numbers.mean()), deviation, numbers.size)


def _check_seeds(found: list[int], expected: list[int], question: Question) -> None:
    doubled = sorted({seed for seed in found if found.count(seed) > 1})
    lost = [seed for seed in expected if seed not in found]
    foreign = sorted(set(found) - set(expected))
    for what, seeds in (("twice", doubled), ("lost", lost), ("not asked for", foreign)):
        if seeds:
            raise RecordsError(
                f"{question}: records are incomplete: seed {', '.join(map(str, seeds))} {what}; "
                f"run stage {question.stage!r} again with --fresh"
            )
