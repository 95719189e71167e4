"""What a policy may know, built the same way for the simulator and for a live radio (eq:obs).

At the decision for slot t an observation holds slots t-H .. t-1 and nothing of slot t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacan.scenario import CLASSES, Scenario

CLASS_COUNT = len(CLASSES)


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


def user_vectors(observation: Observation, delay_horizon: int) -> npt.NDArray[np.float32]:
    """eq:obs, [O | E | q | d | u] of every user: [B, U, 2 H K + C + 1 + U]."""
    rows, users = observation.queue_class.shape
    cells = observation.occupancy[0].size
    vectors = np.empty((rows, users, 2 * cells + CLASS_COUNT + 1 + users), dtype=np.float32)
    vectors[:, :, :cells] = observation.occupancy.reshape(rows, 1, cells)
    vectors[:, :, cells : 2 * cells] = observation.entropy.reshape(rows, 1, cells)
    vectors[:, :, 2 * cells : -users] = queue_context(observation, delay_horizon)
    vectors[:, :, -users:] = np.eye(users, dtype=np.float32)
    return vectors


def controller_vectors(observation: Observation, delay_horizon: int) -> npt.NDArray[np.float32]:
    """[O | E | q_1 d_1 | .. | q_U d_U], all users at once: [B, 2 H K + U (C + 1)]."""
    rows, users = observation.queue_class.shape
    cells = observation.occupancy[0].size
    vectors = np.empty((rows, 2 * cells + users * (CLASS_COUNT + 1)), dtype=np.float32)
    vectors[:, :cells] = observation.occupancy.reshape(rows, cells)
    vectors[:, cells : 2 * cells] = observation.entropy.reshape(rows, cells)
    vectors[:, 2 * cells :] = queue_context(observation, delay_horizon).reshape(rows, -1)
    return vectors
