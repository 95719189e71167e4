"""The Gymnasium environment: the controller's view, one action for all secondary users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from tacan.environments.episodes import (
    FACTS,
    FRAMES_PER_SECOND,
    MIXED,
    Episodes,
    checked_channels,
    checked_render_mode,
    checked_seed,
)
from tacan.observation import controller_vector_size
from tacan.scenario import Scenario


def controller_spaces(scenario: Scenario) -> tuple[spaces.Box[np.float32], spaces.MultiDiscrete]:
    """Observations [2 H K + U (C + 1)] in [0, 1], and a channel for each of the U users."""
    size = controller_vector_size(scenario)
    return (
        spaces.Box(0.0, 1.0, (size,), np.float32),
        spaces.MultiDiscrete(np.full(scenario.users, scenario.channels)),
    )


class DynamicSpectrumAccess(gymnasium.Env[npt.NDArray[np.float32], npt.NDArray[np.int64]]):
    """One episode at a time, as a central controller sees it.

    The observation is ``tacan.observation.controller_vectors``: the last H slots and the queues,
    nothing of the slot being decided. The reward is the sum of eq:reward over the users. An episode
    never terminates; it is truncated after the scenario's number of slots. Users may be put on one
    channel: then they collide.

    Arguments: ``scenario``, a name, a TOML file or a Scenario; ``domain``, ``training`` or
    ``evaluation``, whose seeds share no random stream; ``load``, ``mixed`` or one of the
    scenario's. ``reset`` takes the options ``load`` and ``episode``, for the one episode that it
    begins.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - declared so by the base, and read from the class
        "render_modes": ["rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
    }

    def __init__(
        self,
        scenario: str | Path | Scenario = "paper",
        *,
        domain: str = "training",
        load: str = MIXED,
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = checked_render_mode(render_mode)
        self._episodes = Episodes(scenario, domain, load, pictures=render_mode is not None)
        self.scenario = self._episodes.scenario
        self.observation_space, self.action_space = controller_spaces(self.scenario)
        self._action_shape = (self.scenario.users,)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin episode 0 of a seed, or without a seed the next episode of the last one."""
        super().reset(seed=None if seed is None else checked_seed(seed))
        episodes = self._episodes
        episodes.begin([seed], self.np_random, options)
        facts = episodes.simulator.facts
        self._facts = [(name, getattr(facts, name)[0]) for name in FACTS]
        return self._observe(), episodes.info()

    def step(
        self, action: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Play one slot; the info holds its facts, an array of the users each."""
        facts = self._episodes.step(checked_channels(action, self._action_shape)[None])
        info = {name: of_users.copy() for name, of_users in self._facts}
        return self._observe(), float(facts.total_reward[0]), False, self._episodes.over, info

    def _observe(self) -> npt.NDArray[np.float32]:
        vector: npt.NDArray[np.float32] = self._episodes.simulator.controller_vectors()[0]
        return vector

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The last slots as an image, if the environment was made with a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing: make it with render_mode='rgb_array'")
            return None
        return self._episodes.picture()
