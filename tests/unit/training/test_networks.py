"""The networks: sizes, shared contexts, attention."""

import numpy as np
import pytest
import torch

from tacan.errors import UserError
from tacan.networks.catalogue import build_network
from tacan.networks.contexts import DecisionTensors
from tacan.networks.tacan import Tacan
from tacan.observation import Observation
from tacan.policies.contexts import DecisionBatch
from tacan.scenario import load_scenario

CPU = torch.device("cpu")


def observation(rows: int = 6, users: int = 4, seed: int = 0) -> Observation:
    """A random observation in the paper's shape, with equal queue contexts among the users."""
    draws = np.random.default_rng(seed)
    return Observation(
        occupancy=draws.integers(0, 2, (rows, 8, 20)).astype(np.uint8),
        entropy=draws.random((rows, 8, 20)).astype(np.float32),
        queue_class=draws.integers(-1, 3, (rows, users)).astype(np.int8),
        queue_delay=draws.integers(0, 2, (rows, users)).astype(np.int32),
        slot=9,
    )


@pytest.mark.parametrize(
    ("method", "count"), [("tacan", 485_892), ("mlp", 155_413), ("mlp-matched", 486_130)]
)
def test_parameter_counts_are_the_papers(method: str, count: int) -> None:
    """TACAN and PPO+MLP have the paper's sizes; the matched MLP is within 1 % of TACAN."""
    assert build_network(method, load_scenario("paper"), 0).parameter_count() == count
    if method == "mlp-matched":
        assert abs(count / 485_892 - 1) < 0.01


def test_equal_contexts_are_run_once_and_judged_alike() -> None:
    """Merging users of equal class and delay changes no logit, only the number of rows."""
    network = build_network("tacan", load_scenario("paper"), 3).eval()
    seen = observation()
    merged = DecisionBatch.of(seen, 50, identity=False)
    plain = DecisionBatch.of(seen, 50, identity=False, distinct=False)
    assert plain.context.shape[0] == 24
    assert merged.context.shape[0] < 24
    with torch.no_grad():
        once = network(DecisionTensors.of(merged, CPU)).logits.numpy()[merged.user_context]
        each = network(DecisionTensors.of(plain, CPU)).logits.numpy()[plain.user_context]
    np.testing.assert_allclose(once, each, atol=1e-6)


def test_two_users_with_the_same_packet_share_a_context() -> None:
    """Users 0 and 2 have the same class and delay, users 1 and 3 an empty queue."""
    seen = observation(rows=1)
    seen.queue_class[0] = [0, -1, 0, -1]
    seen.queue_delay[0] = [3, 0, 3, 0]
    batch = DecisionBatch.of(seen, 50, identity=False)
    assert batch.user_context.tolist() == [[0, 1, 0, 1]]
    np.testing.assert_allclose(batch.context, [[1, 0, 0, 0.06], [0, 0, 0, 0]], atol=1e-7)


def test_flat_networks_keep_users_apart() -> None:
    """An identity makes every user a context of its own, one-hot behind class and delay."""
    batch = DecisionBatch.of(observation(rows=2), 50, identity=True)
    assert batch.context.shape == (8, 8)
    assert batch.context[:, 4:].argmax(axis=1).tolist() == [0, 1, 2, 3] * 2


def test_logits_follow_the_greedy_prior() -> None:
    """One more busy slot on a channel lowers its prior term by alpha_g exactly (eq:logits)."""
    network = build_network("tacan", load_scenario("paper"), 0)
    assert isinstance(network, Tacan)
    with torch.no_grad():
        network.policy_head.weight.zero_()
        network.greedy_prior.fill_(0.7)
    seen = observation(rows=1)
    seen.occupancy[:] = 0
    seen.occupancy[0, :3, 5] = 1
    batch = DecisionTensors.of(DecisionBatch.of(seen, 50, identity=False), CPU)
    with torch.no_grad():
        logits = network(batch).logits
    assert logits[0, 5].item() == pytest.approx(-2.1, abs=1e-6)
    assert logits[0, 0].item() == pytest.approx(0.0, abs=1e-6)


def test_attention_of_every_block_can_be_asked_for() -> None:
    """Each block's weights are distributions over the 21 tokens, for every head."""
    network = build_network("tacan", load_scenario("paper"), 0)
    assert isinstance(network, Tacan)
    batch = DecisionTensors.of(DecisionBatch.of(observation(), 50, identity=False), CPU)
    _, attention = network.encode(batch)
    assert len(attention) == 2
    for weights in attention:
        assert weights.shape[1:] == (4, 21, 21)
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def test_first_weights_depend_on_the_seed_alone() -> None:
    """Building twice with one seed gives the same weights and leaves torch's generator alone."""
    before = torch.random.get_rng_state()
    first, again, other = (build_network("mlp", load_scenario("paper"), s) for s in (1, 1, 2))
    assert torch.equal(before, torch.random.get_rng_state())
    same = [torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True)]
    assert all(same)
    assert not torch.equal(next(first.parameters()), next(other.parameters()))


def test_unknown_methods_are_refused() -> None:
    """A wrong method name is answered with the names there are."""
    with pytest.raises(UserError, match="must be one of tacan, mlp, mlp-matched"):
        build_network("dqn", load_scenario("paper"), 0)
