"""A run that diverges stops in one sentence, and what it keeps is good."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tacan.scenario import load_scenario
from tacan.training.learner import Learner, TrainingDivergedError, uses_bfloat16
from tacan.training.rollout import play
from tacan.training.run import CHECKPOINT, resume_run
from tacan.training.settings import Precision, load_settings
from training_fakes import small_run, tiny_world, weights

ONE_STEP_A_ROLLOUT = {"cloning_steps": 0, "minibatch_slots": 40, "warm_up": 0.0}


@pytest.mark.parametrize("method", ["tacan", "mlp", "mlp-matched"])
@pytest.mark.parametrize("rate", [1e4, 1e30])
def test_the_step_that_ruins_the_network_is_not_kept(
    tmp_path: Path, method: str, rate: float
) -> None:
    """No loss follows a rollout's last step, yet its damage replaces no good checkpoint."""
    run = small_run(tmp_path, method, learning_rate=rate, **ONE_STEP_A_ROLLOUT)
    before = (tmp_path / CHECKPOINT).read_bytes()
    with pytest.raises(TrainingDivergedError, match="training diverged: the network's answer"):
        run.advance()
    assert (tmp_path / CHECKPOINT).read_bytes() == before
    assert resume_run(tmp_path).iteration == 0


def test_divergence_stops_the_run_at_the_last_good_checkpoint(tmp_path: Path) -> None:
    """Weights that are not numbers end the run in a sentence; the checkpoint stays as it was."""
    run = small_run(tmp_path)
    for _ in range(3):
        run.advance()
    good = {name: tensor.clone() for name, tensor in weights(run).items()}
    with torch.no_grad():
        next(run.learner.network.parameters()).fill_(float("nan"))
    with pytest.raises(TrainingDivergedError, match="the network's answer became nan"):
        run.advance()
    again = resume_run(tmp_path)
    assert again.iteration == 3
    assert all(torch.equal(tensor, good[name]) for name, tensor in weights(again).items())


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), 2e6, -2e6])
def test_an_exploded_loss_is_not_learned_from(loss: float) -> None:
    """A loss that is no number, or beyond a million, moves no weight."""
    learner = Learner("mlp", load_scenario("tiny"), load_settings(), 1)
    weight = next(learner.network.parameters())
    before = weight.detach().clone()
    with pytest.raises(TrainingDivergedError, match="the loss became"):
        learner._descend((weight * 0).sum() + loss)
    assert torch.equal(weight, before)


def test_an_infinite_gradient_is_not_learned_from() -> None:
    """Where the loss is a number and its slope is none, no weight moves."""
    learner = Learner("mlp", load_scenario("tiny"), load_settings(), 1)
    weight = next(learner.network.parameters())
    before = weight.detach().clone()
    with pytest.raises(TrainingDivergedError, match="the norm of the gradient became"):
        learner._descend((weight - weight.detach()).sqrt().sum())  # 0, rising without bound
    assert torch.equal(weight, before)


def test_a_ruined_head_that_no_decision_reads_is_noticed() -> None:
    """The forecast decides nothing, but its broken weights would be learned from."""
    learner = Learner("tacan", load_scenario("tiny"), load_settings(), 1)
    rollout = play(tiny_world(), learner.judge, explore=True)
    learner.require_sound(rollout)
    with torch.no_grad():
        learner.network.forecast_head[2].bias.fill_(np.nan)
    with pytest.raises(TrainingDivergedError, match=r"a weight in forecast_head\.2\.bias"):
        learner.require_sound(rollout)


def test_a_minibatch_of_one_transition_is_no_divergence() -> None:
    """One slot of one user has no spread to normalise by; plain PPO goes on all the same."""
    scenario = load_scenario("tiny").changed({"secondary.users": 1})
    changes = {"advantages": "gae", "minibatch_slots": 1, "rollout_episodes": 1}
    learner = Learner("mlp", scenario, load_settings(changes=changes), 1)
    rollout = play(tiny_world(1, scenario), learner.judge, explore=True)
    assert np.isfinite(learner.improve(rollout, (0,), 0.5, 0.1)["surrogate"])


def test_without_an_answer_from_torch_products_stay_in_fp32(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Older versions of torch cannot say what the processor has."""
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert not uses_bfloat16(Precision.AUTO, "tacan", torch.device("cpu"))
