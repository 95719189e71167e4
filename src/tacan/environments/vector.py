"""The native Gymnasium vector environment: B episodes through one simulator.

Row b plays exactly what a single environment plays that was reset with row b's seed. All episodes
of a scenario are equally long, so all rows end and begin together.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from tacan.environments.episodes import (
    FACTS,
    FRAMES_PER_SECOND,
    MIXED,
    Episodes,
    checked_channels,
    checked_render_mode,
    checked_seed,
)
from tacan.environments.single import controller_spaces
from tacan.errors import UserError
from tacan.scenario import Scenario
from tacan.simulator.queues import SlotFacts

Observations = npt.NDArray[np.float32]
Actions = npt.NDArray[np.int64]
Rewards = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

AUTORESET_MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)


class VectorDynamicSpectrumAccess(VectorEnv[Observations, Actions, npt.NDArray[Any]]):
    """B controllers' views side by side: observations [B, 2 H K + U (C + 1)], actions [B, U].

    The arguments are those of the single environment, and ``num_envs``; ``autoreset_mode``,
    ``NextStep`` (Gymnasium's default: the step after the last slot resets and ignores its actions)
    or ``SameStep`` (the last slot's step already returns the next episode, and the last observation
    and info as ``final_obs`` and ``final_info``); ``threads``, for drawing worlds.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - declared so by the base, and read from the class
        "render_modes": ["rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        scenario: str | Path | Scenario = "paper",
        *,
        domain: str = "training",
        load: str = MIXED,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int = 1,
    ) -> None:
        if num_envs < 1:
            raise UserError(f"num_envs = {num_envs}: must be at least 1")
        if autoreset_mode not in {*AUTORESET_MODES, *(mode.value for mode in AUTORESET_MODES)}:
            known = " or ".join(mode.value for mode in AUTORESET_MODES)
            raise UserError(f"autoreset_mode {autoreset_mode!r}: must be {known}")
        self.num_envs = num_envs
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode(autoreset_mode)}
        self.render_mode = checked_render_mode(render_mode)
        self._same_step = AutoresetMode(autoreset_mode) is AutoresetMode.SAME_STEP
        self._episodes = Episodes(
            scenario,
            domain,
            load,
            rows=num_envs,
            threads=threads,
            pictures=render_mode is not None,
        )
        self.scenario = self._episodes.scenario
        self.single_observation_space, self.single_action_space = controller_spaces(self.scenario)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._action_shape = (num_envs, self.scenario.users)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode in every row. An int seeds the rows with seed, seed + 1, and so on."""
        if seed is None:
            seeds: Sequence[int | None] = [None] * self.num_envs
        elif isinstance(seed, Sequence):
            seeds = seed
            if len(seeds) != self.num_envs:
                raise UserError(f"{len(seeds)} seeds: must be {self.num_envs}, one for every row")
        else:
            first = checked_seed(seed)
            super().reset(seed=first)
            seeds = [first + row for row in range(self.num_envs)]
        return self._begin(seeds, options)

    def step(self, actions: Actions) -> tuple[Observations, Rewards, Flags, Flags, dict[str, Any]]:
        """Play one slot in every row; the info holds its facts [B, U], each with its mask."""
        never = np.zeros(self.num_envs, dtype=np.bool_)
        if self._episodes.over:
            observations, infos = self._begin([None] * self.num_envs, None)
            return observations, np.zeros(self.num_envs), never, never.copy(), infos
        facts = self._episodes.step(checked_channels(actions, self._action_shape))
        observations, infos = self._observe(), self._facts(facts)
        rewards, truncated = facts.total_reward.copy(), np.full(self.num_envs, self._episodes.over)
        if self._same_step and self._episodes.over:
            final_observations = np.empty(self.num_envs, dtype=object)
            final_observations[:] = list(observations)
            final = self._masked({"final_obs": final_observations, "final_info": infos})
            observations, infos = self._begin([None] * self.num_envs, None)
            infos |= final
        return observations, rewards, never, truncated, infos

    def _begin(
        self, seeds: Sequence[int | None], options: dict[str, Any] | None
    ) -> tuple[Observations, dict[str, Any]]:
        self._episodes.begin(seeds, self.np_random, options)
        return self._observe(), self._masked(
            {
                "seed": np.array(self._episodes.seeds),
                "episode_number": np.array(self._episodes.numbers),
                "load": np.array(self._episodes.load_names(), dtype=object),
            }
        )

    def _observe(self) -> Observations:
        return self._episodes.simulator.controller_vectors()

    def _facts(self, facts: SlotFacts) -> dict[str, Any]:
        return self._masked({name: getattr(facts, name).copy() for name in FACTS})

    def _masked(self, infos: dict[str, Any]) -> dict[str, Any]:
        """Gymnasium's convention: beside every key its mask, which rows have it: all of them."""
        return infos | {f"_{key}": np.ones(self.num_envs, dtype=np.bool_) for key in infos}

    def render(self) -> tuple[npt.NDArray[np.uint8], ...] | None:
        """The last slots of every row as images, if made with a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing: make it with render_mode='rgb_array'")
            return None
        return tuple(self._episodes.picture(row) for row in range(self.num_envs))
