"""What a policy may know, built the same way for the simulator and for a live radio (eq:obs).

At the decision for slot t an observation holds slots t-H .. t-1 and nothing of slot t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit
from tacan.scenario import CLASSES, EMPTY, Scenario

CLASS_COUNT = len(CLASSES)
UNKNOWN_ENTROPY = 1.0
"""Padding before the first report: nobody on air, and a classifier that knows nothing."""


@dataclass(slots=True)
class Observation:
    """The controller's view before a slot, for B episodes (or radios) side by side."""

    occupancy: npt.NDArray[np.uint8]
    """[B, H, K]: 1 where a primary user was on; oldest slot first, newest last"""
    entropy: npt.NDArray[np.float32]
    """[B, H, K]: normalised entropy of the modulation posterior (eq:modent)"""
    queue_class: npt.NDArray[np.int8]
    """[B, U]: class code of each user's head-of-line packet, -1 for an empty queue"""
    queue_delay: npt.NDArray[np.int32]
    """[B, U]: slots that packet has waited, 0 for an empty queue"""
    slot: int
    """slots seen since the start; of the H slots of history, older ones are padding"""


def blank_observation(scenario: Scenario, rows: int = 1) -> Observation:
    """What is known by whoever has seen nothing."""
    cells = (rows, scenario.history, scenario.channels)
    return Observation(
        occupancy=np.zeros(cells, dtype=np.uint8),
        entropy=np.full(cells, UNKNOWN_ENTROPY, dtype=np.float32),
        queue_class=np.full((rows, scenario.users), EMPTY, dtype=np.int8),
        queue_delay=np.zeros((rows, scenario.users), dtype=np.int32),
        slot=0,
    )


def user_vector_size(scenario: Scenario) -> int:
    """The length of ``user_vectors``: 328 in the paper's scenario."""
    return 2 * scenario.history * scenario.channels + CLASS_COUNT + 1 + scenario.users


def controller_vector_size(scenario: Scenario) -> int:
    """The length of ``controller_vectors``: 336 in the paper's scenario."""
    return 2 * scenario.history * scenario.channels + scenario.users * (CLASS_COUNT + 1)


def queue_context(observation: Observation, delay_horizon: int) -> npt.NDArray[np.float32]:
    """[q | d] of every user [B, U, C + 1]: one-hot class and delay / d_max; zero when empty."""
    context = np.empty((*observation.queue_class.shape, CLASS_COUNT + 1), dtype=np.float32)
    context[..., :CLASS_COUNT] = observation.queue_class[..., None] == np.arange(CLASS_COUNT)
    context[..., CLASS_COUNT] = np.minimum(observation.queue_delay / delay_horizon, 1.0)
    return context


@njit(cache=True, nogil=True)
def _write_history(first: Any, history: Any, occupancy: Any, entropy: Any, vector: Any) -> None:
    """[O | E] of one row: ``history`` slots from row ``first`` of [slots, K] on."""
    channels = occupancy.shape[1]
    cells = history * channels
    for h in range(history):
        for k in range(channels):
            vector[h * channels + k] = occupancy[first + h, k]
            vector[cells + h * channels + k] = entropy[first + h, k]


@njit(cache=True, nogil=True)
def _write_context(start: Any, code: Any, delay: Any, delay_horizon: Any, vector: Any) -> None:
    """[q | d] of one user from ``start`` on: one-hot class and delay / d_max; zero when empty."""
    for c in range(CLASS_COUNT):
        vector[start + c] = code == c
    vector[start + CLASS_COUNT] = min(delay / delay_horizon, 1.0)


@njit(cache=True, nogil=True)
def _write_user_vectors(
    occupancy: Any, entropy: Any, codes: Any, delays: Any, delay_horizon: Any, vectors: Any
) -> None:
    rows, users = codes.shape
    history, channels = occupancy.shape[1:]
    context = 2 * history * channels
    identity = context + CLASS_COUNT + 1
    for b in range(rows):
        _write_history(0, history, occupancy[b], entropy[b], vectors[b, 0])
        for u in range(users):
            # copying what was written beats gathering it anew from the strided history
            for i in range(context):
                vectors[b, u, i] = vectors[b, 0, i]
            _write_context(context, codes[b, u], delays[b, u], delay_horizon, vectors[b, u])
            for v in range(users):
                vectors[b, u, identity + v] = v == u


@njit(cache=True, nogil=True)
def write_controller_vectors(
    first: Any,
    history: Any,
    occupancy: Any,
    entropy: Any,
    codes: Any,
    delays: Any,
    delay_horizon: Any,
    vectors: Any,
) -> None:
    """``controller_vectors`` of the ``history`` slots from ``first`` on, of [B, slots, K]."""
    rows, users = codes.shape
    context = 2 * history * occupancy.shape[2]
    for b in range(rows):
        _write_history(first, history, occupancy[b], entropy[b], vectors[b])
        for u in range(users):
            start = context + u * (CLASS_COUNT + 1)
            _write_context(start, codes[b, u], delays[b, u], delay_horizon, vectors[b])


def user_vectors(observation: Observation, delay_horizon: int) -> npt.NDArray[np.float32]:
    """eq:obs, [O | E | q | d | u] of every user: [B, U, 2 H K + C + 1 + U]."""
    rows, users = observation.queue_class.shape
    _, history, channels = observation.occupancy.shape
    width = 2 * history * channels + CLASS_COUNT + 1 + users
    vectors = np.empty((rows, users, width), dtype=np.float32)
    _write_user_vectors(
        observation.occupancy,
        observation.entropy,
        observation.queue_class,
        observation.queue_delay,
        delay_horizon,
        vectors,
    )
    return vectors


def controller_vectors(observation: Observation, delay_horizon: int) -> npt.NDArray[np.float32]:
    """[O | E | q_1 d_1 | .. | q_U d_U], all users at once: [B, 2 H K + U (C + 1)]."""
    rows, users = observation.queue_class.shape
    _, history, channels = observation.occupancy.shape
    width = 2 * history * channels + users * (CLASS_COUNT + 1)
    vectors = np.empty((rows, width), dtype=np.float32)
    write_controller_vectors(
        0,
        history,
        observation.occupancy,
        observation.entropy,
        observation.queue_class,
        observation.queue_delay,
        delay_horizon,
        vectors,
    )
    return vectors
