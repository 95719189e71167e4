"""Decisions in torch: what a network's forward pass takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from tacan.policies.contexts import DecisionBatch


@dataclass(frozen=True)
class DecisionTensors:
    """A ``DecisionBatch`` in torch, with the same shapes."""

    occupancy: torch.Tensor
    """[S, H, K], as floats"""
    entropy: torch.Tensor
    """[S, H, K]"""
    context: torch.Tensor
    """[N, C + 1] or [N, C + 1 + U]"""
    context_slot: torch.Tensor
    """[N]"""

    @staticmethod
    def of(batch: DecisionBatch, device: torch.device) -> DecisionTensors:
        """The same batch on a torch device."""
        return DecisionTensors(
            occupancy=torch.from_numpy(np.ascontiguousarray(batch.occupancy)).to(device).float(),
            entropy=torch.from_numpy(np.ascontiguousarray(batch.entropy)).to(device),
            context=torch.from_numpy(batch.context).to(device),
            context_slot=torch.from_numpy(batch.context_slot).to(device),
        )
