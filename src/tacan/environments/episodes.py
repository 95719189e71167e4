"""Which episodes an environment plays one after the other: what the three of them share.

A row is one environment. Every row has a seed; its episodes are numbered from 0 on, and the pair
(seed, number) keys all random streams, so an episode can be asked for again by its two numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.environments.rendering import VISIBLE_SLOTS, picture
from tacan.errors import UserError
from tacan.scenario import Scenario, load_scenario
from tacan.simulator.queues import SlotFacts
from tacan.simulator.simulator import Simulator
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import WorldGenerator

MIXED = "mixed"
"""The load regime is drawn anew for every episode, by the scenario's probabilities."""
DRAWN = -1
SEED_LIMIT = 2**63
OPTIONS = ("load", "episode")

FACTS = (
    "success",
    "primary_collision",
    "secondary_collision",
    "delivered",
    "packet_class",
    "packet_delay",
    "arrived",
    "dropped",
    "reward",
)
"""The fields of SlotFacts that an info holds."""

FRAMES_PER_SECOND = 10


def checked_seed(seed: object, what: str = "seed") -> int:
    """A seed, or the number of an episode, as a plain number."""
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= int(seed) < SEED_LIMIT:  # type: ignore[call-overload]
        raise UserError(f"{what} {seed!r}: must be a whole number from 0 to 2**63 - 1")
    return int(seed)  # type: ignore[call-overload, no-any-return]


def checked_channels(action: Any, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """An action as channels; the simulator refuses those out of range."""
    try:
        channels = np.asarray(action)
    except ValueError:
        raise UserError(
            f"action {action!r}: its rows differ in length; must be of shape {shape}"
        ) from None
    if channels.dtype.kind not in "iu":
        raise UserError(f"action {action!r}: channels must be whole numbers")
    if channels.shape != shape:
        raise UserError(
            f"action of shape {channels.shape}: must be {shape}, a channel for every user"
        )
    return channels if channels.dtype == np.int64 else channels.astype(np.int64)


def checked_render_mode(render_mode: str | None) -> str | None:
    """A render mode that exists."""
    if render_mode not in {None, "rgb_array"}:
        raise UserError(f"render_mode {render_mode!r}: must be 'rgb_array' or None")
    return render_mode


class Episodes:
    """B rows of episodes, played side by side. It owns the simulator and what a picture needs."""

    def __init__(
        self,
        scenario: str | Path | Scenario,
        domain: str,
        load: str,
        *,
        rows: int = 1,
        threads: int = 1,
        pictures: bool = False,
    ) -> None:
        names = [known.name.lower() for known in Domain]
        if domain not in names:
            raise UserError(f"domain {domain!r}: must be one of {', '.join(names)}")
        self.scenario = scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
        self.domain = Domain[domain.upper()]
        self.load = self._load_index(load)
        self.seeds: list[int | None] = [None] * rows
        self.numbers = [0] * rows
        self._generator = WorldGenerator(self.scenario, threads=threads)
        self._simulator: Simulator | None = None
        self._pictures = pictures
        self._recent: deque[npt.NDArray[np.void]] = deque(maxlen=VISIBLE_SLOTS)

    def _load_index(self, load: str) -> int:
        return DRAWN if load == MIXED else self.scenario.load_index(load)

    @property
    def simulator(self) -> Simulator:
        """The simulator of the episodes being played."""
        if self._simulator is None:
            raise UserError("there is no episode yet: call reset() first")
        return self._simulator

    @property
    def over(self) -> bool:
        """Whether the time limit is reached."""
        return self.simulator.done

    def begin(
        self,
        seeds: Sequence[int | None],
        generator: np.random.Generator,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin the next episode of every row.

        A row that is given a seed starts at its episode 0; another goes on to its next number, or,
        if it never had a seed, draws one from the generator.
        """
        chosen = options or {}
        unknown = [key for key in chosen if key not in OPTIONS]
        if unknown:
            raise UserError(f"option {unknown[0]!r}: must be one of {', '.join(OPTIONS)}")
        load = self._load_index(chosen["load"]) if "load" in chosen else self.load
        number = chosen.get("episode")
        if number is not None:
            number = checked_seed(number, "option episode =")
        fresh = [None if seed is None else checked_seed(seed) for seed in seeds]
        for row, seed in enumerate(fresh):
            if seed is not None:
                self.seeds[row], self.numbers[row] = seed, 0
            elif self.seeds[row] is None:
                self.seeds[row] = int(generator.integers(SEED_LIMIT))
            else:
                self.numbers[row] += 1
            if number is not None:
                self.numbers[row] = number
        keys = EpisodeKeys(
            self.domain,
            np.array(self.seeds, dtype=np.uint64),
            np.array(self.numbers, dtype=np.uint64),
        )
        self._simulator = Simulator(self._generator.draw(keys, load))
        self._recent.clear()

    def step(self, channels: npt.NDArray[np.int64]) -> SlotFacts:
        """Play one slot with these channels [B, U]."""
        simulator = self.simulator
        if simulator.done:
            raise UserError(f"the episode is over after {simulator.slot} slots: call reset() first")
        facts = simulator.step(channels)
        if self._pictures:
            self._recent.append(facts.record.copy())
        return facts

    def load_names(self) -> list[str]:
        """The load regime of every row's episode."""
        return [self.scenario.load.names[index] for index in self.simulator.world.load_index]

    def info(self) -> dict[str, Any]:
        """What names the episode of the first row."""
        load = self.load_names()[0]
        return {"seed": self.seeds[0], "episode_number": self.numbers[0], "load": load}

    def picture(self, row: int = 0) -> npt.NDArray[np.uint8]:
        """The last slots of a row as an image [height, width, 3]."""
        return picture(
            self.simulator,
            row,
            [facts[row] for facts in self._recent],
            f"seed {self.seeds[row]}  episode {self.numbers[row]}  load {self.load_names()[row]}",
        )
