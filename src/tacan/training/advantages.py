"""Who earned what: generalised advantages, and the counterfactual ones of every other channel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacan.scenario import EMPTY
from tacan.simulator.reward import STANDBY_CLASS, RewardTerms
from tacan.training.rollout import Rollout

Floats = npt.NDArray[np.float64]


def generalised_advantages(rollout: Rollout, discount: float, trace: float) -> Floats:
    """GAE (Schulman et al., 2016) of every user [T, B, U].

    A_t = delta_t + discount trace A_{t+1},  delta_t = r_t + discount V_{t+1} - V_t. An episode ends
    by its time limit, so the value after its last slot is bootstrapped, not zero.
    """
    values = rollout.values.astype(np.float64)
    advantages = np.empty_like(rollout.rewards)
    following = np.zeros_like(rollout.rewards[0])
    for t in range(rollout.rewards.shape[0] - 1, -1, -1):
        delta = rollout.rewards[t] + discount * values[t + 1] - values[t]
        following = delta + discount * trace * following
        advantages[t] = following
    return advantages


def masked_probabilities(
    logits: npt.NDArray[np.float32], taken: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """The policy over the channels that are left: softmax with the taken ones at zero."""
    scores = np.where(taken, -np.inf, logits.astype(np.float64))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probabilities: npt.NDArray[np.float64] = weights / weights.sum(axis=-1, keepdims=True)
    return probabilities


def counterfactual_advantages(rollout: Rollout) -> Floats:
    """What every channel would have earned its user, less what the policy expects [T, B, U, K].

    Primary users do not react and every channel's occupancy is seen after the slot, so the reward
    that user i would have had on any channel k left to it is known, not estimated:

        A_{t,i}(k) = r_{t,i}(k) - sum_j pi(j) r_{t,i}(j),
        r_{t,i}(k) = w_T [k idle in t] - beta [k busy in t] + terms that do not depend on k.

    The effect on later slots, which runs only through the user's own queue, is left out. Channels
    taken by earlier users get 0: the policy cannot choose them.
    """
    terms = RewardTerms.of(rollout.world.scenario)
    code = np.where(rollout.queue_class == EMPTY, STANDBY_CLASS, rollout.queue_class)
    stake = terms.success[code] + terms.collision_penalty
    if terms.packet_gated:
        stake = np.where(rollout.queue_class == EMPTY, 0.0, stake)
    idle = 1.0 - rollout.next_occupancy[:, :, None, :]
    probability = masked_probabilities(rollout.logits, rollout.taken)
    gain = idle - (probability * idle).sum(axis=-1, keepdims=True)
    advantages: Floats = np.where(rollout.taken, 0.0, stake[..., None] * gain)
    return advantages
