"""Perturbations of what a policy sees: the paper's ablations (tab:ablation, tab:amc_robustness).

A perturbation touches the policy's view alone. Primary users, arrivals, queues, the service order
and the judging of a slot stay what they were, so perturbed and plain runs are matched slot by slot.

``zero-entropy``       every entropy is 0, a value that the classifier never gives in practice
``single-frame``       occupancy of the newest slot only: older slots are 0, like the padding before
                       an episode. For an idle channel the two readings of "collapsed to its most
                       recent frame" are the same bits; they differ for busy channels only
``repeated-frame``     the other reading: older slots are copies of the newest
``mixing:SHARE``       a uniform posterior blended into the classifier's, share 0 to 1; at 1 every
                       entropy is 1 and tells nothing

The entropy history is left alone by the two frame perturbations. A policy with a memory of its own
still remembers what it saw in the newest slots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tacan.errors import UserError
from tacan.observation import Observation
from tacan.simulator.world import World

MIXING = "mixing"


def _same_world(world: World) -> World:
    return world


def _same_observation(observation: Observation) -> Observation:
    return observation


@dataclass(frozen=True)
class Perturbation:
    """What is done to a world before it is played, and to every observation of it."""

    name: str
    world: Callable[[World], World] = _same_world
    observation: Callable[[Observation], Observation] = _same_observation


def _zero_entropy(observation: Observation) -> Observation:
    return replace(observation, entropy=np.zeros_like(observation.entropy))


def _single_frame(observation: Observation) -> Observation:
    occupancy = np.zeros_like(observation.occupancy)
    occupancy[:, -1] = observation.occupancy[:, -1]
    return replace(observation, occupancy=occupancy)


def _repeated_frame(observation: Observation) -> Observation:
    newest = observation.occupancy[:, -1:]
    return replace(observation, occupancy=np.repeat(newest, observation.occupancy.shape[1], axis=1))


def uniform_mixing(share: float) -> Perturbation:
    """The paper's flattening of the classifier's posteriors."""
    if not 0.0 <= share <= 1.0:
        raise UserError(f"perturbation {MIXING}:{share:g}: the share must lie between 0 and 1")
    return Perturbation(f"{MIXING}:{share:g}", world=lambda world: world.with_mixing(share))


ZERO_ENTROPY = Perturbation("zero-entropy", observation=_zero_entropy)
SINGLE_FRAME = Perturbation("single-frame", observation=_single_frame)
REPEATED_FRAME = Perturbation("repeated-frame", observation=_repeated_frame)
NAMED = {found.name: found for found in (ZERO_ENTROPY, SINGLE_FRAME, REPEATED_FRAME)}


def parse_perturbation(name: str) -> Perturbation:
    """The perturbation of a name: ``zero-entropy``, ``single-frame``, ``mixing:0.5``, ..."""
    if name in NAMED:
        return NAMED[name]
    kind, _, share = name.partition(":")
    if kind == MIXING:
        try:
            return uniform_mixing(float(share))
        except ValueError as error:
            if isinstance(error, UserError):
                raise
            raise UserError(
                f"perturbation {name!r}: the share must be a number between 0 and 1, "
                f"like {MIXING}:0.5"
            ) from None
    raise UserError(
        f"perturbation {name!r} is not known: choose one of {', '.join(NAMED)} or {MIXING}:SHARE"
    )
