"""The Bayes filter of all that occupancy tells: onsets and burst lengths, over the whole episode.

A channel renews itself whenever it is idle (renewal.py), so the likelihood of everything seen on it
is the product of f(d) over its returns to idleness, times P(return time > a) while it has been busy
for a slots. Over the prior of compositions (placement_prior.py) and the loads, whose posterior all
channels share, this gives the exact probability that a channel is idle next,

    f(1) where it is idle now,   f(a + 1) / P(return time > a) where it has been busy for a slots,

averaged over the posterior. Nothing that is seen of primary users' occupancy is left out, so this
is the limit of any policy that hears nothing of modulation, but for the slight dependence of the
channels' compositions on each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit
from tacan.observation import Observation
from tacan.policies.load_posterior import to_shares
from tacan.policies.placement_prior import placement_prior
from tacan.policies.policy import Scores
from tacan.policies.renewal import return_law
from tacan.scenario import Scenario
from tacan.simulator.simulator import Privilege, Secrets
from tacan.simulator.streams import EpisodeKeys

LONGEST_RETURN = 256
"""A channel busy for longer counts as busy for so long."""
SMALLEST_OUTLASTING, SMALLEST_RETURN = 1e-12, 1e-14
"""Keep the posterior finite when a channel does what no composition can (live radios); a busy
period that is longer than any can be is then expected to go on."""


class BayesRenewalPolicy:
    """Ranks by the posterior probability that a channel, idle or busy now, is idle next."""

    name = "bayes-renewal"
    privilege = Privilege.NONE

    def __init__(self, scenario: Scenario) -> None:
        prior = placement_prior(scenario)
        slots = min(scenario.episode_slots + 1, LONGEST_RETURN)
        returns = np.stack(
            [return_law(scenario, load, prior.counts, slots) for load in scenario.load.multipliers]
        )
        outlasts = 1.0 - np.cumsum(returns, axis=2)
        self._channels = scenario.channels
        self._weights = prior.weights.astype(np.float32)
        self._returns = _by_return(np.maximum(returns, SMALLEST_RETURN))
        self._outlasts = _by_return(np.maximum(outlasts, SMALLEST_OUTLASTING))
        with np.errstate(divide="ignore"):  # a load that never occurs has no mass
            self._log_load = np.log(scenario.load.probabilities)

    def start(self, keys: EpisodeKeys) -> None:
        """Forget all slots: before slot 0 every channel was idle."""
        rows, loads = len(keys), len(self._log_load)
        shape = (rows, self._channels, loads, len(self._weights))
        self._posterior: npt.NDArray[np.float32] = np.empty(shape, dtype=np.float32)
        self._posterior[:] = self._weights
        self._busy_slots: npt.NDArray[np.int64] = np.zeros(shape[:2], dtype=np.int64)

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """P(idle next)."""
        del secrets
        scores = np.empty((len(self._busy_slots), 1, self._channels))
        _filter(
            observation.occupancy[:, -1],
            observation.slot > 0,
            self._returns,
            self._outlasts,
            self._log_load,
            self._posterior,
            self._busy_slots,
            scores,
        )
        return scores


def _by_return(law: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """[loads, J, d] as [d, loads, J]."""
    return np.ascontiguousarray(law.transpose(2, 0, 1), dtype=np.float32)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _renew(posterior: Any, returned: Any) -> None:
    """A return to idleness: weigh the compositions [loads, J] by it, and rescale them."""
    total = np.float32(0.0)
    for load in range(posterior.shape[0]):
        for j in range(posterior.shape[1]):
            posterior[load, j] *= returned[load, j]
            total += posterior[load, j]
    scale = np.float32(1.0) / max(total, np.float32(1e-30))
    for load in range(posterior.shape[0]):
        for j in range(posterior.shape[1]):
            posterior[load, j] *= scale


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(weights: Any, values: Any) -> Any:
    total = np.float32(0.0)
    for j in range(weights.shape[0]):
        total += weights[j] * values[j]
    return total


@njit(cache=True, nogil=True)
def _filter(
    occupancy: Any,
    seen: Any,
    returns: Any,
    outlasts: Any,
    log_load: Any,
    posterior: Any,
    busy_slots: Any,
    scores: Any,
) -> None:
    rows, channels = busy_slots.shape
    loads = log_load.shape[0]
    longest = returns.shape[0] - 1
    idle_next = np.empty((channels, loads))
    share = np.empty(loads)
    for b in range(rows):
        for load in range(loads):
            share[load] = log_load[load]
        for k in range(channels):
            if seen and occupancy[b, k]:
                busy_slots[b, k] = min(busy_slots[b, k] + 1, longest - 1)
            elif seen:
                _renew(posterior[b, k], returns[busy_slots[b, k] + 1])
                busy_slots[b, k] = 0
            age = busy_slots[b, k]
            for load in range(loads):
                weights = posterior[b, k, load]
                evidence = max(_dot(weights, outlasts[age, load]), np.float32(1e-30))
                idle_next[k, load] = _dot(weights, returns[age + 1, load]) / evidence
                share[load] += np.log(evidence)
        to_shares(share)
        for k in range(channels):
            scores[b, 0, k] = 0.0
            for load in range(loads):
                scores[b, 0, k] += share[load] * idle_next[k, load]
