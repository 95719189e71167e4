"""The terms of the losses, against cases worked out by hand."""

import math

import numpy as np
import pytest
import torch

from tacan.networks.network import Judgement
from tacan.training.losses import (
    LossWeights,
    Minibatch,
    clipped_surrogate,
    cloning_loss,
    masked_log_softmax,
    ppo_loss,
)

SURROGATE_ALONE = LossWeights(clip=0.2, value=0.0, entropy=0.0, forecast=0.0)


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


def test_the_clip_holds_gains_not_losses() -> None:
    """min(rho A, clip(rho) A) at clip 0.2, for ratios on both sides and both signs of A."""
    ratio = torch.tensor([2.0, 2.0, 0.5, 0.5, 1.1, 0.9])
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    gain = clipped_surrogate(ratio.log(), torch.zeros(6), advantages, 0.2)
    torch.testing.assert_close(gain, torch.tensor([1.2, -2.0, 0.5, -0.8, 1.1, -0.9]))


def two_channels(
    new: list[list[float]], channels: list[int], advantages: torch.Tensor
) -> tuple[Judgement, Minibatch]:
    """One slot whose users chose between two channels, evenly at the time, by ``new`` now."""
    users = len(channels)
    batch = Minibatch(
        user_context=torch.arange(users).unsqueeze(0),
        channels=torch.tensor([channels]),
        taken=torch.zeros(1, users, 2, dtype=torch.bool),
        next_occupancy=torch.tensor([[0.0, 1.0]]),
        old_logits=torch.zeros(1, users, 2),
        returns=torch.zeros(1, users),
        advantages=advantages,
    )
    return Judgement(torch.tensor(new).log(), torch.zeros(users), None), batch


def test_sampled_advantages_are_normalised_and_clipped() -> None:
    """Advantages 1, 5, 5, 9 have mean 5 and spread 3.266; ratios are 1.8, 0.2, 1.1 and 0.9."""
    judgement, batch = two_channels(
        [[0.9, 0.1], [0.9, 0.1], [0.55, 0.45], [0.55, 0.45]],
        [0, 1, 0, 1],
        torch.tensor([[1.0, 5.0, 5.0, 9.0]]),
    )
    _, parts = ppo_loss(judgement, batch, SURROGATE_ALONE)
    unit = 4 / math.sqrt(32 / 3)
    # user 0 is worse than average and more likely: not clipped; user 3 is better, at 0.9
    assert parts["surrogate"].item() == pytest.approx((-1.8 * unit + 0.9 * unit) / 4, abs=1e-6)


def test_the_same_advantages_ten_times_as_large_change_nothing() -> None:
    """Both kinds of advantages are normalised in the minibatch."""
    for advantages in (torch.tensor([[1.0, 4.0]]), torch.tensor([[[2.0, -2.0], [1.0, -1.0]]])):
        gains = []
        for scale in (1.0, 10.0):
            case = two_channels([[0.55, 0.45], [0.58, 0.42]], [0, 1], scale * advantages)
            gains.append(ppo_loss(*case, SURROGATE_ALONE)[1]["surrogate"].item())
        assert abs(gains[0]) > 1e-3
        assert gains[0] == pytest.approx(gains[1], rel=1e-5)


def test_all_channel_advantages_are_normalised_and_clipped() -> None:
    """Advantages 2 and -2 spread by 2; ratios 1.8 and 0.2 are clipped to 1.2 and 0.8.

    So the surrogate is 0.5 * 1.2 * 1 + 0.5 * 0.8 * (-1) = 0.2.
    """
    case = two_channels([[0.9, 0.1]], [0], torch.tensor([[[2.0, -2.0]]]))
    total, parts = ppo_loss(*case, SURROGATE_ALONE)
    assert parts["surrogate"].item() == pytest.approx(0.2, abs=1e-6)
    assert total.item() == pytest.approx(-0.2, abs=1e-6)


def test_cloning_loss_by_hand() -> None:
    """Cross-entropy to the demonstrated channels, and the forecast at its weight."""
    judgement, batch = two_channels([[0.9, 0.1], [0.2, 0.8]], [0, 1], torch.zeros(1, 2))
    weights = LossWeights(clip=0.0, value=0.0, entropy=0.0, forecast=0.1)
    expected = -(np.log(0.9) + np.log(0.8)) / 2
    assert cloning_loss(judgement, batch, weights).item() == pytest.approx(expected, abs=1e-6)
    judgement = Judgement(judgement.logits, judgement.value, torch.zeros(2, 2))
    expected += 0.1 * np.log(2)
    assert cloning_loss(judgement, batch, weights).item() == pytest.approx(expected, abs=1e-6)
