"""What every network answers: logits, a value, and perhaps a forecast of the next slot."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from tacan.networks.contexts import DecisionTensors


@dataclass(frozen=True)
class Judgement:
    """A network's answer for N contexts."""

    logits: torch.Tensor
    """[N, K]: eq:logits, before any masking"""
    value: torch.Tensor
    """[N]"""
    forecast: torch.Tensor | None
    """[N, K]: logits of next-slot occupancy from the auxiliary head, None without one"""


class PolicyNetwork(nn.Module):
    """A network over contexts. Subclasses say whether they tell users apart."""

    identity: bool = False
    """whether a context tells who the user is"""

    def forward(self, batch: DecisionTensors) -> Judgement:
        """Judge the channels in every context."""
        raise NotImplementedError

    def parameter_count(self) -> int:
        """The number of learned scalars."""
        return sum(parameter.numel() for parameter in self.parameters())


def last_layer(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer that starts near zero: the first policy is the prior, not noise."""
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=0.01)
    nn.init.zeros_(layer.bias)
    return layer
