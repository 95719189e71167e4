"""From scores to channels, within what the operator and the switch allow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.controller.messages import NO_CHANNEL, Choice
from tacan.kernels import njit
from tacan.observation import Observation
from tacan.policies.assignment import ServiceOrder, assign, service_order
from tacan.policies.policy import Scores
from tacan.scenario import EMPTY


class Chooser:
    """Masks, hysteresis, service order: distinct allowed channels for as many users as there are.

    With fewer allowed channels than users, the first in the service order get them and the others
    none. Hysteresis h keeps a user's channel unless another one is more than h more probable.
    """

    def __init__(
        self,
        users: int,
        channels: int,
        order: ServiceOrder,
        masked: frozenset[int] = frozenset(),
        hysteresis: float = 0.0,
    ) -> None:
        self._users = users
        self._order = order
        self._masked = masked
        self._hysteresis = hysteresis
        self._allowed = np.ones(channels, dtype=np.bool_)
        self._compile(channels)

    def _compile(self, channels: int) -> None:
        """Choose once for nothing: compilation must not cost the first decision."""
        blank = Observation(
            occupancy=np.zeros((1, 1, channels), dtype=np.uint8),
            entropy=np.zeros((1, 1, channels), dtype=np.float32),
            queue_class=np.full((1, self._users), EMPTY, dtype=np.int8),
            queue_delay=np.zeros((1, self._users), dtype=np.int32),
            slot=0,
        )
        for kind in (np.float32, np.float64):
            scores = np.zeros((1, 1, channels), dtype=kind)
            self.choose(scores, blank, self._allowed, (NO_CHANNEL,) * self._users)

    def allow(self, down: frozenset[int]) -> npt.NDArray[np.bool_]:
        """The channels [K] that may be used now."""
        self._allowed[:] = True
        for channel in self._masked | down:
            if channel < self._allowed.size:
                self._allowed[channel] = False
        return self._allowed

    def choose(
        self,
        scores: Scores,
        observation: Observation,
        allowed: npt.NDArray[np.bool_],
        present: tuple[int, ...],
    ) -> tuple[Choice, ...]:
        """One choice for each user; ``present`` are the channels they have now [U]."""
        users, channels = self._users, allowed.size
        usable = np.empty((users, channels))
        chance = np.empty((users, channels))
        _weigh(scores[0], allowed, np.array(present), self._hysteresis, usable, chance)
        order = service_order(self._order, observation)[0]
        room = _room(usable)
        served = order[: min(users, room)]
        chosen = np.full(users, NO_CHANNEL, dtype=np.int64)
        # one way for all of them, some or none: another type of array would be compiled in the loop
        rank = np.arange(served.size)[None]
        chosen[served] = assign(usable[served][None], rank)[0]
        others = np.empty(users, dtype=np.int64)
        _runners_up(usable, order, chosen, others)
        return tuple(
            Choice(
                user,
                channel,
                None if channel == NO_CHANNEL else float(chance[user, channel]),
                other,
                None if other == NO_CHANNEL else float(chance[user, other]),
            )
            for user, (channel, other) in enumerate(
                zip(chosen.tolist(), others.tolist(), strict=True)
            )
        )


@njit(cache=True, nogil=True)
def _weigh(
    scores: Any, allowed: Any, present: Any, hysteresis: Any, usable: Any, chance: Any
) -> None:
    """Scores of the allowed channels [U, K], the others -inf; their softmax; hysteresis."""
    users, channels = usable.shape
    for u in range(users):
        best = -np.inf
        for k in range(channels):
            score = scores[u if scores.shape[0] > 1 else 0, k]
            usable[u, k] = score if allowed[k] else -np.inf
            best = max(best, usable[u, k])
        total = 0.0
        for k in range(channels):
            chance[u, k] = np.exp(usable[u, k] - best) if usable[u, k] > -np.inf else 0.0
            total += chance[u, k]
        highest = 0.0
        for k in range(channels):
            if total > 0.0:
                chance[u, k] /= total
            highest = max(highest, chance[u, k])
        now = present[u]
        stays = hysteresis > 0.0 and now >= 0 and usable[u, now] > -np.inf
        if stays and highest - chance[u, now] <= hysteresis:
            usable[u, now] = best + 1.0


@njit(cache=True, nogil=True)
def _room(usable: Any) -> Any:
    """How many channels every user could take."""
    room = 0
    for k in range(usable.shape[1]):
        free = True
        for u in range(usable.shape[0]):
            free &= usable[u, k] > -np.inf
        room += free
    return room


@njit(cache=True, nogil=True)
def _runners_up(usable: Any, order: Any, chosen: Any, others: Any) -> None:
    """The best channel [U] that was also free when the user chose, -1 if there was none."""
    taken = np.zeros(usable.shape[1], dtype=np.bool_)
    for u in order:
        others[u] = NO_CHANNEL
        if chosen[u] == NO_CHANNEL:
            continue
        taken[chosen[u]] = True
        best = -np.inf
        for k in range(usable.shape[1]):
            if not taken[k] and usable[u, k] > best:
                best = usable[u, k]
                others[u] = k
