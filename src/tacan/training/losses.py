"""What a minibatch is pulled towards: clipped surrogate, value, entropy and forecast."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional

from tacan.networks.network import Judgement

TINY = 1e-8


@dataclass(frozen=True)
class Minibatch:
    """S slots of a rollout in torch."""

    user_context: torch.Tensor
    """[S, U]"""
    channels: torch.Tensor
    """[S, U]"""
    taken: torch.Tensor
    """[S, U, K]"""
    next_occupancy: torch.Tensor
    """[S, K]"""
    old_logits: torch.Tensor
    """[S, U, K]"""
    returns: torch.Tensor
    """[S, U]"""
    advantages: torch.Tensor
    """[S, U] for the sampled channel, or [S, U, K] for every channel"""


@dataclass(frozen=True)
class LossWeights:
    """How the terms are weighted at this point of the schedule."""

    clip: float
    value: float
    entropy: float
    forecast: float


def masked_log_softmax(logits: torch.Tensor, taken: torch.Tensor) -> torch.Tensor:
    """Log of pi over the channels that are left; a taken one gets a large negative number."""
    return functional.log_softmax(logits.masked_fill(taken, -1e9), dim=-1)


def forecast_loss(judgement: Judgement, batch: Minibatch) -> torch.Tensor:
    """Binary cross-entropy of next-slot occupancy, every user's context counting once."""
    if judgement.forecast is None:
        return torch.zeros(())
    forecast = judgement.forecast[batch.user_context]
    target = batch.next_occupancy.unsqueeze(1).expand_as(forecast)
    return functional.binary_cross_entropy_with_logits(forecast, target)


def cloning_loss(judgement: Judgement, batch: Minibatch, weights: LossWeights) -> torch.Tensor:
    """Cross-entropy to the demonstrated channels, and the forecast."""
    log_policy = masked_log_softmax(judgement.logits[batch.user_context], batch.taken)
    chosen = log_policy.gather(-1, batch.channels.unsqueeze(-1))
    return -chosen.mean() + weights.forecast * forecast_loss(judgement, batch)


def clipped_surrogate(
    log_policy: torch.Tensor, old: torch.Tensor, advantages: torch.Tensor, clip: float
) -> torch.Tensor:
    """min(rho A, clip(rho, 1 - eps, 1 + eps) A), elementwise (L^CLIP)."""
    ratio = torch.exp(log_policy - old)
    return torch.minimum(ratio * advantages, ratio.clamp(1.0 - clip, 1.0 + clip) * advantages)


def surrogate(
    log_policy: torch.Tensor, old: torch.Tensor, batch: Minibatch, clip: float
) -> torch.Tensor:
    """L^CLIP with per-minibatch normalised advantages.

    Advantages of every channel give the expectation over the channels left instead of one sample.
    """
    advantages = batch.advantages
    if advantages.dim() == old.dim():
        probability = old.exp()
        spread = (probability * advantages.square()).sum(-1).mean().sqrt()
        gain = clipped_surrogate(log_policy, old, advantages / (spread + TINY), clip)
        return (probability * gain).sum(-1).mean()
    # the spread of one transition alone is zero, not undefined
    spread = advantages.std(correction=min(1, advantages.numel() - 1))
    advantages = (advantages - advantages.mean()) / (spread + TINY)
    index = batch.channels.unsqueeze(-1)
    chosen, old_chosen = log_policy.gather(-1, index), old.gather(-1, index)
    return clipped_surrogate(chosen.squeeze(-1), old_chosen.squeeze(-1), advantages, clip).mean()


def ppo_loss(
    judgement: Judgement, batch: Minibatch, weights: LossWeights
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The whole PPO loss, and its parts for the log."""
    log_policy = masked_log_softmax(judgement.logits[batch.user_context], batch.taken)
    old = masked_log_softmax(batch.old_logits, batch.taken)
    gain = surrogate(log_policy, old, batch, weights.clip)
    value = functional.mse_loss(judgement.value[batch.user_context], batch.returns)
    entropy = -(log_policy.exp() * log_policy.masked_fill(batch.taken, 0.0)).sum(-1).mean()
    forecast = forecast_loss(judgement, batch)
    total = -gain + weights.value * value - weights.entropy * entropy + weights.forecast * forecast
    parts = {"surrogate": gain, "value": value, "entropy": entropy, "forecast": forecast}
    return total, {name: part.detach() for name, part in parts.items()}
