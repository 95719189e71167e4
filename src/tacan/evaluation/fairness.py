"""How differently users fare, beside how differently they would by chance.

A gap is the largest minus the smallest value among users. It is never 0: a max-min of noisy rates
is positive even if all users are served alike. Its floor is the gap to be expected of the same
noise under a perfectly fair policy, found by making the users exchangeable:

1. what sets users apart systematically is taken out: with rate r_u of user u and r of all,
   numerator[e, u] -= (r_u - r) * denominator[e, u]; then all users have rate r;
2. user labels are permuted in every episode independently, and rates are formed anew. Episodes
   stay in one piece, and so does what happens within them: backlogs, and a busy spectrum that
   all users saw at once;
3. the gap of these rates is averaged over permutations, times sqrt(E / (E - 1)) because step 1
   has also taken out a 1/E of the noise (as in an unbiased variance).

A gap at its floor is no evidence of unfairness. One episode tells nothing about chance: no floor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

PERMUTATIONS = 200
PERMUTATION_SEED = 200
"""The permutations are the same for every policy, load and seed of an evaluation."""

Sums = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Gap:
    """A difference among users and its floor; None with fewer than two users to compare."""

    value: float | None
    floor: float | None


@dataclass(frozen=True)
class Fairness:
    """The three gaps of the paper's tab:packet_fairness, with floors, and Jain's index."""

    access: Gap
    delivery: Gap
    delay: Gap
    access_jain: float | None


def fairness(attempts: Sums, delivered: Sums, slots: Sums, delay_sum: Sums) -> Fairness:
    """The gaps among users from sums per episode and user, each [E, U]."""
    order = permutations(*attempts.shape)
    tried = attempts.sum(axis=0)
    return Fairness(
        access=gap(delivered, attempts, order),
        delivery=gap(delivered, slots, order),
        delay=gap(delay_sum, delivered, order),
        access_jain=jain(delivered.sum(axis=0)[tried > 0] / tried[tried > 0]),
    )


def jain(values: Floats) -> float | None:
    """Jain's index (sum x)^2 / (n sum x^2): 1 if all are equal, 1 / n if one has all."""
    squares = float((values**2).sum())
    return None if squares == 0.0 else float(values.sum()) ** 2 / (values.size * squares)


@lru_cache(maxsize=1)
def permutations(episodes: int, users: int) -> npt.NDArray[np.int64]:
    """Users in a random order for every permutation and episode, as flat places: [P, E, U]."""
    generator = np.random.Generator(np.random.PCG64(PERMUTATION_SEED))
    labels = np.broadcast_to(np.arange(users), (PERMUTATIONS, episodes, users))
    places = generator.permuted(labels, axis=2)
    places += users * np.arange(episodes)[:, None]
    places.flags.writeable = False
    return places


def gap(numerator: Sums, denominator: Sums, order: npt.NDArray[np.int64]) -> Gap:
    """The gap of the ratio [E, U] / [E, U] among users, and its floor."""
    top, bottom = numerator.sum(axis=0), denominator.sum(axis=0)
    if np.count_nonzero(bottom) < 2:
        return Gap(None, None)
    value = float(_spread(top, bottom))
    episodes = len(numerator)
    if episodes < 2:
        return Gap(value, None)
    excess = top / np.maximum(bottom, 1) - top.sum() / bottom.sum()
    levelled = (numerator - excess * denominator).ravel()
    flat = denominator.ravel()
    spreads = [_spread(levelled[places].sum(axis=0), flat[places].sum(axis=0)) for places in order]
    return Gap(value, float(np.mean(spreads)) * math.sqrt(episodes / (episodes - 1)))


def _spread(numerator: Floats | Sums, denominator: Sums) -> np.float64:
    """Largest minus smallest ratio among the users that have one."""
    has_ratio = denominator > 0
    ratio = numerator[has_ratio] / denominator[has_ratio]
    return np.float64(ratio.max() - ratio.min())
