"""P(a channel is idle next | its last H slots, how full the band was): estimated, and cached.

The context is the channel's own pattern of H slots (newest in bit 0) and one of 12 quantile bins of
the occupancy of all channels over the same slots, which tells the load. Rare patterns borrow from
the same pattern without its oldest slot:

    P_h = (idle_h + m P_(h-1)) / (n_h + m),   P_0 from the bin alone.

The trajectories come from the TRAINING domain: no evaluation episode is among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit
from tacan.policies.table_cache import Tables, load_or_make
from tacan.scenario import Scenario
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import World, WorldGenerator

VERSION = 2
"""To be raised when the simulator's traffic or this estimate changes: old files are not read."""

BINS = 12
BACK_OFF = 256.0
"""m: how many observations the shorter pattern counts for. Among 64 to 1024 it changes nothing;
smaller ones let lucky rare patterns win, which costs a point at H = 20."""
EPISODES = 6_000
CHANNEL_SLOTS = 120_000_000
"""No more than this many are counted (the paper's scenario has 24 million in 6,000 episodes)."""
FEWEST_EPISODES = 200
CHUNK_CELLS = 4_000_000
EPISODES_FOR_BINS = 100
"""So many, or a whole chunk where it is more, show how full bands get: one has but one load."""
FIRST_SEED = 7_000_000
"""Every episode has a seed of its own, so that a persistent placement is not learned by heart."""


@dataclass(frozen=True)
class WindowTable:
    """The estimate for one window length H."""

    bin_of_total: npt.NDArray[np.uint8]
    """[H K + 1]: the bin of a band's busy channel-slots in the window"""
    idle_probability: npt.NDArray[np.float32]
    """[bins, 2^H]: P(idle next), by bin and pattern"""


@njit(cache=True, inline="always")
def push_slot(patterns: Any, occupancy: Any, window: Any) -> Any:
    """Move every channel's pattern [K] on by a slot; returns the change of the window's total."""
    oldest = np.uint64(window - 1)
    one = np.uint64(1)
    mask = (one << np.uint64(window)) - one
    change = 0
    for k in range(patterns.shape[0]):
        change += int(occupancy[k]) - int((patterns[k] >> oldest) & one)
        patterns[k] = ((patterns[k] << one) | np.uint64(occupancy[k])) & mask
    return change


@njit(cache=True, nogil=True)
def _count(
    occupancy: Any, history: Any, window: Any, bin_of_total: Any, totals: Any, seen: Any, idle: Any
) -> None:
    """Count contexts of all slots in ``occupancy`` [B, H + T, K].

    ``totals`` [H K + 1] counts the band's occupancies; ``seen`` [bins, 2^H] counts contexts, and
    ``idle`` those of them that were idle in the slot after.
    """
    channels = occupancy.shape[2]
    patterns = np.zeros(channels, dtype=np.uint64)
    for b in range(occupancy.shape[0]):
        patterns[:] = 0
        total = 0
        for t in range(history, occupancy.shape[1]):
            totals[total] += 1
            row = bin_of_total[total]
            for k in range(channels):
                seen[row, patterns[k]] += 1
                idle[row, patterns[k]] += 1 - occupancy[b, t, k]
            total += push_slot(patterns, occupancy[b, t], window)


def _worlds(scenario: Scenario, episodes: int) -> list[range]:
    """The episodes in chunks that fit into memory."""
    cells = scenario.channels * (scenario.history + scenario.episode_slots)
    rows = max(1, CHUNK_CELLS // cells)
    return [range(first, min(first + rows, episodes)) for first in range(0, episodes, rows)]


def quantile_bins(totals: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """The bin of every total, so that each bin holds about as many slots."""
    before = np.cumsum(totals) - totals
    share = (before + totals / 2) / max(int(totals.sum()), 1)
    return np.minimum(share * BINS, BINS - 1).astype(np.uint8)


def shrink(
    seen: npt.NDArray[np.int32], idle: npt.NDArray[np.int32], back_off: float = BACK_OFF
) -> npt.NDArray[np.float32]:
    """P(idle next) [bins, 2^H] from counts of the same shape: the recursion above."""
    bins, patterns = seen.shape
    overall = (idle.sum() + 0.5) / (seen.sum() + 1.0)
    shorter = np.full((bins, 1), overall)
    length = 1
    while True:
        n = seen.reshape(bins, -1, length).sum(axis=1)
        n_idle = idle.reshape(bins, -1, length).sum(axis=1)
        shorter = (n_idle + back_off * shorter) / (n + back_off)
        if length == patterns:
            return np.asarray(shorter, dtype=np.float32)
        shorter = np.tile(shorter, 2)
        length *= 2


def estimate(scenario: Scenario, window: int) -> WindowTable:
    """The table of a scenario, from its own TRAINING-domain episodes."""
    generator = WorldGenerator(scenario)
    per_episode = scenario.channels * scenario.episode_slots
    episodes = min(EPISODES, max(FEWEST_EPISODES, CHANNEL_SLOTS // per_episode))

    def draw(chunk: range) -> World:
        seeds = FIRST_SEED + np.asarray(chunk)
        return generator.draw(EpisodeKeys.of(Domain.TRAINING, seeds, 0))

    size = window * scenario.channels + 1
    totals = np.zeros(size, dtype=np.int64)
    one_bin = np.zeros(size, dtype=np.uint8)
    nothing = np.zeros((1, 1 << window), dtype=np.int32)
    chunks = _worlds(scenario, episodes)
    for chunk in chunks[: -(-EPISODES_FOR_BINS // len(chunks[0]))]:
        world = draw(chunk)
        _count(world.occupancy, scenario.history, window, one_bin, totals, nothing, nothing.copy())
    bin_of_total = quantile_bins(totals)
    seen = np.zeros((BINS, 1 << window), dtype=np.int32)
    idle = np.zeros_like(seen)
    for chunk in chunks:
        world = draw(chunk)
        _count(world.occupancy, scenario.history, window, bin_of_total, totals, seen, idle)
    return WindowTable(bin_of_total, shrink(seen, idle))


def window_table(scenario: Scenario, window: int) -> WindowTable:
    """The table of a scenario: from the cache, or estimated and put there."""
    shapes = {
        "bin_of_total": (window * scenario.channels + 1,),
        "idle_probability": (BINS, 1 << window),
    }

    def make() -> Tables:
        table = estimate(scenario, window)
        return {
            "bin_of_total": table.bin_of_total,
            "idle_probability": table.idle_probability,
        }

    def complaint(tables: Tables) -> str | None:
        if {name: array.shape for name, array in tables.items()} != shapes:
            return "its arrays have other names or shapes"
        if not (tables["bin_of_total"] < BINS).all():
            return "it names a bin that is not there"
        probability = tables["idle_probability"]
        if not ((probability >= 0.0) & (probability <= 1.0)).all():
            return "it holds probabilities outside [0, 1]"
        return None

    tables = load_or_make(f"window-bayes-v{VERSION}-{scenario.digest()}-{window}", make, complaint)
    return WindowTable(
        tables["bin_of_total"].astype(np.uint8), tables["idle_probability"].astype(np.float32)
    )
