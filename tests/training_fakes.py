"""Small runs and worlds for the tests of training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from tacan.observation import Observation
from tacan.scenario import Scenario, load_scenario
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import World, WorldGenerator
from tacan.training.run import Run, start_run
from tacan.training.settings import load_settings

SMALL = {
    "steps": 240,
    "cloning_steps": 80,
    "rollout_episodes": 2,
    "minibatch_slots": 20,
    "threads": 1,
}


def small_run(
    folder: Path, method: str = "mlp", scenario: str = "tiny", seed: int = 3, **changes: object
) -> Run:
    """A run of two cloning and six PPO rollouts on the tiny scenario."""
    settings = load_settings(changes=SMALL | changes)
    return start_run(method, load_scenario(scenario), settings, seed, folder)


def weights(run: Run) -> dict[str, torch.Tensor]:
    """The network's weights by name."""
    return run.learner.network.state_dict()


def tiny_world(episodes: int = 3, scenario: Scenario | None = None) -> World:
    """A few episodes of the tiny scenario (20 slots, 4 channels, 2 users) or of another one."""
    keys = EpisodeKeys.of(Domain.TRAINING, 5, np.arange(episodes))
    return WorldGenerator(scenario or load_scenario("tiny")).draw(keys)


def flat_judge(observation: Observation) -> tuple[np.ndarray, np.ndarray]:
    """Logits 0, 1, 2, 3 for the four channels, value 0."""
    rows, users = observation.queue_class.shape
    logits = np.broadcast_to(np.arange(4, dtype=np.float32), (rows, users, 4))
    return logits, np.zeros((rows, users), dtype=np.float32)
