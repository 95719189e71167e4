"""From contenders to numbers: what an evaluation found, by seed and over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from tacan.evaluation.metrics import Metrics, Value, metric_names, seed_metrics
from tacan.evaluation.replay import Replay
from tacan.scenario import Scenario


class Summary(TypedDict):
    """A metric over seeds."""

    mean: Value
    """over the seeds that have data; None if none has"""
    std: Value
    """over the same seeds, with n - 1; None with fewer than two"""
    per_seed: list[Value]


@dataclass(frozen=True)
class SeedResult:
    """All metrics of one seed, and of which policy."""

    seed: int
    metrics: Metrics
    training_seed: int | None
    """of a learned policy"""
    policy_hash: str | None
    """of a frozen policy's file"""


@dataclass(frozen=True)
class Result:
    """One policy under one service order, in one scenario and load."""

    policy: str
    order: str
    scenario: Scenario
    load: str
    perturbation: str | None
    steps: int
    seeds: tuple[SeedResult, ...]

    @staticmethod
    def of(replay: Replay) -> Result:
        """The metrics of every seed of a replay."""
        contender, protocol = replay.contender, replay.protocol
        return Result(
            policy=contender.reference,
            order=contender.order.value,
            scenario=replay.scenario,
            load=replay.load,
            perturbation=replay.perturbation,
            steps=protocol.steps,
            seeds=tuple(
                SeedResult(
                    seed=seed,
                    metrics=seed_metrics(replay.ledger.of_seed(position)),
                    training_seed=getattr(contender.policies[seed], "training_seed", None),
                    policy_hash=getattr(contender.policies[seed], "content_hash", None),
                )
                for position, seed in enumerate(protocol.seeds)
            ),
        )

    def by_seed(self, metric: str) -> dict[int, Value]:
        """A metric of every seed."""
        return {found.seed: found.metrics[metric] for found in self.seeds}

    def summary(self, metric: str) -> Summary:
        """A metric over seeds."""
        return summarise([found.metrics[metric] for found in self.seeds])

    def summaries(self) -> dict[str, Summary]:
        """Every metric over seeds."""
        return {name: self.summary(name) for name in metric_names(self.scenario.users)}

    def as_json(self) -> dict[str, object]:
        """The object that ``tacan evaluate --json`` writes."""
        content: dict[str, object] = {
            "policy": self.policy,
            "order": self.order,
            "scenario": self.scenario.name,
            "scenario_digest": self.scenario.digest(),
            "load": self.load,
            "seeds": [found.seed for found in self.seeds],
            "steps": self.steps,
            "metrics": self.summaries(),
        }
        if self.perturbation is not None:
            content["perturbation"] = self.perturbation
        return content


def summarise(per_seed: Sequence[Value]) -> Summary:
    """Mean and standard deviation over the seeds that have data."""
    known = [value for value in per_seed if value is not None]
    return Summary(
        mean=float(np.mean(known)) if known else None,
        std=float(np.std(known, ddof=1)) if len(known) > 1 else None,
        per_seed=list(per_seed),
    )
