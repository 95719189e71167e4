"""The reward of one secondary user in one slot (eq:reward)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit
from tacan.scenario import CLASSES, EMPTY, PacketClass, Scenario

URLLC = CLASSES.index(PacketClass.URLLC)
STANDBY_CLASS = CLASSES.index(PacketClass.MMTC)
"""An empty queue is rewarded like an mMTC packet of no age (the paper's rule)."""


REWARD_RECORD = np.dtype(
    [
        ("success", np.float64, (len(CLASSES),)),
        ("delay", np.float64, (len(CLASSES),)),
        ("collision_penalty", np.float64),
        ("deadline_penalty", np.float64),
        ("deadline_slots", np.int64),
        ("delay_horizon", np.int64),
        ("packet_gated", np.bool_),
    ],
    align=True,
)


class RewardTerms(NamedTuple):
    """The constants of eq:reward."""

    success: npt.NDArray[np.float64]
    """w_T [C]"""
    delay: npt.NDArray[np.float64]
    """w_D [C]"""
    collision_penalty: float
    deadline_penalty: float
    deadline_slots: int
    delay_horizon: int
    packet_gated: bool

    @staticmethod
    def of(scenario: Scenario) -> RewardTerms:
        """The terms of a scenario."""
        settings = scenario.reward
        return RewardTerms(
            scenario.by_class("success_weight"),
            scenario.by_class("delay_weight"),
            settings.collision_penalty,
            settings.deadline_penalty,
            settings.deadline_slots,
            settings.delay_horizon,
            settings.packet_gated,
        )

    def record(self) -> npt.NDArray[np.void]:
        """The terms as kernels take them: one record in an array is the quickest to hand over."""
        return np.array([tuple(self)], dtype=REWARD_RECORD)


@njit(cache=True, inline="always")
def slot_reward(
    terms: Any, packet_class: Any, delay: Any, success: Any, primary_collision: Any
) -> Any:
    """eq:reward: w_T [success] - w_D min(d / d_max, 1) - beta [PU collision] - delta [late URLLC].

    With ``packet_gated`` a slot with an empty queue earns nothing, else the paper's standby rule.
    """
    if packet_class == EMPTY and terms.packet_gated:
        return 0.0
    code = STANDBY_CLASS if packet_class == EMPTY else packet_class
    reward = -terms.delay[code] * min(delay / terms.delay_horizon, 1.0)
    if success:
        reward += terms.success[code]
    if primary_collision:
        reward -= terms.collision_penalty
    if packet_class == URLLC and delay > terms.deadline_slots:
        reward -= terms.deadline_penalty
    return reward
