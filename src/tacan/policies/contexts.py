"""Decisions as arrays: slots, and the distinct contexts that each of them is judged in.

The channel tokens are the same for all users of a slot, and TACAN's QoS token is [class | delay]
only, so users of equal class and delay have identical forward passes. A batch therefore holds every
slot once and every *distinct* context of a slot once, and says which context each user has. The
flat networks also see who the user is (eq:obs), so there every user is a context of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit
from tacan.observation import Observation, queue_context


@njit(cache=True, nogil=True)
def _first_alike(queue_class: Any, queue_delay: Any, first: Any) -> None:
    """For every user the lowest user of its slot with the same class and delay [S, U]."""
    for s in range(queue_class.shape[0]):
        for u in range(queue_class.shape[1]):
            first[s, u] = u
            for v in range(u):
                if (
                    queue_class[s, v] == queue_class[s, u]
                    and queue_delay[s, v] == queue_delay[s, u]
                ):
                    first[s, u] = v
                    break


@dataclass(frozen=True)
class DecisionBatch:
    """S slots with N contexts."""

    occupancy: npt.NDArray[np.uint8]
    """[S, H, K]"""
    entropy: npt.NDArray[np.float32]
    """[S, H, K]"""
    context: npt.NDArray[np.float32]
    """[N, C + 1] or, with the user's identity, [N, C + 1 + U]"""
    context_slot: npt.NDArray[np.int64]
    """[N]: the slot of a context, ascending"""
    user_context: npt.NDArray[np.int64]
    """[S, U]: the context of a user"""

    @staticmethod
    def of(
        observation: Observation, delay_horizon: int, *, identity: bool, distinct: bool = True
    ) -> DecisionBatch:
        """The decisions of an observation.

        ``identity`` adds who the user is, which makes every user a context of its own. Without it
        ``distinct`` merges equal contexts; turning it off is the plain way, for comparison.
        """
        slots, users = observation.queue_class.shape
        context = queue_context(observation, delay_horizon)
        if identity:
            who = np.broadcast_to(np.eye(users, dtype=np.float32), (slots, users, users))
            context = np.concatenate([context, who], axis=2)
        first = np.broadcast_to(np.arange(users), (slots, users))
        if distinct and not identity:
            first = np.empty((slots, users), dtype=np.int64)
            _first_alike(observation.queue_class, observation.queue_delay, first)
        keep = first == np.arange(users)
        number = np.cumsum(keep).reshape(slots, users) - 1
        return DecisionBatch(
            occupancy=observation.occupancy,
            entropy=observation.entropy,
            context=context[keep],
            context_slot=np.nonzero(keep)[0],
            user_context=np.take_along_axis(number, first, axis=1),
        )
