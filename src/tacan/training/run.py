"""A training run: cloning, then PPO, one rollout at a time, each followed by a checkpoint."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.errors import UserError
from tacan.observation import Observation
from tacan.scenario import EMPTY, Scenario, validate_scenario
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import World, WorldGenerator
from tacan.training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from tacan.training.code import code_digest
from tacan.training.learner import Learner
from tacan.training.rollout import Rollout, play
from tacan.training.settings import TrainingSettings, validate_settings

CHECKPOINT = "checkpoint.tacan"
COUNTED_IN = ("steps", "cloning_steps", "rollout_episodes")
"""settings that say what iteration n is, so a run that has begun must keep them"""


@dataclass
class Run:
    """A run between two rollouts; ``advance`` mutates it in place."""

    learner: Learner
    folder: Path
    iteration: int = 0
    curve: list[dict[str, float]] = field(default_factory=list)
    seconds: dict[str, float] = field(
        default_factory=lambda: {"world": 0.0, "rollout": 0.0, "learning": 0.0}
    )
    changes: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._generator = WorldGenerator(self.learner.scenario)

    @property
    def settings(self) -> TrainingSettings:
        """The settings of the run."""
        return self.learner.settings

    @property
    def slots_per_rollout(self) -> int:
        """Environment steps that one iteration plays."""
        return self.settings.rollout_episodes * self.learner.scenario.episode_slots

    @property
    def cloning_iterations(self) -> int:
        """Rollouts of Greedy to learn from first."""
        return math.ceil(self.settings.cloning_steps / self.slots_per_rollout)

    @property
    def iterations(self) -> int:
        """All rollouts of the run."""
        return self.cloning_iterations + math.ceil(self.settings.steps / self.slots_per_rollout)

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - start

    def _world(self) -> World:
        episodes = np.arange(self.settings.rollout_episodes)
        episodes += self.iteration * self.settings.rollout_episodes
        return self._generator.draw(EpisodeKeys.of(Domain.TRAINING, self.learner.seed, episodes))

    def advance(self) -> dict[str, float]:
        """Play one rollout, learn from it, save a checkpoint; returns the row of the curve."""
        cloning = self.iteration < self.cloning_iterations
        with self._timed("world"):
            world = self._world()
        with self._timed("rollout"):
            judge = _greedy_judge if cloning else self.learner.judge
            rollout = play(world, judge, explore=not cloning)
        with self._timed("learning"):
            if cloning:
                losses = self.learner.clone(rollout, (self.iteration,))
            else:
                total = self.iterations - self.cloning_iterations
                progress = (self.iteration - self.cloning_iterations) / total
                losses = self.learner.improve(rollout, (self.iteration,), progress, 1.0 / total)
            self.learner.require_sound(rollout)
        self.iteration += 1
        row = {
            "slots": float(self.iteration * self.slots_per_rollout),
            "cloning_stage": float(cloning),
            **_summary(rollout),
            **losses,
        }
        self.curve.append(row)
        self.save()
        return row

    def checkpoint(self) -> Checkpoint:
        """All that the run is at this moment."""
        learner = self.learner
        return Checkpoint(
            method=learner.method,
            seed=learner.seed,
            scenario=learner.scenario.model_dump(mode="json"),
            settings=self.settings.model_dump(mode="json"),
            iteration=self.iteration,
            network=learner.network.state_dict(),
            optimizer=learner.optimizer.state_dict(),
            curve=self.curve,
            seconds=self.seconds,
            changes=self.changes,
            code=code_digest(),
        )

    def save(self) -> None:
        """Write the checkpoint of this moment."""
        save_checkpoint(self.folder / CHECKPOINT, self.checkpoint())


def start_run(
    method: str, scenario: Scenario, settings: TrainingSettings, seed: int, folder: Path
) -> Run:
    """A new run; a folder that already holds one is refused, so that nothing is overwritten."""
    run = Run(Learner(method, scenario, settings, seed), folder)
    if (folder / CHECKPOINT).exists():
        other = _differences(load_checkpoint(folder / CHECKPOINT), run.checkpoint())
        if other:
            raise UserError(
                f"{folder}: already holds another run ({other}); name another folder with --out"
            )
        raise UserError(f"{folder}: already holds this run; resume it with --resume {folder}")
    run.save()
    return run


def _differences(there: Checkpoint, here: Checkpoint) -> str:
    """What sets the run of a folder apart from the one asked for, in words; nothing if alike."""
    runs = []
    for one in (there, here):
        identity = {"method": one.method, "seed": one.seed, "scenario": one.scenario["name"]}
        runs.append(identity | one.settings)
    found = [
        f"{name} {runs[0][name]}, not {value}"
        for name, value in runs[1].items()
        if runs[0].get(name, value) != value
    ]
    if not found and there.scenario != here.scenario:
        found = [f"another scenario of the name {here.scenario['name']}"]
    return "; ".join(found)


def resume_run(folder: Path, changes: dict[str, Any] | None = None) -> Run:
    """The run of a folder as it was after its last complete rollout.

    ``changes`` are settings to go on with. They are recorded with the iteration they begin at, and
    so is code that is no longer the same.
    """
    saved = load_checkpoint(folder / CHECKPOINT)
    scenario = validate_scenario(saved.scenario, f"checkpoint in {folder}")
    settings = validate_settings(saved.settings | (changes or {}))
    now = settings.model_dump(mode="json")
    changed = {name: now[name] for name in changes or {} if now[name] != saved.settings.get(name)}
    fixed = [name for name in COUNTED_IN if name in changed]
    if fixed:
        raise UserError(
            f"{folder}: {' and '.join(fixed)} cannot change in a run that has begun; "
            "start another one with --out"
        )
    if saved.code != code_digest():
        changed["code"] = code_digest()
    learner = Learner(saved.method, scenario, settings, saved.seed)
    try:
        learner.network.load_state_dict(saved.network)
        learner.optimizer.load_state_dict(saved.optimizer)
    except (RuntimeError, ValueError):
        raise UserError(
            f"checkpoint in {folder}: its weights do not fit method {saved.method!r}"
        ) from None
    learner.network.eval()
    begun = [{"iteration": saved.iteration, **changed}] if changed else []
    return Run(
        learner, folder, saved.iteration, saved.curve, saved.seconds, [*saved.changes, *begun]
    )


def finish(run: Run, report: Callable[[dict[str, float]], None]) -> None:
    """Advance a run to its end, reporting every row of its curve."""
    while run.iteration < run.iterations:
        report(run.advance())


def _greedy_judge(
    observation: Observation,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Greedy as a judge of channels, the demonstrator of cloning."""
    rows, users = observation.queue_class.shape
    scores = -observation.occupancy.sum(axis=1, dtype=np.float32)
    logits = np.repeat(scores[:, None], users, axis=1)
    return logits, np.zeros((rows, users), dtype=np.float32)


def _summary(rollout: Rollout) -> dict[str, float]:
    """How the policy did in this rollout, while exploring."""
    queued = rollout.queue_class != EMPTY
    delivered = rollout.success & queued
    return {
        "assignment_success": float(rollout.success.mean()),
        "packet_access": float(delivered.sum() / max(queued.sum(), 1)),
        "reward": float(rollout.rewards.mean()),
    }
