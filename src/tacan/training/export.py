"""A run becomes one self-describing ONNX file that needs no torch to run."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import nn

import tacan
from tacan.errors import UserError
from tacan.networks.catalogue import build_network
from tacan.networks.contexts import DecisionTensors
from tacan.networks.mlp import MatchedMlp, Mlp, flat_vectors
from tacan.networks.network import PolicyNetwork
from tacan.networks.tacan import Tacan
from tacan.observation import CLASS_COUNT
from tacan.policies.frozen import DIGEST_KEY, FORMAT, METADATA_KEY, ZERO_DIGEST, content_digest
from tacan.scenario import Scenario, validate_scenario
from tacan.training.checkpoint import Checkpoint, replace_file

OPSET = 17
CURVE_POINTS = 60
INPUTS = ("occupancy", "entropy", "context", "context_slot")


class _TacanGraph(nn.Module):
    """Logits, and the QoS token's attention over the channels in the last block."""

    outputs = ("logits", "attention")

    def __init__(self, network: Tacan) -> None:
        super().__init__()
        self.network = network

    def forward(self, *arrays: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        batch = DecisionTensors(*arrays)
        encoded, attention = self.network.encode(batch)
        seen = attention[-1][:, :, 0, 1:].mean(dim=1)
        return (
            self.network.policy_logits(batch, encoded[:, 1:]),
            seen / seen.sum(dim=1, keepdim=True),
        )


class _MlpGraph(nn.Module):
    outputs = ("logits",)

    def __init__(self, network: Mlp) -> None:
        super().__init__()
        self.network = network

    def forward(self, *arrays: torch.Tensor) -> torch.Tensor:
        batch = DecisionTensors(*arrays)
        return self.network.policy_logits(self.network.body(flat_vectors(batch)))


class _MatchedGraph(nn.Module):
    outputs = ("logits",)

    def __init__(self, network: MatchedMlp) -> None:
        super().__init__()
        self.network = network

    def forward(self, *arrays: torch.Tensor) -> torch.Tensor:
        batch = DecisionTensors(*arrays)
        return self.network.policy_logits(batch, self.network.body(flat_vectors(batch)))


GRAPHS: dict[type[PolicyNetwork], Any] = {
    Tacan: _TacanGraph,
    Mlp: _MlpGraph,
    MatchedMlp: _MatchedGraph,
}


def onnx_model(network: PolicyNetwork, scenario: Scenario) -> onnx.ModelProto:
    """The policy's graph with named inputs and free batch sizes S (slots) and N (contexts)."""
    graph = GRAPHS[type(network)](network.cpu().eval())
    window = (2, scenario.history, scenario.channels)
    width = CLASS_COUNT + 1 + (scenario.users if network.identity else 0)
    example = (
        torch.rand(window),
        torch.rand(window),
        torch.rand(3, width),
        torch.tensor([0, 0, 1]),
    )
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # the tracing exporter is called old, but needs no further package and gives this graph
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph,
            example,
            buffer,  # type: ignore[arg-type]  # a stream is taken when dynamo is off
            dynamo=False,
            opset_version=OPSET,
            input_names=list(INPUTS),
            output_names=list(graph.outputs),
            dynamic_axes={
                **{name: {0: "S"} for name in INPUTS[:2]},
                **{name: {0: "N"} for name in (*INPUTS[2:], *graph.outputs)},
            },
        )
    return onnx.load_from_string(buffer.getvalue())


def _curve_summary(curve: list[dict[str, float]]) -> list[dict[str, float]]:
    """The training curve in at most ``CURVE_POINTS`` rows, each the mean of its neighbours."""
    parts = np.array_split(np.arange(len(curve)), min(CURVE_POINTS, len(curve)))
    rows = []
    for part in parts:
        names = [name for name in curve[part[-1]] if all(name in curve[i] for i in part)]
        means = {name: float(np.mean([curve[i][name] for i in part])) for name in names}
        rows.append(means | {"slots": curve[part[-1]]["slots"]})
    return [{name: float(f"{value:.5g}") for name, value in row.items()} for row in rows]


def export_policy(checkpoint: Checkpoint, path: Path) -> str:
    """Write a frozen policy file and return its content digest."""
    if path.suffix != ".onnx":
        raise UserError(f"{path}: a policy file's name must end in .onnx")
    if not checkpoint.curve:
        raise UserError(f"{path}: nothing to freeze, for the run has not finished a rollout yet")
    scenario = validate_scenario(checkpoint.scenario, "checkpoint")
    network = build_network(checkpoint.method, scenario, checkpoint.seed)
    network.load_state_dict(checkpoint.network)
    model = onnx_model(network, scenario)
    metadata = {
        "format": FORMAT,
        "method": checkpoint.method,
        "seed": checkpoint.seed,
        "identity": network.identity,
        "parameters": network.parameter_count(),
        "version": tacan.__version__,
        "scenario": checkpoint.scenario,
        "settings": checkpoint.settings,
        "changes": checkpoint.changes,
        "code": checkpoint.code,
        "iterations": checkpoint.iteration,
        "seconds": {name: round(value, 1) for name, value in checkpoint.seconds.items()},
        "training_curve": _curve_summary(checkpoint.curve),
    }
    onnx.helper.set_model_props(
        model,
        {METADATA_KEY: json.dumps(metadata, sort_keys=True), DIGEST_KEY: ZERO_DIGEST.decode()},
    )
    onnx.checker.check_model(model)
    content = model.SerializeToString()
    digest = content_digest(content)
    replace_file(path, content.replace(ZERO_DIGEST, digest.encode(), 1))
    return digest
