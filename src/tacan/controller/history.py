"""State aggregation: the last H slots as the observation that every policy knows."""

from __future__ import annotations

import numpy as np

from tacan.controller.messages import FIRST_DECISION, Report
from tacan.observation import UNKNOWN_ENTROPY, Observation
from tacan.scenario import Scenario


class History:
    """A window over the slots, kept twice in a row so that every window is one slice."""

    def __init__(self, scenario: Scenario) -> None:
        self._depth = scenario.history
        shape = (2 * scenario.history, scenario.channels)
        self._occupancy = np.zeros(shape, dtype=np.uint8)
        self._entropy = np.full(shape, UNKNOWN_ENTROPY, dtype=np.float32)
        self._next = 0
        self._seen = 0

    def restart(self) -> None:
        """Forget all slots."""
        self._occupancy[:] = 0
        self._entropy[:] = UNKNOWN_ENTROPY
        self._next = self._seen = 0

    def push(self, report: Report) -> Observation | None:
        """Take one slot in; the observation after it, None if it is only history.

        The observation is a copy: a policy that is late may still be reading it.
        """
        for place in (self._next, self._next + self._depth):
            self._occupancy[place] = report.occupancy
            self._entropy[place] = report.entropy
        self._next = (self._next + 1) % self._depth
        if report.slot >= 0:
            self._seen += 1
        if report.slot < FIRST_DECISION:
            return None
        window = slice(self._next, self._next + self._depth)
        return Observation(
            occupancy=self._occupancy[None, window].copy(),
            entropy=self._entropy[None, window].copy(),
            queue_class=report.queue_class[None].copy(),
            queue_delay=report.queue_delay[None].copy(),
            slot=self._seen,
        )
