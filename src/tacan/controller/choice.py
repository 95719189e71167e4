"""From scores to channels, within what the operator and the switch allow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacan.controller.messages import NO_CHANNEL, Choice
from tacan.observation import Observation
from tacan.policies.assignment import ServiceOrder, assign, service_order
from tacan.policies.policy import Scores


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
        usable = np.broadcast_to(scores[0], (self._users, allowed.size)).astype(np.float64)
        usable[:, ~allowed] = -np.inf
        chance = _softmax(usable)
        if self._hysteresis > 0.0:
            self._favour(usable, chance, present)
        order = service_order(self._order, observation)[0]
        room = int(np.isfinite(usable).all(axis=0).sum())
        served = order[: min(self._users, room)]
        channels = np.full(self._users, NO_CHANNEL, dtype=np.int64)
        if served.size:
            rank = np.arange(served.size, dtype=np.int64)[None]
            channels[served] = assign(usable[served][None], rank)[0]
        return _reasons(channels.tolist(), order.tolist(), usable, chance)

    def _favour(
        self,
        usable: npt.NDArray[np.float64],
        chance: npt.NDArray[np.float64],
        present: tuple[int, ...],
    ) -> None:
        for user, channel in enumerate(present):
            if channel == NO_CHANNEL or not np.isfinite(usable[user, channel]):
                continue
            if chance[user].max() - chance[user, channel] <= self._hysteresis:
                usable[user, channel] = usable[user].max() + 1.0


def _softmax(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    best = scores.max(axis=1, keepdims=True)
    weight = np.exp(scores - np.where(np.isfinite(best), best, 0.0))
    total = weight.sum(axis=1, keepdims=True)
    share: npt.NDArray[np.float64] = weight / np.where(total > 0.0, total, 1.0)
    return share


def _reasons(
    channels: list[int],
    order: list[int],
    usable: npt.NDArray[np.float64],
    chance: npt.NDArray[np.float64],
) -> tuple[Choice, ...]:
    reasons: list[Choice | None] = [None] * len(channels)
    left = usable.copy()
    for user in order:
        channel = channels[user]
        if channel == NO_CHANNEL:
            reasons[user] = Choice(user, NO_CHANNEL, None, NO_CHANNEL, None)
            continue
        left[:, channel] = -np.inf
        other = int(left[user].argmax())
        alone = not left[user, other] > -np.inf
        reasons[user] = Choice(
            user,
            channel,
            float(chance[user, channel]),
            NO_CHANNEL if alone else other,
            None if alone else float(chance[user, other]),
        )
    return tuple(reason for reason in reasons if reason is not None)
