"""TACAN: every channel a token, the packet in flight a QoS token, a Transformer over both."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from tacan.networks.contexts import DecisionTensors
from tacan.networks.network import Judgement, PolicyNetwork, last_layer
from tacan.observation import CLASS_COUNT
from tacan.scenario import Scenario

WIDTH = 128
BLOCKS = 2
HEADS = 4
FORECAST_WIDTH = 256
VALUE_WIDTHS = (256, 64)


class Embedding(nn.Module):
    """GELU(LN(W x + b)): features to tokens."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """[.., features] -> [.., width]."""
        return functional.gelu(self.norm(self.linear(features)))


class Block(nn.Module):
    """A pre-norm Transformer block: Z' = Z + MHA(LN(Z)), Z'' = Z' + FFN(LN(Z'))."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attention_out = nn.Linear(width, width)
        self.feed_norm = nn.LayerNorm(width)
        self.feed_in = nn.Linear(width, 4 * width)
        self.feed_out = nn.Linear(4 * width, width)

    def _heads(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        count, length, width = tokens.shape
        parts = self.query_key_value(self.attention_norm(tokens))
        parts = parts.view(count, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        return query, key, value

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """[N, K + 1, width] -> the same, and the attention weights [N, heads, K + 1, K + 1].

        Attention is plain batched products on purpose: the fused kernel's bfloat16 backward pass
        is several times slower on CPUs.
        """
        query, key, value = self._heads(tokens)
        scale = query.shape[-1] ** -0.5
        weights = torch.softmax(query @ key.transpose(-1, -2) * scale, dim=-1)
        mixed = (weights @ value).transpose(1, 2).flatten(2)
        tokens = tokens + self.attention_out(mixed)
        fed = self.feed_out(functional.gelu(self.feed_in(self.feed_norm(tokens))))
        return tokens + fed, weights


class Tacan(PolicyNetwork):
    """The paper's network: 485,892 parameters at K = 20, H = 8."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__()
        features = 2 * scenario.history + 1
        self.channel_embedding = Embedding(features, WIDTH)
        self.qos_embedding = Embedding(CLASS_COUNT + 1, WIDTH)
        self.position = nn.Parameter(0.02 * torch.randn(scenario.channels + 1, WIDTH))
        self.blocks = nn.ModuleList(Block(WIDTH, HEADS) for _ in range(BLOCKS))
        self.final_norm = nn.LayerNorm(WIDTH)
        self.policy_head = last_layer(WIDTH, 1)
        self.greedy_prior = nn.Parameter(torch.ones(()))
        self.forecast_head = nn.Sequential(
            nn.Linear(WIDTH, FORECAST_WIDTH), nn.GELU(), nn.Linear(FORECAST_WIDTH, 1)
        )
        self.value_head = nn.Sequential(
            nn.Linear(WIDTH, VALUE_WIDTHS[0]),
            nn.GELU(),
            nn.Linear(VALUE_WIDTHS[0], VALUE_WIDTHS[1]),
            nn.GELU(),
            nn.Linear(VALUE_WIDTHS[1], 1),
        )

    def tokens(self, batch: DecisionTensors) -> torch.Tensor:
        """eq:token and the QoS token with their positions: [N, K + 1, width].

        The channel tokens are computed once a slot and shared by its contexts.
        """
        history = torch.cat([batch.occupancy, batch.entropy], dim=1).transpose(1, 2)
        mean = batch.occupancy.mean(dim=1).unsqueeze(2)
        channels = self.channel_embedding(torch.cat([history, mean], dim=2))
        qos = self.qos_embedding(batch.context).unsqueeze(1)
        shared = channels.index_select(0, batch.context_slot)
        return torch.cat([qos, shared], dim=1) + self.position

    def encode(self, batch: DecisionTensors) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """The encoder's output H = [h_QoS, h_1, .., h_K], [N, K + 1, width], and the attention
        weights of every block, [N, heads, K + 1, K + 1]; token 0 is the QoS token.
        """
        tokens = self.tokens(batch)
        attention = []
        for block in self.blocks:
            tokens, weights = block(tokens)
            attention.append(weights)
        return self.final_norm(tokens), attention

    def policy_logits(self, batch: DecisionTensors, channels: torch.Tensor) -> torch.Tensor:
        """eq:logits from the encoded channels: w h_k - alpha_g sum_h o_{h,k}: [N, K]."""
        occupied = batch.occupancy.sum(dim=1).index_select(0, batch.context_slot)
        logits: torch.Tensor = self.policy_head(channels).squeeze(-1).float()
        return logits - self.greedy_prior * occupied

    def forward(self, batch: DecisionTensors) -> Judgement:
        """Logits, value and forecast of every context."""
        encoded, _ = self.encode(batch)
        channels = encoded[:, 1:]
        pooled = encoded[:, 0] + channels.mean(dim=1)
        return Judgement(
            logits=self.policy_logits(batch, channels),
            value=self.value_head(pooled).squeeze(-1).float(),
            forecast=self.forecast_head(channels).squeeze(-1).float(),
        )
