"""The PettingZoo parallel environment: every secondary user is an agent with its own view."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils.seeding import np_random
from pettingzoo import ParallelEnv  # type: ignore[import-untyped]

from tacan.environments.episodes import (
    FACTS,
    FRAMES_PER_SECOND,
    MIXED,
    OPTIONS,
    Episodes,
    checked_channels,
    checked_render_mode,
    checked_seed,
)
from tacan.environments.single import controller_spaces
from tacan.errors import UserError
from tacan.observation import user_vector_size, user_vectors
from tacan.scenario import Scenario

Observations = dict[str, npt.NDArray[np.float32]]


class ParallelDynamicSpectrumAccess(
    ParallelEnv[str, npt.NDArray[np.float32], int]  # type: ignore[misc]
):
    """Agents su_0 .. su_{U-1}; each chooses a channel and is paid eq:reward.

    An agent's observation is its row of ``tacan.observation.user_vectors`` (eq:obs). Nothing keeps
    two agents from one channel: then they collide. Nobody terminates; all are truncated together
    after the scenario's number of slots. ``state`` is the controller's view, for centralised
    training. The arguments are those of the single environment.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "tacan_dynamic_spectrum_access_v0",
        "render_modes": ["rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
        "is_parallelizable": True,
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
        self._generator: np.random.Generator | None = None
        self.possible_agents = [f"su_{u}" for u in range(self.scenario.users)]
        self.agents: list[str] = []
        size = (user_vector_size(self.scenario),)
        self.observation_spaces = {
            agent: spaces.Box(0.0, 1.0, size, np.float32) for agent in self.possible_agents
        }
        self.action_spaces = {
            agent: spaces.Discrete(self.scenario.channels) for agent in self.possible_agents
        }
        self.state_space = controller_spaces(self.scenario)[0]

    def observation_space(self, agent: str) -> spaces.Box:
        """What an agent can see: [2 H K + C + 1 + U] in [0, 1]."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The channels that an agent can choose."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, dict[str, Any]]]:
        """Begin episode 0 of a seed, or without a seed the next episode of the last one.

        Unknown options are left alone: PettingZoo passes one object to all layers of wrappers.
        """
        if self._generator is None or seed is not None:
            self._generator = np_random(None if seed is None else checked_seed(seed))[0]
        known = {key: value for key, value in (options or {}).items() if key in OPTIONS}
        self._episodes.begin([seed], self._generator, known)
        self.agents = list(self.possible_agents)
        return self._observe(), {agent: self._episodes.info() for agent in self.agents}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[
        Observations,
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Play one slot; an agent's info holds its facts of the slot."""
        agents = self.possible_agents
        missing = [agent for agent in agents if agent not in actions]
        if missing:
            raise UserError(f"no action for {', '.join(missing)}: every agent must choose")
        channels = checked_channels([actions[agent] for agent in agents], (len(agents),))
        facts = self._episodes.step(channels[None])
        over = self._episodes.over
        by_name = zip(*(getattr(facts, name)[0].tolist() for name in FACTS), strict=True)
        infos = {
            agent: dict(zip(FACTS, values, strict=True))
            for agent, values in zip(agents, by_name, strict=True)
        }
        if over:
            self.agents = []
        return (
            self._observe(),
            {agent: infos[agent]["reward"] for agent in agents},
            dict.fromkeys(agents, False),
            dict.fromkeys(agents, over),
            infos,
        )

    def _observe(self) -> Observations:
        horizon = self.scenario.reward.delay_horizon
        vectors = user_vectors(self._episodes.simulator.observe(), horizon)[0]
        return dict(zip(self.possible_agents, vectors, strict=True))

    def state(self) -> npt.NDArray[np.float32]:
        """The controller's view of all users at once."""
        vector: npt.NDArray[np.float32] = self._episodes.simulator.controller_vectors()[0]
        return vector

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The last slots as an image, if the environment was made with a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing: make it with render_mode='rgb_array'")
            return None
        return self._episodes.picture()
