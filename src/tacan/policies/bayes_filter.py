"""CALIBRATION's Bayes filter: the placement and the load, inferred from the whole episode.

A channel's hazard is h = l * (the sum of its devices' lambda). While it is idle all its devices
are, so it stays idle for another slot with probability exp(-h), whatever came before. Its
sufficient statistics are then n0, its idle slots that stayed idle, and n1, its busy onsets:

    P(n0, n1 | h) = exp(-h n0) (1 - exp(-h))^n1,

over the prior of compositions (placement_prior.py) and the loads, whose posterior all channels
share. With L(n0, n1) the log evidence of a channel under a load, the posterior mean of exp(-h) is
exp(L(n0 + 1, n1) - L(n0, n1)): one table answers everything.

Channels idle now are ranked by that mean, and busy ones after them by the same. Burst lengths and
modulation are ignored; bayes_renewal.py adds the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit
from tacan.observation import Observation
from tacan.policies.load_posterior import to_shares
from tacan.policies.placement_prior import hazard_prior
from tacan.policies.policy import Scores
from tacan.scenario import Scenario
from tacan.simulator.simulator import Privilege, Secrets
from tacan.simulator.streams import EpisodeKeys

TABLED_SLOTS = 300
"""Statistics of at most so many slots are tabled; longer episodes are worked out as they come."""
SMALLEST_HAZARD = 1e-9
"""Keeps the evidence finite when a channel that should hold nobody turns busy (live radios)."""


class BayesFilterPolicy:
    """Ranks by the posterior probability that an idle channel stays idle; then the busy ones."""

    name = "bayes-filter"
    privilege = Privilege.NONE

    def __init__(self, scenario: Scenario) -> None:
        rates, weights = hazard_prior(scenario)
        loads = np.asarray(scenario.load.multipliers)
        self._channels = scenario.channels
        self._hazards = np.maximum(loads[:, None] * rates, SMALLEST_HAZARD)
        self._onsets = np.log(-np.expm1(-self._hazards))
        self._log_weights = np.log(weights)
        with np.errstate(divide="ignore"):  # a load that never occurs has no mass
            self._log_load = np.log(scenario.load.probabilities)
        slots = min(scenario.episode_slots, TABLED_SLOTS)
        self._evidence = np.empty((len(loads), slots + 2, slots // 2 + 2))
        _fill_evidence(self._hazards, self._onsets, self._log_weights, self._evidence)

    def start(self, keys: EpisodeKeys) -> None:
        """Forget all slots: before slot 0 every channel was idle."""
        shape = (len(keys), self._channels)
        self._stayed: npt.NDArray[np.int64] = np.zeros(shape, dtype=np.int64)
        self._turned: npt.NDArray[np.int64] = np.zeros(shape, dtype=np.int64)
        self._busy: npt.NDArray[np.bool_] = np.zeros(shape, dtype=np.bool_)

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """The posterior mean of exp(-h), less one where the last slot was busy."""
        del secrets
        scores = np.empty((len(self._busy), 1, self._channels))
        _filter(
            observation.occupancy[:, -1],
            observation.slot > 0,
            self._hazards,
            self._onsets,
            self._log_weights,
            self._log_load,
            self._evidence,
            self._stayed,
            self._turned,
            self._busy,
            scores,
        )
        return scores


@njit(cache=True)
def _log_evidence(
    hazards: Any, onsets: Any, log_weights: Any, load: Any, stayed: Any, turned: Any
) -> Any:
    """L(n0, n1) under a load: the log of a sum of exponentials, over the hazards [loads, J]."""
    top = -np.inf
    for j in range(log_weights.shape[0]):
        top = max(top, log_weights[j] - hazards[load, j] * stayed + onsets[load, j] * turned)
    total = 0.0
    for j in range(log_weights.shape[0]):
        log_term = log_weights[j] - hazards[load, j] * stayed + onsets[load, j] * turned
        total += np.exp(log_term - top)
    return top + np.log(total)


@njit(cache=True, nogil=True)
def _fill_evidence(hazards: Any, onsets: Any, log_weights: Any, evidence: Any) -> None:
    """L for all statistics [loads, n0, n1] that fit into the tabled slots: n1 onsets need 2 n1."""
    for load in range(evidence.shape[0]):
        for stayed in range(evidence.shape[1]):
            for turned in range(evidence.shape[2]):
                if stayed + 2 * turned < evidence.shape[1] + 2:
                    evidence[load, stayed, turned] = _log_evidence(
                        hazards, onsets, log_weights, load, stayed, turned
                    )


@njit(cache=True)
def _look_up(
    hazards: Any, onsets: Any, log_weights: Any, evidence: Any, load: Any, stayed: Any, turned: Any
) -> Any:
    width = evidence.shape[1]
    if stayed < width and turned < evidence.shape[2] and stayed + 2 * turned < width + 2:
        return evidence[load, stayed, turned]
    return _log_evidence(hazards, onsets, log_weights, load, stayed, turned)


@njit(cache=True, nogil=True)
def _filter(
    occupancy: Any,
    seen: Any,
    hazards: Any,
    onsets: Any,
    log_weights: Any,
    log_load: Any,
    evidence: Any,
    stayed: Any,
    turned: Any,
    busy: Any,
    scores: Any,
) -> None:
    rows, channels = busy.shape
    loads = log_load.shape[0]
    log_stays = np.empty((channels, loads))
    share = np.empty(loads)
    for b in range(rows):
        for load in range(loads):
            share[load] = log_load[load]
        for k in range(channels):
            on_air = occupancy[b, k] != 0
            if seen and not busy[b, k]:
                turned[b, k] += on_air
                stayed[b, k] += not on_air
            busy[b, k] = seen and on_air
            for load in range(loads):
                before = _look_up(
                    hazards, onsets, log_weights, evidence, load, stayed[b, k], turned[b, k]
                )
                after = _look_up(
                    hazards, onsets, log_weights, evidence, load, stayed[b, k] + 1, turned[b, k]
                )
                share[load] += before
                log_stays[k, load] = after - before
        to_shares(share)
        for k in range(channels):
            scores[b, 0, k] = -1.0 if busy[b, k] else 0.0
            for load in range(loads):
                scores[b, 0, k] += share[load] * np.exp(log_stays[k, load])
