"""The best that can be done with a window: Bayes-optimal over a channel's last H slots."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.errors import UserError
from tacan.kernels import njit
from tacan.observation import Observation
from tacan.policies.policy import Scores
from tacan.policies.window_table import push_slot, window_table
from tacan.scenario import Scenario
from tacan.simulator.simulator import Privilege, Secrets
from tacan.simulator.streams import EpisodeKeys

LONGEST_WINDOW = 20
"""A table holds 2^H patterns."""


def read_window(argument: str | None, scenario: Scenario) -> int:
    """The window length that a reference asks for; without one, the scenario's history."""
    if argument is None:
        window = scenario.history
    elif argument.isascii() and argument.isdigit():
        window = int(argument)
    else:
        raise UserError(
            f"policy 'window-bayes:{argument}': the window must be a number of slots, "
            f"1 to {LONGEST_WINDOW}, as in window-bayes:16"
        )
    if not 1 <= window <= LONGEST_WINDOW:
        raise UserError(
            f"policy 'window-bayes' with a window of {window} slots: must be 1 to "
            f"{LONGEST_WINDOW}, as in window-bayes:16"
        )
    return window


class WindowBayesPolicy:
    """Ranks by P(idle next | the channel's own H slots, the band's occupancy in them).

    It keeps the H slots itself, so H may be longer than the observation's history.
    """

    privilege = Privilege.NONE

    def __init__(self, scenario: Scenario, window: int) -> None:
        self.name = f"window-bayes:{window}"
        self._window = window
        self._table = window_table(scenario, window)
        self._channels = scenario.channels

    def start(self, keys: EpisodeKeys) -> None:
        """Forget all slots: before slot 0 nobody was on air."""
        self._patterns: npt.NDArray[np.uint64] = np.zeros((len(keys), self._channels), np.uint64)
        self._totals: npt.NDArray[np.int64] = np.zeros(len(keys), np.int64)

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """The table's P(idle next)."""
        del secrets
        scores = np.empty((len(self._totals), 1, self._channels), dtype=np.float32)
        _look_up(
            observation.occupancy[:, -1],
            observation.slot > 0,
            self._window,
            self._table.bin_of_total,
            self._table.idle_probability,
            self._patterns,
            self._totals,
            scores,
        )
        return scores


@njit(cache=True, nogil=True)
def _look_up(
    occupancy: Any,
    seen: Any,
    window: Any,
    bin_of_total: Any,
    idle_probability: Any,
    patterns: Any,
    totals: Any,
    scores: Any,
) -> None:
    for b in range(patterns.shape[0]):
        if seen:
            totals[b] += push_slot(patterns[b], occupancy[b], window)
        row = bin_of_total[totals[b]]
        for k in range(patterns.shape[1]):
            scores[b, 0, k] = idle_probability[row, patterns[b, k]]
