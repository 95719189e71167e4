"""What an update does: its rates, weights, returns, gradients, minibatches and episodes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tacan.scenario import load_scenario
from tacan.simulator.streams import Domain
from tacan.training import learner as module
from tacan.training.learner import Learner, learning_rate, uses_bfloat16
from tacan.training.losses import LossWeights, Minibatch
from tacan.training.rollout import Rollout, play
from tacan.training.settings import Precision, load_settings
from training_fakes import small_run, tiny_world


class Watched:
    """A learner that writes down every minibatch, every step's rate and what it moved."""

    def __init__(self, patch: pytest.MonkeyPatch, method: str = "mlp", **changes: object) -> None:
        settings = load_settings(changes={"minibatch_slots": 20, "precision": "fp32"} | changes)
        self.learner = Learner(method, load_scenario("tiny"), settings, 4)
        self.rollout: Rollout = play(tiny_world(2), self.learner.judge, explore=True)
        self.minibatches: list[Minibatch] = []
        self.weights: list[LossWeights] = []
        self.rates: list[float] = []
        self.norms: list[float] = []
        for name in ("ppo_loss", "cloning_loss"):
            patch.setattr(module, name, self._noting(getattr(module, name)))
        step = self.learner.optimizer.step

        def noting_step() -> None:
            self.rates.append(self.learner.optimizer.param_groups[0]["lr"])
            slopes = [p.grad for p in self.learner.network.parameters() if p.grad is not None]
            self.norms.append(math.sqrt(sum(float(slope.square().sum()) for slope in slopes)))
            step()

        patch.setattr(self.learner.optimizer, "step", noting_step)

    def _noting(self, loss: Any) -> Any:
        def noting(judgement: Any, batch: Minibatch, weights: LossWeights) -> Any:
            self.minibatches.append(batch)
            self.weights.append(weights)
            return loss(judgement, batch, weights)

        return noting


def test_rates_follow_the_schedule_minibatch_by_minibatch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Half-way through a run of ten rollouts, two minibatches lie at 0.50 and 0.55 of it."""
    watched = Watched(monkeypatch)
    watched.learner.improve(watched.rollout, (0,), 0.5, 0.1)
    settings = watched.learner.settings
    expected = [learning_rate(settings, 0.5), learning_rate(settings, 0.55)]
    assert watched.rates == expected
    assert expected[0] != expected[1] != settings.learning_rate


def test_cloning_has_the_full_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever rate was left behind, the demonstrations are learned at the first one."""
    watched = Watched(monkeypatch, learning_rate=2e-4)
    watched.learner._set_rate(1.0)
    watched.learner.clone(watched.rollout, (0,))
    assert set(watched.rates) == {2e-4}


@pytest.mark.parametrize(("progress", "entropy"), [(0.0, 0.03), (0.5, 0.02), (1.0, 0.01)])
def test_the_terms_have_the_papers_weights(
    monkeypatch: pytest.MonkeyPatch, progress: float, entropy: float
) -> None:
    """Clip 0.2, value 0.5, auxiliary 0.1; entropy falls from 0.03 to 0.01 along the run."""
    watched = Watched(monkeypatch)
    watched.learner.improve(watched.rollout, (0,), progress, 0.1)
    for weights in watched.weights:
        assert (weights.clip, weights.value, weights.forecast) == (0.2, 0.5, 0.1)
        assert weights.entropy == pytest.approx(entropy)


def test_cloning_learns_to_forecast_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The auxiliary loss has its weight from the first rollout on."""
    watched = Watched(monkeypatch, "tacan")
    watched.learner.clone(watched.rollout, (0,))
    assert {weights.forecast for weights in watched.weights} == {0.1}


@pytest.mark.parametrize("method", ["tacan", "mlp-matched"])
@pytest.mark.parametrize("kind", ["clone", "improve"])
def test_the_forecast_head_learns(method: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kinds of update move it; with a weight of zero neither does."""
    moved = []
    for weight in (0.1, 0.0):
        watched = Watched(monkeypatch, method, forecast_weight=weight)
        head = watched.learner.network.forecast_head[2].bias
        before = head.detach().clone()
        update = {"clone": (), "improve": (0.5, 0.1)}[kind]
        getattr(watched.learner, kind)(watched.rollout, (0,), *update)
        moved.append(not torch.equal(head, before))
    assert moved == [True, False]


def test_returns_are_what_was_earned_from_there_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undiscounted, they are the rewards to the end and the value behind it, whatever V says."""
    watched = Watched(monkeypatch, minibatch_slots=40, discount=1.0, trace=1.0)
    rollout = watched.rollout
    rollout.values[:] = np.random.default_rng(0).normal(size=rollout.values.shape)
    watched.learner.improve(rollout, (0,), 0.5, 0.1)
    earned = np.flip(np.cumsum(np.flip(rollout.rewards, 0), 0), 0) + rollout.values[-1]
    (whole,) = watched.minibatches
    np.testing.assert_allclose(whole.returns, earned.reshape(40, 2), rtol=1e-5, atol=1e-5)


def test_gradients_are_clipped_to_their_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    """No step sees a longer gradient than the settings allow, in cloning nor in PPO."""
    watched = Watched(monkeypatch, gradient_clip=1e-3)
    watched.learner.clone(watched.rollout, (0,))
    watched.learner.improve(watched.rollout, (1,), 0.5, 0.1)
    assert watched.norms == pytest.approx([1e-3] * len(watched.norms), rel=1e-2)


def test_the_first_step_is_adams() -> None:
    """A first step is rate * g / (|g| + 1e-5) for a gradient g below the clip."""
    learner = Learner("mlp", load_scenario("tiny"), load_settings(), 1)
    weight = learner.network.value_head.bias
    before = weight.item()
    learner._set_rate(0.1)
    learner._descend(3e-5 * weight.sum())
    assert before - weight.item() == pytest.approx(0.1 * 3e-5 / 4e-5, rel=1e-3)


@pytest.mark.parametrize("kind", ["clone", "improve"])
def test_every_epoch_learns_from_every_slot(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three epochs of 40 slots in minibatches of 15 are nine updates, the last of each of 10."""
    watched = Watched(monkeypatch, epochs=3, cloning_epochs=3, minibatch_slots=15)
    update = {"clone": (), "improve": (0.5, 0.1)}[kind]
    getattr(watched.learner, kind)(watched.rollout, (0,), *update)
    sizes = [batch.channels.shape[0] for batch in watched.minibatches]
    assert sizes == [15, 15, 10] * 3


def test_every_rollout_and_epoch_is_shuffled_anew() -> None:
    """The order depends on seed, rollout and epoch; each epoch holds every slot once."""
    orders = []
    for seed, key in ((4, (0,)), (4, (1,)), (5, (0,))):
        settings = load_settings(changes={"minibatch_slots": 5})
        learner = Learner("mlp", load_scenario("tiny"), settings, seed)
        rollout = play(tiny_world(2), learner.judge, explore=True)
        parts = [tuple(zip(*part, strict=True)) for part in learner._minibatches(rollout, 2, key)]
        for epoch in (parts[:8], parts[8:]):
            assert len({pair for part in epoch for pair in part}) == 40
            orders.append(tuple(epoch))
    assert len(set(orders)) == 6


def test_a_run_hands_every_rollout_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Episodes are played once each, keys count the rollouts, progress runs over PPO alone."""
    run = small_run(tmp_path)
    keys: list[tuple[int, ...]] = []
    places: list[tuple[float, float]] = []
    worlds = []

    def clone(rollout: Rollout, key: tuple[int, ...]) -> dict[str, float]:
        worlds.append(rollout.world.keys)
        keys.append(key)
        return {}

    def improve(
        rollout: Rollout, key: tuple[int, ...], progress: float, share: float
    ) -> dict[str, float]:
        places.append((progress, share))
        return clone(rollout, key)

    monkeypatch.setattr(run.learner, "clone", clone)
    monkeypatch.setattr(run.learner, "improve", improve)
    while run.iteration < run.iterations:
        run.advance()
    assert keys == [(number,) for number in range(8)]
    assert places == [(pytest.approx(number / 6), pytest.approx(1 / 6)) for number in range(6)]
    assert [int(episode) for one in worlds for episode in one.episodes] == list(range(16))
    assert {int(seed) for one in worlds for seed in one.seeds} == {3}
    assert {one.domain for one in worlds} == {Domain.TRAINING}


def test_only_tacan_is_worth_bfloat16() -> None:
    """The flat networks are too small to gain from it; asked for by name it is used."""
    cpu = torch.device("cpu")
    assert not uses_bfloat16(Precision.AUTO, "mlp", cpu)
    assert not uses_bfloat16(Precision.AUTO, "mlp-matched", cpu)
    assert uses_bfloat16(Precision.BF16, "mlp", cpu)
    assert not uses_bfloat16(Precision.FP32, "tacan", cpu)
