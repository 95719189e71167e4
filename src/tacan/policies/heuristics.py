"""Yardsticks that need neither learning nor the scenario's parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit
from tacan.observation import Observation
from tacan.policies.policy import Scores
from tacan.simulator.simulator import Privilege, Secrets
from tacan.simulator.streams import EpisodeKeys, RandomStream

BUSY_NOW_PENALTY = 1.0
"""More than two shares of busy slots can differ: every idle channel comes before every busy one."""


class RandomPolicy:
    """Coordinated random: every slot, distinct channels uniformly at random."""

    name = "random"
    privilege = Privilege.NONE

    def start(self, keys: EpisodeKeys) -> None:
        """Begin the episodes' own streams of draws."""
        self._stream = RandomStream(keys)

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """Independent uniform draws: their order is a uniform permutation of the channels."""
        del secrets
        return self._stream.uniform(observation.occupancy.shape[2])[:, None, :]


class GreedyPolicy:
    """The paper's Greedy: the channels with the fewest busy slots in the history window."""

    name = "greedy"
    privilege = Privilege.NONE

    def start(self, keys: EpisodeKeys) -> None:
        """Nothing to forget: the window is in the observation."""

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """Minus the busy slots in the window."""
        del secrets
        return _negative_sums(observation.occupancy)


class GeniePolicy:
    """The paper's current-slot genie: channels idle in the last slot, uniformly among them."""

    name = "genie"
    privilege = Privilege.NONE

    def start(self, keys: EpisodeKeys) -> None:
        """Begin the episodes' own streams of draws."""
        self._stream = RandomStream(keys)

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """A uniform draw, less one where the last slot was busy."""
        del secrets
        last = observation.occupancy[:, -1]
        return (self._stream.uniform(last.shape[1]) - last)[:, None, :]


class GreedyMemoryPolicy:
    """Greedy over the whole episode: channels idle now first, then the smallest busy share.

    The share is (busy slots + 0.5) / (slots seen + 1). The padding before slot 0 is not seen.
    """

    name = "greedy-memory"
    privilege = Privilege.NONE

    def start(self, keys: EpisodeKeys) -> None:
        """Forget all slots."""
        self._rows = len(keys)
        self._busy: npt.NDArray[np.int64] | None = None
        self._seen = 0

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """Minus the busy share, less one where the last slot was busy."""
        del secrets
        last = observation.occupancy[:, -1]
        if self._busy is None:
            self._busy = np.zeros((self._rows, last.shape[1]), dtype=np.int64)
        if observation.slot > 0:
            self._busy += last
            self._seen += 1
        share = (self._busy + 0.5) / (self._seen + 1.0)
        return (-share - BUSY_NOW_PENALTY * last)[:, None, :]


@njit(cache=True, nogil=True)
def _add_negative(occupancy: Any, out: Any) -> None:
    for b in range(occupancy.shape[0]):
        for h in range(occupancy.shape[1]):
            for k in range(occupancy.shape[2]):
                out[b, 0, k] -= occupancy[b, h, k]


def _negative_sums(occupancy: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    rows, _, channels = occupancy.shape
    out = np.zeros((rows, 1, channels), dtype=np.float32)
    _add_negative(occupancy, out)
    return out
