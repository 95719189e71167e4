"""The networks against the paper's equations, written out plainly: one decision at a time.

Nothing of the modules is used but their weights, so every term of an equation that a module drops
or changes shows.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tacan.networks.catalogue import build_network
from tacan.networks.contexts import DecisionTensors
from tacan.networks.network import Judgement, PolicyNetwork
from tacan.observation import Observation
from tacan.policies.contexts import DecisionBatch
from tacan.scenario import load_scenario

Weights = dict[str, np.ndarray]

ROWS, USERS, HISTORY, CHANNELS, HEADS, DELAY_HORIZON = 3, 4, 8, 20, 4, 50


def observation() -> Observation:
    """Random slots in the paper's shape; some queues are empty, some users alike."""
    draws = np.random.default_rng(1)
    queue_class = draws.integers(-1, 3, (ROWS, USERS)).astype(np.int8)
    return Observation(
        occupancy=draws.integers(0, 2, (ROWS, HISTORY, CHANNELS)).astype(np.uint8),
        entropy=draws.random((ROWS, HISTORY, CHANNELS)).astype(np.float32),
        queue_class=queue_class,
        queue_delay=np.where(queue_class < 0, 0, 30).astype(np.int32),
        slot=9,
    )


def shaken_network(method: str) -> PolicyNetwork:
    """A network none of whose weights is 0 or 1, as biases, scales and priors are at first."""
    network = build_network(method, load_scenario("paper"), 2)
    draws = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for weight in network.parameters():
            weight.add_(0.1 * torch.randn(weight.shape, generator=draws))
    return network.double().eval()


def judged(network: PolicyNetwork, seen: Observation) -> tuple[Judgement, DecisionBatch]:
    """What the network answers to every distinct context, in double precision."""
    batch = DecisionBatch.of(seen, DELAY_HORIZON, identity=network.identity)
    tensors = DecisionTensors.of(batch, torch.device("cpu"))
    doubled = {name: array.double() for name, array in vars(tensors).items()}
    doubled["context_slot"] = tensors.context_slot
    with torch.no_grad():
        return network(DecisionTensors(**doubled)), batch


def weights_of(network: PolicyNetwork) -> Weights:
    return {name: tensor.numpy() for name, tensor in network.state_dict().items()}


def queue_vector(seen: Observation, row: int, user: int) -> list[float]:
    """[q | d]: one-hot class and the delay as a share of the horizon; nothing when empty."""
    code = int(seen.queue_class[row, user])
    delay = np.float32(seen.queue_delay[row, user] / DELAY_HORIZON)
    return [float(code == 0), float(code == 1), float(code == 2), float(delay)]


def linear(weights: Weights, name: str, vector: np.ndarray) -> np.ndarray:
    """W x + b."""
    return weights[f"{name}.weight"] @ vector + weights[f"{name}.bias"]


def norm(weights: Weights, name: str, vector: np.ndarray) -> np.ndarray:
    """LN: zero mean, unit variance, then scale and shift."""
    centred = vector - vector.mean()
    scaled = centred / math.sqrt((centred**2).mean() + 1e-5)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def gelu(vector: np.ndarray) -> np.ndarray:
    """x Phi(x)."""
    return np.array([x * 0.5 * (1.0 + math.erf(x / math.sqrt(2.0))) for x in vector])


def relu(vector: np.ndarray) -> np.ndarray:
    return np.where(vector > 0.0, vector, 0.0)


def attend(weights: Weights, block: str, normed: list[np.ndarray]) -> list[np.ndarray]:
    """MHA: in each head softmax(q k / sqrt(d / heads)) v; the heads side by side, then W_o."""
    width = normed[0].size
    size = width // HEADS
    parts = [linear(weights, f"{block}.query_key_value", token) for token in normed]
    mixed = []
    for query in parts:
        heads = []
        for head in range(HEADS):
            own = slice(head * size, (head + 1) * size)
            keys = [part[width : 2 * width][own] for part in parts]
            values = [part[2 * width :][own] for part in parts]
            scores = np.array([query[:width][own] @ key for key in keys]) / math.sqrt(size)
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            heads.append(sum(share * value for share, value in zip(shares, values, strict=True)))
        mixed.append(linear(weights, f"{block}.attention_out", np.concatenate(heads)))
    return mixed


def tacan_by_hand(
    weights: Weights, seen: Observation, row: int, user: int
) -> tuple[np.ndarray, float, np.ndarray]:
    """Logits, value and forecast of one user of one slot, by the paper's equations."""
    occupancy = seen.occupancy[row].astype(float)
    entropy = seen.entropy[row].astype(float)
    qos = linear(weights, "qos_embedding.linear", np.array(queue_vector(seen, row, user)))
    tokens = [gelu(norm(weights, "qos_embedding.norm", qos))]
    for k in range(CHANNELS):  # eq:token
        mean = occupancy[:, k].sum() / HISTORY
        features = np.concatenate([occupancy[:, k], entropy[:, k], [mean]])
        embedded = linear(weights, "channel_embedding.linear", features)
        tokens.append(gelu(norm(weights, "channel_embedding.norm", embedded)))
    tokens = [token + weights["position"][place] for place, token in enumerate(tokens)]
    for block in ("blocks.0", "blocks.1"):
        normed = [norm(weights, f"{block}.attention_norm", token) for token in tokens]
        mixed = attend(weights, block, normed)
        tokens = [token + change for token, change in zip(tokens, mixed, strict=True)]
        for place, token in enumerate(tokens):
            inner = linear(weights, f"{block}.feed_in", norm(weights, f"{block}.feed_norm", token))
            tokens[place] = token + linear(weights, f"{block}.feed_out", gelu(inner))
    first, *channels = [norm(weights, "final_norm", token) for token in tokens]
    prior = weights["greedy_prior"] * occupancy.sum(axis=0)
    scores = [linear(weights, "policy_head", token)[0] for token in channels]
    pooled = first + sum(channels) / CHANNELS
    hidden = gelu(linear(weights, "value_head.0", pooled))
    hidden = gelu(linear(weights, "value_head.2", hidden))
    forecast = [
        linear(weights, "forecast_head.2", gelu(linear(weights, "forecast_head.0", token)))[0]
        for token in channels
    ]
    value = float(linear(weights, "value_head.4", hidden)[0])
    return np.array(scores) - prior, value, np.array(forecast)


def flat_by_hand(
    weights: Weights, seen: Observation, row: int, user: int, layers: int
) -> tuple[np.ndarray, np.ndarray]:
    """The last hidden layer of a flat network over eq:obs, and the channels' occupied slots."""
    occupancy = seen.occupancy[row].astype(float)
    who = [float(user == other) for other in range(USERS)]
    context = [*queue_vector(seen, row, user), *who]
    hidden = np.concatenate([occupancy.ravel(), seen.entropy[row].ravel(), context])
    for layer in range(layers):
        hidden = relu(linear(weights, f"body.{2 * layer}", hidden))
    return hidden, occupancy.sum(axis=0)


@pytest.mark.parametrize(("row", "user"), [(0, 0), (1, 3), (2, 2)])
def test_tacan_is_the_papers_equations(row: int, user: int) -> None:
    """Tokens, positions, both blocks and the three heads, term by term."""
    network, seen = shaken_network("tacan"), observation()
    answer, batch = judged(network, seen)
    logits, value, forecast = tacan_by_hand(weights_of(network), seen, row, user)
    context = batch.user_context[row, user]
    assert answer.forecast is not None
    # float() in the heads leaves single precision
    np.testing.assert_allclose(answer.logits[context], logits, rtol=1e-5, atol=1e-5)
    assert answer.value[context].item() == pytest.approx(value, rel=1e-5, abs=1e-5)
    np.testing.assert_allclose(answer.forecast[context], forecast, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("row", "user"), [(0, 0), (2, 3)])
def test_the_papers_flat_network_has_no_prior(row: int, user: int) -> None:
    """PPO+MLP: two hidden layers, a policy and a value head, nothing else."""
    network, seen = shaken_network("mlp"), observation()
    answer, batch = judged(network, seen)
    weights = weights_of(network)
    hidden, _ = flat_by_hand(weights, seen, row, user, layers=2)
    context = batch.user_context[row, user]
    expected = linear(weights, "policy_head", hidden)
    np.testing.assert_allclose(answer.logits[context], expected, rtol=1e-5, atol=1e-5)
    value = linear(weights, "value_head", hidden)[0]
    assert answer.value[context].item() == pytest.approx(value, rel=1e-5, abs=1e-5)
    assert answer.forecast is None


@pytest.mark.parametrize(("row", "user"), [(0, 0), (2, 3)])
def test_the_matched_network_has_prior_and_forecast(row: int, user: int) -> None:
    """mlp-matched: three hidden layers and TACAN's heads; its logits carry the greedy prior."""
    network, seen = shaken_network("mlp-matched"), observation()
    answer, batch = judged(network, seen)
    weights = weights_of(network)
    hidden, occupied = flat_by_hand(weights, seen, row, user, layers=3)
    context = batch.user_context[row, user]
    expected = linear(weights, "policy_head", hidden) - weights["greedy_prior"] * occupied
    np.testing.assert_allclose(answer.logits[context], expected, rtol=1e-5, atol=1e-5)
    deeper = relu(linear(weights, "value_head.0", hidden))
    value = linear(weights, "value_head.4", relu(linear(weights, "value_head.2", deeper)))[0]
    assert answer.value[context].item() == pytest.approx(value, rel=1e-5, abs=1e-5)
    inner = relu(linear(weights, "forecast_head.0", hidden))
    assert answer.forecast is not None
    np.testing.assert_allclose(
        answer.forecast[context], linear(weights, "forecast_head.2", inner), rtol=1e-5, atol=1e-5
    )
