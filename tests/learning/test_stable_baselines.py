"""Stable-Baselines3 accepts the environment and trains on it."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

from tacan.scenario import load_scenario

ID = "tacan/DynamicSpectrumAccess-v0"

ONE_FREE = load_scenario("tiny").changed(
    {
        "secondary.users": 1,
        "channels": 2,
        "placement": "persistent",
        "classes.urllc.devices": 0,
        "classes.mmtc.devices": 0,
        "classes.embb.devices": 1,
        "classes.embb.mean_idle_slots": 0.05,
    }
)
"""One device that never rests, always on the same one of two channels: the other is free."""


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def test_stable_baselines_finds_nothing_to_say() -> None:
    """Its check_env passes; its warnings are errors here."""
    check_env(gymnasium.make(ID).unwrapped)


def test_stable_baselines_trains_on_the_papers_scenario() -> None:
    """A few hundred steps of PPO run across episodes and leave a policy that acts."""
    env = gymnasium.make(ID, scenario="paper")
    model = PPO("MlpPolicy", env, n_steps=128, batch_size=64, n_epochs=2, seed=0, device="cpu")
    model.learn(384)
    assert model.num_timesteps == 384
    observation, _ = env.reset(seed=1)
    action, _ = model.predict(observation, deterministic=True)
    assert env.action_space.contains(action)


def test_stable_baselines_learns_where_there_is_something_to_learn() -> None:
    """With one channel always busy, PPO finds the free one: it collides in under 1 slot of 10."""
    env = Monitor(gymnasium.make(ID, scenario=ONE_FREE))
    env.reset(seed=3)
    model = PPO(
        "MlpPolicy", env, n_steps=200, batch_size=50, learning_rate=3e-3, seed=3, device="cpu"
    )
    model.learn(1_600)
    collisions = []
    held_out = gymnasium.make(ID, scenario=ONE_FREE)
    observation, _ = held_out.reset(seed=3, options={"episode": 10_000})
    for _ in range(20):
        action, _ = model.predict(observation, deterministic=True)
        observation, *_, info = held_out.step(action)
        collisions.append(info["primary_collision"][0])
    assert np.mean(collisions) < 0.1
    mean, _ = evaluate_policy(model, env, n_eval_episodes=2, warn=False)
    assert mean > 0
