"""The simulator: B episodes side by side, a slot as a recipe.

Slot t: the policy observes history up to and including slot t - 1 and chooses a channel for every
secondary user; traffic moves on to slot t; success is judged on slot t's occupancy.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from tacan.errors import UserError
from tacan.observation import Observation, controller_vector_size, write_controller_vectors
from tacan.scenario import Scenario
from tacan.simulator.queues import Queues, SlotFacts, serve_slot
from tacan.simulator.reward import RewardTerms
from tacan.simulator.world import World


class Privilege(IntEnum):
    """What a policy is allowed to know beyond its observation."""

    NONE = 0
    PLACEMENT = 1
    STATE = 2
    NEXT_SLOT = 3


@dataclass(frozen=True)
class Secrets:
    """Hidden state, handed to oracles only; a field beyond the asked privilege is None."""

    load: npt.NDArray[np.float64] | None = None
    """[B], from PLACEMENT on"""
    device_channel: npt.NDArray[np.int32] | None = None
    """[B, N], from PLACEMENT on"""
    remaining: npt.NDArray[np.uint16] | None = None
    """[B, N]: busy slots a device had left in slot t - 1, from STATE on"""
    next_occupancy: npt.NDArray[np.uint8] | None = None
    """[B, K]: the slot being decided, NEXT_SLOT only"""


class Simulator:
    """Plays a world slot by slot. It owns its queues and facts and mutates them in place."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.scenario: Scenario = world.scenario
        self.slot = 0
        self.facts = SlotFacts.empty(len(world.keys), self.scenario.users)
        self.queues = Queues.starting_with(world.initial, self.scenario.secondary.queue_capacity)
        # looked up once, because every slot needs them
        self._terms = RewardTerms.of(self.scenario).record()
        self._history = self.scenario.history
        self._episode_slots = self.scenario.episode_slots
        self._delay_horizon = self.scenario.reward.delay_horizon
        self._vectors_shape = (self.rows, controller_vector_size(self.scenario))

    @property
    def rows(self) -> int:
        """B, the number of episodes side by side."""
        return len(self.world.keys)

    @property
    def done(self) -> bool:
        """Whether the episodes have been played to their end."""
        return self.slot >= self._episode_slots

    def observe(self) -> Observation:
        """What a policy may know at the decision for this slot."""
        window = slice(self.slot, self.slot + self.scenario.history)
        return Observation(
            occupancy=self.world.occupancy[:, window],
            entropy=self.world.entropy[:, window],
            queue_class=self.queues.head_class.copy(),
            queue_delay=self.queues.head_delay.copy(),
            slot=self.slot,
        )

    def controller_vectors(self) -> npt.NDArray[np.float32]:
        """``observation.controller_vectors`` of what ``observe`` would show, in half the time."""
        world, queues = self.world, self.queues
        vectors = np.empty(self._vectors_shape, dtype=np.float32)
        write_controller_vectors(
            self.slot,
            self._history,
            world.occupancy,
            world.entropy,
            queues.head_class,
            queues.head_delay,
            self._delay_horizon,
            vectors,
        )
        return vectors

    def reveal(self, privilege: Privilege) -> Secrets | None:
        """The hidden state that an oracle of this privilege may see, None without privilege."""
        privilege = Privilege(privilege)  # a plain 0 of somebody's policy is no privilege either
        if privilege is Privilege.NONE:
            return None
        remaining = next_occupancy = None
        if privilege >= Privilege.STATE:
            if self.world.remaining is None:
                raise ValueError("this world was drawn without keep_devices: no oracle can see it")
            before = self.world.remaining[:, max(self.slot - 1, 0)]
            remaining = before if self.slot else np.zeros_like(before)
        if privilege is Privilege.NEXT_SLOT:
            next_occupancy = self.world.occupancy[:, self.scenario.history + self.slot]
        return Secrets(self.world.load, self.world.device_channel, remaining, next_occupancy)

    def step(self, channels: npt.NDArray[np.integer]) -> SlotFacts:
        """Play one slot with these channels [B, U]; the facts are overwritten by the next step."""
        if self.done:
            raise ValueError(f"the episodes ended after {self.slot} slots: draw a new world")
        facts, queues = self.facts, self.queues
        if channels.shape != facts.channel.shape:
            raise UserError(f"channels have shape {channels.shape}, not {facts.channel.shape}")
        in_range = serve_slot(
            self.slot,
            self._history,
            channels,
            self.world.occupancy,
            self.world.arrivals,
            self._terms,
            queues.packets,
            queues.heads,
            facts.record,
            facts.total_reward,
        )
        if not in_range:
            highest = self.scenario.channels - 1
            row, user = np.argwhere((channels < 0) | (channels > highest))[0]
            raise UserError(
                f"channel {channels[row, user]} for user {user}: lies outside 0 to {highest}"
            )
        self.slot += 1
        return facts
