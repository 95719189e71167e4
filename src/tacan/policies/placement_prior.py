"""What is known of a channel before it was seen: how many devices of each class sit on it.

Every device is thrown on one of K channels, so a channel's count of a class is Binomial(devices,
1 / K), independently of the other classes. (The counts of different channels are very slightly
dependent, through their totals; that is ignored.)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, log1p

import numpy as np
import numpy.typing as npt

from tacan.scenario import CLASSES, Scenario

LIKELIEST_COUNTS = 64
"""of one class that are considered"""
MOST_COMPOSITIONS = 4_096
"""Only met where hundreds of devices share few channels: there the likeliest are considered."""
LEFT_OUT = 1e-5
"""the prior mass of the compositions that are not considered"""


@dataclass(frozen=True)
class PlacementPrior:
    """The compositions of a channel worth considering, the likeliest first."""

    counts: npt.NDArray[np.int64]
    """[J, C]: devices of every class"""
    weights: npt.NDArray[np.float64]
    """[J], adding up to 1"""


def _binomial(trials: int, channels: int) -> npt.NDArray[np.float64]:
    """P(a channel holds n of the devices) for n = 0 .. trials."""
    if channels == 1:
        return np.append(np.zeros(trials), 1.0)
    hit, miss = -log(channels), log1p(-1.0 / channels)
    return np.exp(
        [
            lgamma(trials + 1)
            - lgamma(n + 1)
            - lgamma(trials - n + 1)
            + n * hit
            + (trials - n) * miss
            for n in range(trials + 1)
        ]
    )


def placement_prior(scenario: Scenario) -> PlacementPrior:
    """The likeliest compositions, which hold all but ``LEFT_OUT`` of the mass."""
    counts = np.zeros((1, 0), dtype=np.int64)
    weights = np.ones(1)
    for name in CLASSES:
        law = _binomial(scenario.classes[name].devices, scenario.channels)
        likeliest = np.sort(np.argsort(-law, kind="stable")[:LIKELIEST_COUNTS])
        counts = np.column_stack(
            [np.repeat(counts, len(likeliest), axis=0), np.tile(likeliest, len(counts))]
        )
        weights = np.outer(weights, law[likeliest]).ravel()
    order = np.argsort(-weights, kind="stable")
    kept = int(np.searchsorted(np.cumsum(weights[order]), (1.0 - LEFT_OUT) * weights.sum())) + 1
    order = order[: min(kept, MOST_COMPOSITIONS)]
    return PlacementPrior(counts[order], weights[order] / weights[order].sum())


def hazard_prior(
    scenario: Scenario,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """A channel's possible sums of lambda, equal ones merged, and their prior weights."""
    prior = placement_prior(scenario)
    sums = np.round(prior.counts @ (1.0 / scenario.by_class("mean_idle_slots")), 9)
    rates, place = np.unique(sums, return_inverse=True)
    weights = np.zeros(len(rates))
    np.add.at(weights, place, prior.weights)
    return rates, weights
