"""The flat baselines: the paper's PPO+MLP, and one matched to TACAN."""

from __future__ import annotations

import torch
from torch import nn

from tacan.networks.contexts import DecisionTensors
from tacan.networks.network import Judgement, PolicyNetwork, last_layer
from tacan.observation import user_vector_size
from tacan.scenario import Scenario

WIDTH = 256
MATCHED_WIDTH = 312
HEAD_WIDTHS = (256, 64)


def flat_vectors(batch: DecisionTensors) -> torch.Tensor:
    """eq:obs, [O | E | q | d | u] of every context: [N, 2 H K + C + 1 + U]."""
    history = torch.cat([batch.occupancy.flatten(1), batch.entropy.flatten(1)], dim=1)
    return torch.cat([history.index_select(0, batch.context_slot), batch.context], dim=1)


class Mlp(PolicyNetwork):
    """PPO+MLP of the paper: 328-256-256, then 20 logits and a value; 155,413 parameters."""

    identity = True

    def __init__(self, scenario: Scenario) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(user_vector_size(scenario), WIDTH),
            nn.ReLU(),
            nn.Linear(WIDTH, WIDTH),
            nn.ReLU(),
        )
        self.policy_head = last_layer(WIDTH, scenario.channels)
        self.value_head = nn.Linear(WIDTH, 1)

    def policy_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits of every context [N, K]."""
        logits: torch.Tensor = self.policy_head(hidden).float()
        return logits

    def forward(self, batch: DecisionTensors) -> Judgement:
        """Logits and value of every context; no forecast."""
        hidden = self.body(flat_vectors(batch))
        value = self.value_head(hidden).squeeze(-1).float()
        return Judgement(self.policy_logits(hidden), value, None)


class MatchedMlp(PolicyNetwork):
    """A flat network matched to TACAN in capacity and supervision.

    486,130 parameters in the paper's scenario (TACAN: 485,892), the same value head, an auxiliary
    head that forecasts the next slot, and the greedy prior with its learned weight.
    """

    identity = True

    def __init__(self, scenario: Scenario) -> None:
        super().__init__()
        width = MATCHED_WIDTH
        self.body = nn.Sequential(
            nn.Linear(user_vector_size(scenario), width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.policy_head = last_layer(width, scenario.channels)
        self.greedy_prior = nn.Parameter(torch.ones(()))
        self.forecast_head = nn.Sequential(
            nn.Linear(width, HEAD_WIDTHS[0]),
            nn.ReLU(),
            nn.Linear(HEAD_WIDTHS[0], scenario.channels),
        )
        self.value_head = nn.Sequential(
            nn.Linear(width, HEAD_WIDTHS[0]),
            nn.ReLU(),
            nn.Linear(HEAD_WIDTHS[0], HEAD_WIDTHS[1]),
            nn.ReLU(),
            nn.Linear(HEAD_WIDTHS[1], 1),
        )

    def policy_logits(self, batch: DecisionTensors, hidden: torch.Tensor) -> torch.Tensor:
        """Logits with the greedy prior, as in eq:logits [N, K]."""
        occupied = batch.occupancy.sum(dim=1).index_select(0, batch.context_slot)
        logits: torch.Tensor = self.policy_head(hidden).float()
        return logits - self.greedy_prior * occupied

    def forward(self, batch: DecisionTensors) -> Judgement:
        """Logits, value and forecast of every context."""
        hidden = self.body(flat_vectors(batch))
        return Judgement(
            logits=self.policy_logits(batch, hidden),
            value=self.value_head(hidden).squeeze(-1).float(),
            forecast=self.forecast_head(hidden).float(),
        )
