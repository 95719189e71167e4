"""eq:reward in the paper's numbers."""

from __future__ import annotations

import pytest

from tacan.scenario import load_scenario
from tacan.simulator.reward import RewardTerms, slot_reward

URLLC, MMTC, EMBB, EMPTY = 0, 1, 2, -1
PAPER = RewardTerms.of(load_scenario("paper"))
GATED = RewardTerms.of(load_scenario("paper").changed({"reward.packet_gated": True}))


@pytest.mark.parametrize(
    ("code", "delay", "success", "busy", "reward"),
    [
        # w_T - w_D d / 50 on success
        (URLLC, 1, True, False, 3.0 - 2.0 / 50),
        (MMTC, 10, True, False, 1.0 - 0.2 * 10 / 50),
        (EMBB, 25, True, False, 1.5 - 0.5 * 25 / 50),
        # a collision with a primary user costs 1.5 more; one among secondary users does not
        (EMBB, 25, False, True, -0.25 - 1.5),
        (EMBB, 25, False, False, -0.25),
        # the delay's part ends at 50 slots
        (MMTC, 51, False, False, -0.2),
        # a URLLC packet is late after 10 slots, in 11: 5 more
        (URLLC, 10, False, False, -0.4),
        (URLLC, 11, False, False, -0.44 - 5.0),
        (URLLC, 11, True, False, 3.0 - 0.44 - 5.0),
        (MMTC, 11, False, False, -0.044),
        # an empty queue counts as an mMTC packet of no age
        (EMPTY, 0, True, False, 1.0),
        (EMPTY, 0, False, True, -1.5),
        (EMPTY, 0, False, False, 0.0),
    ],
)
def test_reward_of_a_slot(code: int, delay: int, success: bool, busy: bool, reward: float) -> None:
    """Each term of the equation, alone and together."""
    assert slot_reward(PAPER, code, delay, success, busy) == pytest.approx(reward, abs=1e-12)


def test_packet_gating_ignores_empty_queues_only() -> None:
    """Gated, a standby assignment earns and costs nothing; packets are judged as before."""
    assert slot_reward(GATED, EMPTY, 0, True, False) == 0.0
    assert slot_reward(GATED, EMPTY, 0, False, True) == 0.0
    assert slot_reward(GATED, URLLC, 11, True, False) == slot_reward(PAPER, URLLC, 11, True, False)
