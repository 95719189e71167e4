"""Independent random streams, keyed by (domain, seed, episode, stream): randomness as an argument.

Every episode owns one stream each for placement and load, traffic (one per device), modulation,
arrivals and policy. A stream is a SplitMix64 counter (Steele, Lea and Flood, OOPSLA 2014) whose
start is a hash of its key, so an episode's draws depend on nothing but its key: not on the policy,
the batch it runs in, or the number of threads.

The domain is part of the key: training seed 42 and evaluation seed 42 share no stream, so held-out
trajectories are disjoint from training by construction.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit

WEYL = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
SHIFT_30, SHIFT_27, SHIFT_31, SHIFT_11 = (np.uint64(n) for n in (30, 27, 31, 11))
TO_UNIT = 1.0 / (1 << 53)


class Domain(IntEnum):
    """What a seed is for."""

    TRAINING = 1
    EVALUATION = 2


class Stream(IntEnum):
    """What the draws decide."""

    PLACEMENT = 1
    TRAFFIC = 2
    MODULATION = 3
    ARRIVALS = 4
    POLICY = 5


@njit(cache=True, inline="always")
def mix(value: Any) -> Any:
    """SplitMix64's finaliser: a bijection of 64-bit words that scatters neighbours."""
    value = (value ^ (value >> SHIFT_30)) * MIX_1
    value = (value ^ (value >> SHIFT_27)) * MIX_2
    return value ^ (value >> SHIFT_31)


WHOLE = np.uint64(0)
"""The part of a stream that is not divided. Constants of a key are unsigned words like its seed:
kernels then compile ``stream_start`` once, not once for every constant."""


@njit(cache=True)
def stream_start(domain: Any, seed: Any, episode: Any, stream: Any, part: Any) -> Any:
    """The counter at which the stream of this key starts."""
    value = mix(np.uint64(domain) + WEYL)
    value = mix(value ^ (np.uint64(seed) + WEYL))
    value = mix(value ^ (np.uint64(episode) + WEYL))
    value = mix(value ^ (np.uint64(stream) + WEYL))
    return mix(value ^ (np.uint64(part) + WEYL))


@njit(cache=True, inline="always")
def to_unit(word: Any) -> Any:
    """A uniform double in [0, 1) from the upper 53 bits of a word."""
    return np.float64(word >> SHIFT_11) * TO_UNIT


@njit(cache=True)
def _starts(domain: int, seeds: Any, episodes: Any, stream: int, counters: Any) -> None:
    for b in range(seeds.shape[0]):
        counters[b] = stream_start(domain, seeds[b], episodes[b], np.uint64(stream), WHOLE)


@njit(cache=True)
def _fill(counters: Any, out: Any) -> None:
    for b in range(out.shape[0]):
        for j in range(out.shape[1]):
            counters[b] += WEYL
            out[b, j] = to_unit(mix(counters[b]))


@dataclass(frozen=True)
class EpisodeKeys:
    """Which episodes run side by side: (seed, episode) of each row, in one domain."""

    domain: Domain
    seeds: npt.NDArray[np.uint64]
    """[B]"""
    episodes: npt.NDArray[np.uint64]
    """[B]"""

    def __post_init__(self) -> None:
        if self.seeds.shape != self.episodes.shape or self.seeds.ndim != 1 or not self.seeds.size:
            raise ValueError("seeds and episodes must be equally long, one of each for every row")

    @staticmethod
    def of(domain: Domain, seeds: npt.ArrayLike, episodes: npt.ArrayLike) -> EpisodeKeys:
        """Keys from plain numbers or arrays, broadcast against each other."""
        rows = np.broadcast_arrays(np.atleast_1d(seeds), np.atleast_1d(episodes))
        if any((np.asarray(row) < 0).any() for row in rows):
            raise ValueError("seeds and episodes must not be negative")
        first, second = (np.ascontiguousarray(row, dtype=np.uint64) for row in rows)
        return EpisodeKeys(domain, first, second)

    def __len__(self) -> int:
        return int(self.seeds.size)


class RandomStream:
    """One stream of every episode in a batch, as arrays of uniform draws."""

    def __init__(self, keys: EpisodeKeys, stream: Stream = Stream.POLICY) -> None:
        self._counters = np.empty(len(keys), dtype=np.uint64)
        _starts(int(keys.domain), keys.seeds, keys.episodes, int(stream), self._counters)

    def uniform(self, width: int) -> npt.NDArray[np.float64]:
        """The next ``width`` draws of every episode, in [0, 1): [B, width]."""
        out = np.empty((self._counters.size, width), dtype=np.float64)
        _fill(self._counters, out)
        return out
