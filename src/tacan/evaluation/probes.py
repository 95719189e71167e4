"""What frozen policies show of themselves: where attention falls, and how they were trained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tacan.errors import UserError
from tacan.evaluation.ledger import Ledger
from tacan.evaluation.protocol import Protocol, fixed_load
from tacan.evaluation.replay import Progress, play
from tacan.observation import Observation
from tacan.policies import frozen
from tacan.policies.assignment import ServiceOrder
from tacan.policies.catalogue import build_policy
from tacan.policies.frozen import FrozenPolicy, load_policy
from tacan.policies.policy import Scores
from tacan.scenario import Scenario
from tacan.simulator.simulator import Privilege, Secrets
from tacan.simulator.streams import EpisodeKeys
from tacan.simulator.world import WorldGenerator

ATTENTION_COLUMNS = {
    "policy": pl.String,
    "seed": pl.Int64,
    "load": pl.String,
    "rank": pl.Int64,
    "weight": pl.Float64,
    "slots": pl.Int64,
}
TRAINING_COLUMNS = {
    "policy": pl.String,
    "seed": pl.Int64,
    "slots": pl.Float64,
    "metric": pl.String,
    "value": pl.Float64,
    "parameters": pl.Int64,
}
CURVES = ("packet_access", "assignment_success", "reward")
"""What of a training curve is reported."""


class AttentionProbe:
    """A policy that is watched while it plays: it scores as it always does.

    Channels are ranked by their busy slots in the window, ties by index; ``sums`` [K] gathers the
    attention on each rank over rows, users and slots. The first H slots, whose window is partly
    padding, do not count.
    """

    privilege = Privilege.NONE

    def __init__(self, policy: FrozenPolicy, channels: int) -> None:
        self.policy = policy
        self.name = policy.name
        self.sums: npt.NDArray[np.float64] = np.zeros(channels)
        self.slots = 0

    def start(self, keys: EpisodeKeys) -> None:
        """Begin new episodes; what was gathered stays."""
        self.policy.start(keys)

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """The policy's own scores."""
        if observation.slot >= observation.occupancy.shape[1]:
            self._watch(observation)
        return self.policy.score(observation, secrets)

    def _watch(self, observation: Observation) -> None:
        weights = self.policy.attention(observation)
        busy = observation.occupancy.sum(axis=1, dtype=np.int64)
        ranked = np.argsort(busy, axis=1, kind="stable")
        self.sums += np.take_along_axis(weights, ranked[:, None], axis=2).sum(
            axis=(0, 1), dtype=np.float64
        )
        self.slots += weights.shape[0] * weights.shape[1]


def attention_by_rank(
    reference: str,
    scenario: Scenario,
    protocol: Protocol,
    *,
    threads: int,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Mean attention of the QoS token by occupancy rank, for every seed and fixed load.

    It is null if no slot counted, because all lie in the first window.
    """
    loads = scenario.load.names

    def watch(seed: int) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for load in loads:
            policy = build_policy(reference, scenario, seed)
            if not isinstance(policy, FrozenPolicy) or not policy.attends:
                raise UserError(f"policy {reference!r}: has no attention to show")
            probe = AttentionProbe(policy, scenario.channels)
            one = Protocol((seed,), protocol.steps)
            world = WorldGenerator(scenario).draw(one.keys(scenario), fixed_load(scenario, load))
            ledger = Ledger.opened(world, one.lengths(scenario), one.row_seed(scenario), 1)
            tell = None if progress is None else _each_slot(progress, len(world.keys))
            play(probe, ServiceOrder.FIXED, world, ledger, reference=reference, on_slot=tell)
            rows += [
                {
                    "policy": reference,
                    "seed": seed,
                    "load": load,
                    "rank": rank,
                    "weight": float(total / probe.slots) if probe.slots else None,
                    "slots": probe.slots,
                }
                for rank, total in enumerate(probe.sums)
            ]
        return rows

    with ThreadPoolExecutor(threads) as pool:
        found = [row for rows in pool.map(watch, protocol.seeds) for row in rows]
    return pl.DataFrame(found, schema=ATTENTION_COLUMNS)


def _each_slot(progress: Progress, rows: int) -> Any:
    return lambda: progress(rows)


def training_curves(names: Iterable[str], scenario: Scenario) -> pl.DataFrame:
    """The training curves that the shipped policies carry in their files."""
    rows: list[dict[str, Any]] = []
    for name in names:
        for seed, path in sorted(frozen.shipped()[name].items()):
            metadata = load_policy(path, scenario).metadata
            rows += [
                {"policy": name, "seed": seed, "slots": point["slots"], "metric": metric,
                 "value": point[metric], "parameters": metadata["parameters"]}
                for point in _points(metadata, f"{name}, seed {seed}")
                for metric in CURVES
                if metric in point
            ]  # fmt: skip
    return pl.DataFrame(rows, schema=TRAINING_COLUMNS)


def _points(metadata: dict[str, Any], whose: str) -> Sequence[dict[str, float]]:
    curve = metadata.get("training_curve")
    if not isinstance(curve, list) or not all(isinstance(p, dict) and "slots" in p for p in curve):
        raise UserError(f"policy {whose}: its file carries no training curve")
    return curve
