"""Whole episodes under a policy that is learning, and what is needed to learn from them.

A rollout starts at episode starts, so the state of a run between two rollouts is nothing but the
network, the optimizer and a counter: every random stream follows from (seed, episode).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit
from tacan.observation import Observation
from tacan.policies.assignment import ServiceOrder, assign, service_order
from tacan.simulator.simulator import Simulator
from tacan.simulator.streams import RandomStream
from tacan.simulator.world import World

Judge = Callable[[Observation], tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]]
"""An observation of B rows -> logits [B, U, K] and values [B, U]."""


@dataclass(frozen=True)
class Rollout:
    """B episodes of T slots as they were played; everything by [T, B, ..]."""

    world: World
    queue_class: npt.NDArray[np.int8]
    """[T, B, U]"""
    queue_delay: npt.NDArray[np.int32]
    """[T, B, U]"""
    channels: npt.NDArray[np.int64]
    """[T, B, U]"""
    taken: npt.NDArray[np.bool_]
    """[T, B, U, K]: chosen before by another user of the slot"""
    logits: npt.NDArray[np.float32]
    """[T, B, U, K]: of the policy that played"""
    values: npt.NDArray[np.float32]
    """[T + 1, B, U]: the last row bootstraps the cut at the time limit"""
    rewards: npt.NDArray[np.float64]
    """[T, B, U]"""
    success: npt.NDArray[np.bool_]
    """[T, B, U]"""

    @property
    def slots(self) -> int:
        """Slots played in all episodes together."""
        return int(self.rewards[..., 0].size)

    @property
    def next_occupancy(self) -> npt.NDArray[np.uint8]:
        """[T, B, K]: occupancy of the slot that each decision was for."""
        return self.world.occupancy[:, self.world.scenario.history :].swapaxes(0, 1)

    def observation(self, slot: npt.NDArray[np.int64], row: npt.NDArray[np.int64]) -> Observation:
        """What was known at these decisions, as a batch of S rows."""
        window = slot[:, None] + np.arange(self.world.scenario.history)
        return Observation(
            occupancy=self.world.occupancy[row[:, None], window],
            entropy=self.world.entropy[row[:, None], window],
            queue_class=self.queue_class[slot, row],
            queue_delay=self.queue_delay[slot, row],
            slot=0,
        )


@njit(cache=True, nogil=True)
def _mark_taken(channels: Any, order: Any, taken: Any) -> None:
    rows, users = channels.shape
    for b in range(rows):
        for later in range(users):
            for earlier in range(later):
                taken[b, order[b, later], channels[b, order[b, earlier]]] = True


def play(world: World, judge: Judge, *, explore: bool) -> Rollout:
    """Play a world in the fixed service order.

    Exploring samples every user's channel from the softmax over the channels that are left: adding
    Gumbel noise to the logits and choosing the best one left is exactly that draw.
    """
    simulator = Simulator(world)
    scenario = world.scenario
    slots, rows, users = scenario.episode_slots, simulator.rows, scenario.users
    shape = (slots, rows, users)
    rollout = Rollout(
        world=world,
        queue_class=np.empty(shape, dtype=np.int8),
        queue_delay=np.empty(shape, dtype=np.int32),
        channels=np.empty(shape, dtype=np.int64),
        taken=np.zeros((*shape, scenario.channels), dtype=np.bool_),
        logits=np.empty((*shape, scenario.channels), dtype=np.float32),
        values=np.empty((slots + 1, rows, users), dtype=np.float32),
        rewards=np.empty(shape, dtype=np.float64),
        success=np.empty(shape, dtype=np.bool_),
    )
    noise = RandomStream(world.keys)
    for t in range(slots):
        observation = simulator.observe()
        logits, rollout.values[t] = judge(observation)
        scores = logits
        if explore:
            uniform = noise.uniform(users * scenario.channels).reshape(logits.shape)
            scores = logits - np.log(-np.log(np.clip(uniform, 1e-12, 1.0 - 1e-12)))
        order = service_order(ServiceOrder.FIXED, observation)
        channels = assign(scores.astype(np.float64), order)
        _mark_taken(channels, order, rollout.taken[t])
        facts = simulator.step(channels)
        rollout.queue_class[t] = observation.queue_class
        rollout.queue_delay[t] = observation.queue_delay
        rollout.channels[t] = channels
        rollout.logits[t] = logits
        rollout.rewards[t] = facts.reward
        rollout.success[t] = facts.success
    _, rollout.values[slots] = judge(simulator.observe())
    return rollout
