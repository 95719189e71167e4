"""Training proves itself where the right answer is known."""

from pathlib import Path

import numpy as np
import pytest

from tacan.scenario import Scenario, load_scenario
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import WorldGenerator
from tacan.training.rollout import play
from tacan.training.run import start_run
from tacan.training.settings import load_settings


def one_free_channel() -> Scenario:
    """Four channels, one user, six devices that are nearly always on, and sit where they sit."""
    return load_scenario("tiny").changed(
        {
            "placement": "persistent",
            "secondary.users": 1,
            "classes.urllc.mean_idle_slots": 0.2,
            "classes.mmtc.mean_idle_slots": 0.2,
            "classes.embb.mean_idle_slots": 0.2,
        }
    )


def seed_with_one_free_channel(scenario: Scenario) -> int:
    """The first training seed whose devices leave exactly one channel alone."""
    generator = WorldGenerator(scenario)
    for seed in range(100):
        world = generator.draw(EpisodeKeys.of(Domain.TRAINING, seed, 0))
        if np.unique(world.device_channel).size == scenario.channels - 1:
            return seed
    raise AssertionError("no seed leaves one channel free")


@pytest.mark.parametrize("method", ["tacan", "mlp", "mlp-matched"])
@pytest.mark.parametrize("advantages", ["counterfactual", "gae"])
def test_the_free_channel_is_found(tmp_path: Path, method: str, advantages: str) -> None:
    """Without any cloning, PPO learns to sit on the channel that nobody uses."""
    scenario = one_free_channel()
    seed = seed_with_one_free_channel(scenario)
    changes = {
        "steps": 3_000,
        "cloning_steps": 0,
        "rollout_episodes": 10,
        "minibatch_slots": 50,
        "epochs": 2,
        "learning_rate": 1e-3,
        "final_entropy": 0.0,
        "advantages": advantages,
        "precision": "fp32",
    }
    run = start_run(method, scenario, load_settings(changes=changes), seed, tmp_path)
    while run.iteration < run.iterations:
        run.advance()
    world = WorldGenerator(scenario).draw(
        EpisodeKeys.of(Domain.TRAINING, seed, np.arange(1000, 1010))
    )
    assert play(world, run.learner.judge, explore=False).success.mean() > 0.95


def test_cloning_copies_greedy(tmp_path: Path) -> None:
    """After cloning alone, the flat network chooses Greedy's channel far more often than chance."""
    changes = {"steps": 1, "cloning_steps": 4_000, "rollout_episodes": 20, "cloning_epochs": 4}
    settings = load_settings(changes=changes | {"minibatch_slots": 50, "learning_rate": 1e-3})
    run = start_run("mlp", load_scenario("tiny"), settings, 1, tmp_path)
    while run.iteration < run.cloning_iterations:
        run.advance()
    keys = EpisodeKeys.of(Domain.TRAINING, 1, np.arange(5000, 5020))
    rollout = play(
        WorldGenerator(load_scenario("tiny")).draw(keys), run.learner.judge, explore=False
    )
    rows, slots = 20, 20
    agreed = 0
    for t in range(slots):
        seen = rollout.observation(np.full(rows, t), np.arange(rows))
        greedy = seen.occupancy.sum(axis=1).argmin(axis=1)
        agreed += (rollout.channels[t, :, 0] == greedy).sum()
    assert agreed / (rows * slots) > 0.8
