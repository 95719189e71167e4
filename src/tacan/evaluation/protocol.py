"""What every policy is put through: which seeds, how many slots, which loads.

A seed of an evaluation is a seed of ``Domain.EVALUATION``. Training draws from another domain, so
the same number names other trajectories there: held-out by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacan.errors import UserError
from tacan.policies.assignment import ServiceOrder
from tacan.scenario import Scenario
from tacan.simulator.streams import Domain, EpisodeKeys

PAPER_SEEDS = (42, 123, 7, 2024, 314)
CONTINUATION_START = 10_001
"""The sixth seed; the following ones count up from it."""
MOST_SEEDS = 10_000
MOST_STEPS = 100_000_000
MIXED = "mixed"
ALL = "all"


def evaluation_seeds(count: int) -> tuple[int, ...]:
    """The first ``count`` seeds: the paper's five, then 10001, 10002, ..."""
    if not 1 <= count <= MOST_SEEDS:
        raise UserError(f"seeds = {count}: must lie between 1 and {MOST_SEEDS}")
    further = range(CONTINUATION_START, CONTINUATION_START + count - len(PAPER_SEEDS))
    return (*PAPER_SEEDS[:count], *further)


def paired_seeds(count: int) -> tuple[int, ...]:
    """The seeds of a comparison by seed: one seed has no spread, and so no interval."""
    if count < 2:
        raise UserError(f"seeds = {count}: a paired comparison needs two or more")
    return evaluation_seeds(count)


@dataclass(frozen=True)
class Protocol:
    """Matched trajectories: the same seeds, and the same slots of each, for every policy."""

    seeds: tuple[int, ...]
    steps: int
    """slots of every seed, as whole episodes; the last one is cut where it must be"""

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds) or min(self.seeds) < 0:
            raise UserError(
                f"seeds = {list(self.seeds)}: must be different numbers from 0 on, at least one"
            )
        if not 1 <= self.steps <= MOST_STEPS:
            raise UserError(f"steps = {self.steps}: must lie between 1 and {MOST_STEPS}")

    def episodes(self, scenario: Scenario) -> int:
        """E, the number of episodes of every seed, a cut one included."""
        return -(-self.steps // scenario.episode_slots)

    def lengths(self, scenario: Scenario) -> npt.NDArray[np.int64]:
        """How many slots of each row are played, [seeds x E]."""
        lengths = np.full(self.episodes(scenario), scenario.episode_slots, dtype=np.int64)
        lengths[-1] = self.steps - (len(lengths) - 1) * scenario.episode_slots
        return np.tile(lengths, len(self.seeds))

    def row_seed(self, scenario: Scenario) -> npt.NDArray[np.int64]:
        """The position in ``seeds`` of each row: one seed's rows stand together, [seeds x E]."""
        return np.repeat(np.arange(len(self.seeds)), self.episodes(scenario))

    def keys(self, scenario: Scenario) -> EpisodeKeys:
        """The episodes of all rows: 0, 1, .. of the first seed, then of the next."""
        episodes = np.tile(np.arange(self.episodes(scenario)), len(self.seeds))
        seeds = np.asarray(self.seeds)[self.row_seed(scenario)]
        return EpisodeKeys.of(Domain.EVALUATION, seeds, episodes)


def load_names(scenario: Scenario, load: str) -> tuple[str, ...]:
    """``all``: mixed and each fixed regime; else the one named."""
    if load == ALL:
        return (MIXED, *scenario.load.names)
    if load != MIXED:
        scenario.load_index(load, besides=f"{MIXED}, {ALL}")
    return (load,)


def fixed_load(scenario: Scenario, load: str) -> int | None:
    """The index of a fixed regime; None for mixed load, drawn anew in every episode."""
    return None if load == MIXED else scenario.load_index(load)


def service_orders(order: str) -> tuple[ServiceOrder, ...]:
    """``all`` orders, or the one named."""
    known = tuple(ServiceOrder)
    if order == ALL:
        return known
    if order not in known:
        raise UserError(f"order {order!r} is not known: choose all or one of {', '.join(known)}")
    return (ServiceOrder(order),)


def without_repeats(names: Sequence[str]) -> tuple[str, ...]:
    """Each name once, where it stood first."""
    return tuple(dict.fromkeys(names))
