"""Advantages, sampling and losses, against cases worked out by hand."""

import numpy as np
import pytest
import torch

from tacan.networks.network import Judgement
from tacan.scenario import load_scenario
from tacan.training.advantages import counterfactual_advantages, generalised_advantages
from tacan.training.learner import Learner, learning_rate
from tacan.training.losses import LossWeights, Minibatch, masked_log_softmax, ppo_loss
from tacan.training.rollout import Rollout, play
from tacan.training.settings import TrainingSettings, load_settings
from training_fakes import flat_judge, tiny_world


def test_generalised_advantages_by_hand() -> None:
    """Two slots, discount 0.5, trace 0.5, values 1, 2 and 4 behind the time limit."""
    rollout = play(tiny_world(1), flat_judge, explore=False)
    rollout.rewards[:] = 0
    rollout.values[:] = 0
    rollout.rewards[18:, 0, 0] = [3.0, 1.0]
    rollout.values[18:, 0, 0] = [1.0, 2.0, 4.0]
    advantages = generalised_advantages(rollout, 0.5, 0.5)
    # slot 19: 1 + 0.5 * 4 - 2 = 1; slot 18: 3 + 0.5 * 2 - 1 + 0.25 * 1 = 3.25
    assert advantages[19, 0, 0] == pytest.approx(1.0)
    assert advantages[18, 0, 0] == pytest.approx(3.25)
    assert advantages[17, 0, 0] == pytest.approx(0.5 * 1.0 + 0.25 * 3.25)


def test_counterfactual_advantages_are_what_each_channel_would_have_earned() -> None:
    """Replaying a slot with another channel changes the reward by the difference of advantages."""
    world = tiny_world()
    rollout = play(world, flat_judge, explore=True)
    advantages = counterfactual_advantages(rollout)
    terms = world.scenario.reward
    weights = [
        world.scenario.classes.urllc,
        world.scenario.classes.mmtc,
        world.scenario.classes.embb,
    ]
    for t, b, u in [(0, 0, 0), (7, 1, 1), (19, 2, 0)]:
        free = np.flatnonzero(~rollout.taken[t, b, u])
        code = rollout.queue_class[t, b, u]
        gain = weights[1 if code < 0 else code].success_weight
        busy = world.occupancy[b, world.scenario.history + t]
        earned = np.where(busy == 0, gain, -terms.collision_penalty)
        shift = advantages[t, b, u, free] - earned[free]
        np.testing.assert_allclose(shift, shift[0], atol=1e-12)
    probability = np.exp(rollout.logits) * ~rollout.taken
    probability /= probability.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose((probability * advantages).sum(-1), 0.0, atol=1e-6)


def test_exploration_samples_the_masked_softmax() -> None:
    """User 0's channels come as softmax(0, 1, 2, 3); user 1 never takes user 0's channel."""
    rollout = play(tiny_world(400), flat_judge, explore=True)
    share = np.bincount(rollout.channels[:, :, 0].ravel(), minlength=4) / rollout.slots
    # 8,000 draws: the standard error of the largest share (0.644) is 0.005
    np.testing.assert_allclose(share, [0.0321, 0.0871, 0.2369, 0.6439], atol=0.02)
    assert (rollout.channels[:, :, 0] != rollout.channels[:, :, 1]).all()
    taken = np.take_along_axis(rollout.taken[:, :, 1], rollout.channels[:, :, :1], axis=2)
    assert taken.all()
    assert not rollout.taken[:, :, 0].any()


def test_a_rollout_remembers_what_was_known() -> None:
    """The observation rebuilt for slot t holds slots t-H .. t-1, and the target is slot t."""
    world = tiny_world()
    rollout = play(world, flat_judge, explore=False)
    seen = rollout.observation(np.array([6]), np.array([2]))
    np.testing.assert_array_equal(seen.occupancy[0], world.occupancy[2, 6:10])
    np.testing.assert_array_equal(rollout.next_occupancy[6, 2], world.occupancy[2, 10])


def minibatch(advantages: torch.Tensor) -> Minibatch:
    """One slot, two users, three channels; user 1 cannot choose channel 0."""
    return Minibatch(
        user_context=torch.tensor([[0, 1]]),
        channels=torch.tensor([[0, 2]]),
        taken=torch.tensor([[[False, False, False], [True, False, False]]]),
        next_occupancy=torch.tensor([[0.0, 1.0, 0.0]]),
        old_logits=torch.zeros(1, 2, 3),
        returns=torch.tensor([[1.0, 3.0]]),
        advantages=advantages,
    )


def test_ppo_loss_by_hand() -> None:
    """Unchanged logits: zero surrogate by normalisation, entropies log 3 and log 2, value 2.5."""
    judgement = Judgement(torch.zeros(2, 3), torch.tensor([0.0, 1.0]), torch.zeros(2, 3))
    weights = LossWeights(clip=0.2, value=0.5, entropy=0.1, forecast=0.1)
    total, parts = ppo_loss(judgement, minibatch(torch.tensor([[1.0, -1.0]])), weights)
    entropy = (np.log(3) + np.log(2)) / 2
    assert parts["surrogate"].item() == pytest.approx(0.0, abs=1e-6)
    assert parts["value"].item() == pytest.approx((1 + 4) / 2)
    assert parts["entropy"].item() == pytest.approx(entropy)
    assert parts["forecast"].item() == pytest.approx(np.log(2))
    expected = 0.5 * 2.5 - 0.1 * entropy + 0.1 * np.log(2)
    assert total.item() == pytest.approx(expected, abs=1e-6)


def test_all_channel_surrogate_pulls_towards_the_better_channels() -> None:
    """The gradient raises the logit of the channel with the highest advantage most."""
    logits = torch.zeros(2, 3, requires_grad=True)
    judgement = Judgement(logits, torch.zeros(2), None)
    advantages = torch.tensor([[[1.0, -1.0, 0.0], [0.0, -1.0, 1.0]]])
    weights = LossWeights(clip=0.2, value=0.0, entropy=0.0, forecast=0.0)
    total, _ = ppo_loss(judgement, minibatch(advantages), weights)
    total.backward()
    assert logits.grad is not None
    assert logits.grad[0].argmin() == 0
    assert logits.grad[0].argmax() == 1
    assert logits.grad[1].argmin() == 2
    assert logits.grad[1, 0] == 0.0  # user 1 could not choose it


def test_taken_channels_have_no_probability() -> None:
    """The masked softmax spreads all probability over the channels that are left."""
    taken = torch.tensor([True, False, False])
    policy = masked_log_softmax(torch.tensor([9.0, 0.0, 0.0]), taken).exp()
    torch.testing.assert_close(policy, torch.tensor([0.0, 0.5, 0.5]))


def test_learning_rate_warms_up_and_anneals() -> None:
    """3e-4 after 3 % of the run, half-way down the cosine the mean of both ends, then 1e-5."""
    settings = TrainingSettings()
    assert learning_rate(settings, 0.015) == pytest.approx(1.5e-4)
    assert learning_rate(settings, 0.03) == pytest.approx(3e-4)
    assert learning_rate(settings, 0.515) == pytest.approx(1.55e-4)
    assert learning_rate(settings, 1.0) == pytest.approx(1e-5)


def test_the_fast_path_learns_what_the_plain_path_learns() -> None:
    """Merged contexts and every user by itself give the same losses over the first updates."""
    changes = {"rollout_episodes": 2, "minibatch_slots": 20, "epochs": 1, "precision": "fp32"}
    curves = []
    for distinct in (True, False):
        settings = load_settings(changes={**changes, "distinct_contexts": distinct, "threads": 1})
        learner = Learner("tacan", load_scenario("tiny"), settings, 4)
        rollout = play(tiny_world(2), learner.judge, explore=True)
        log = learner.improve(rollout, (0,), 0.5, 0.1)
        curves.append([log[name] for name in ("surrogate", "value", "entropy", "forecast")])
    np.testing.assert_allclose(curves[0], curves[1], atol=2e-5)


def test_rollout_shapes() -> None:
    """Values have one row more than rewards: the bootstrap behind the time limit."""
    rollout = play(tiny_world(3), flat_judge, explore=False)
    assert isinstance(rollout, Rollout)
    assert rollout.values.shape == (21, 3, 2)
    assert rollout.rewards.shape == (20, 3, 2)
    assert rollout.slots == 60
