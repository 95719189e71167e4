"""Distinct channels from scores: users choose one after the other, in a service order."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit
from tacan.observation import Observation
from tacan.policies.policy import Scores
from tacan.scenario import CLASSES, EMPTY, PacketClass

URLLC = CLASSES.index(PacketClass.URLLC)
QUEUED_WEIGHT, URLLC_WEIGHT = 1 << 40, 1 << 39


class ServiceOrder(StrEnum):
    """Who chooses first."""

    FIXED = "fixed"
    """user 0, 1, 2, ... in every slot (the paper's)"""
    QUEUED_FIRST = "queued-first"
    """users with a packet before users without; among them URLLC first, then the longest wait"""
    ROTATING = "rotating"
    """the fixed order, starting one user later every slot"""


def service_order(order: ServiceOrder, observation: Observation) -> npt.NDArray[np.int64]:
    """The users in the order in which they choose, [B, U]; ties go to the lower index."""
    rows, users = observation.queue_class.shape
    match order:
        case ServiceOrder.FIXED:
            line = np.arange(users)
        case ServiceOrder.ROTATING:
            line = (np.arange(users) + observation.slot) % users
        case ServiceOrder.QUEUED_FIRST:
            urgency = observation.queue_delay.astype(np.int64)
            urgency += QUEUED_WEIGHT * (observation.queue_class != EMPTY)
            urgency += URLLC_WEIGHT * (observation.queue_class == URLLC)
            return np.argsort(-urgency, axis=1, kind="stable")
    return np.broadcast_to(line, (rows, users))


@njit(cache=True, nogil=True)
def _choose(scores: Any, order: Any, channels: Any, taken: Any) -> Any:
    rows, users = order.shape
    for b in range(rows):
        taken[:] = False
        for position in range(users):
            u = order[b, position]
            row = scores[b, u if scores.shape[1] > 1 else 0]
            best = -1
            for k in range(row.shape[0]):
                if taken[k] or not row[k] > -np.inf:  # NaN fails this test as well
                    continue
                if best < 0 or row[k] > row[best]:
                    best = k
            if best < 0:
                return b
            taken[best] = True
            channels[b, u] = best
    return -1


def assign(scores: Scores, order: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The best channel left for every user in turn [B, U]; ties go to the lowest index."""
    rows, users = order.shape
    if scores.ndim != 3 or scores.shape[:2] not in {(rows, 1), (rows, users)}:
        # compiled code does not check: it would read what lies beside the array
        raise ValueError(f"scores of shape {scores.shape} cannot serve {rows} x {users} users")
    channels = np.empty(order.shape, dtype=np.int64)
    failed = _choose(scores, order, channels, np.zeros(scores.shape[-1], dtype=np.bool_))
    if failed >= 0:
        raise ValueError(
            f"row {failed}: fewer usable channels than users (masked, or scores of NaN)"
        )
    return channels
