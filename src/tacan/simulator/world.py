"""All that happens by itself: primary users, modulation posteriors and packet arrivals.

Primary users do not react to secondary users, so whole episodes are drawn before they are played.
The same world can then be played under many policies, and it is the same bits for all of them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit
from tacan.scenario import CLASSES, Scenario
from tacan.simulator.modulation import PosteriorBank, draw_bank, pick_posteriors
from tacan.simulator.queues import draw_arrivals
from tacan.simulator.streams import EpisodeKeys
from tacan.simulator.traffic import draw_load, place_devices, run_devices


@dataclass(frozen=True)
class World:
    """B episodes as they will happen. Row H + t of the long axes is slot t; the H rows before it
    are the silence before the episode: nobody on air, classifier noise.
    """

    scenario: Scenario
    keys: EpisodeKeys
    bank: PosteriorBank
    load_index: npt.NDArray[np.int8]
    """[B]: the load regime of the episode"""
    device_channel: npt.NDArray[np.int32]
    """[B, N]"""
    emitter: npt.NDArray[np.uint8]
    """[B, H + T, K]: 0 nobody, else 1 + the class on air (of the highest priority)"""
    occupancy: npt.NDArray[np.uint8]
    """[B, H + T, K]: 1 where somebody is on air"""
    pick: npt.NDArray[np.uint16]
    """[B, H + T, K]: which posterior of the bank the classifier reports"""
    entropy: npt.NDArray[np.float32]
    """[B, H + T, K]: its normalised entropy"""
    initial: npt.NDArray[np.int8]
    """[B, U]: class of the packet waiting at reset, -1: none"""
    arrivals: npt.NDArray[np.int8]
    """[B, T, U]: class of the packet that arrives in the slot, -1: none"""
    remaining: npt.NDArray[np.uint16] | None
    """[B, T, N]: busy slots a device has left, this one included; kept on request (oracles)"""

    @property
    def load(self) -> npt.NDArray[np.float64]:
        """The load multiplier of every episode [B]."""
        return np.asarray(self.scenario.load.multipliers)[self.load_index]

    def posterior(self, slot: int) -> npt.NDArray[np.float32]:
        """The whole modulation posterior of a slot [B, K, M]."""
        row = self.scenario.history + slot
        return self.bank.posterior[self.emitter[:, row], self.pick[:, row]]

    def with_mixing(self, share: float) -> World:
        """The same world with a uniform posterior blended into every modulation report."""
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"uniform mixing {share!r}: must lie between 0 and 1")
        bank = self.bank.mixed(share)
        return replace(self, bank=bank, entropy=bank.entropy[self.emitter, self.pick])


@njit(cache=True, nogil=True)
def _generate(
    rows: Any,
    domain: Any,
    seeds: Any,
    episodes: Any,
    fixed_load: Any,
    cumulative: Any,
    multipliers: Any,
    persistent: Any,
    history: Any,
    device_class: Any,
    rates: Any,
    shapes: Any,
    shortest: Any,
    longest: Any,
    ranks: Any,
    by_rank: Any,
    bank: Any,
    arrival_probability: Any,
    initial_probability: Any,
    load_index: Any,
    device_channel: Any,
    emitter: Any,
    occupancy: Any,
    pick: Any,
    entropy: Any,
    initial: Any,
    arrivals: Any,
    remaining: Any,
) -> None:
    for b in range(rows[0], rows[1]):
        seed = seeds[b]
        episode = episodes[b]
        index = draw_load(domain, seed, episode, cumulative)
        if fixed_load[b] >= 0:
            index = fixed_load[b]
        load_index[b] = index
        place_devices(domain, seed, episode, persistent, emitter.shape[2], device_channel[b])
        run_devices(
            domain,
            seed,
            episode,
            multipliers[index],
            device_class,
            device_channel[b],
            rates,
            shapes,
            shortest,
            longest,
            ranks,
            by_rank,
            emitter[b, history:],
            remaining[b],
        )
        pick_posteriors(domain, seed, episode, bank, emitter[b], pick[b], entropy[b])
        for t in range(emitter.shape[1]):
            for k in range(emitter.shape[2]):
                occupancy[b, t, k] = emitter[b, t, k] != 0
        draw_arrivals(
            domain,
            seed,
            episode,
            arrival_probability,
            initial_probability,
            initial[b],
            arrivals[b],
        )


class WorldGenerator:
    """Draws worlds of one scenario; the posterior bank is drawn once."""

    def __init__(self, scenario: Scenario, *, threads: int = 1) -> None:
        if threads < 1:
            raise ValueError(f"threads = {threads}: must be at least 1")
        self.scenario = scenario
        self.bank = draw_bank(scenario.modulation)
        self._threads = threads
        priorities = scenario.by_class("priority")
        order = np.argsort(priorities, kind="stable")
        self._ranks = np.empty(len(CLASSES), dtype=np.uint8)
        self._ranks[order] = np.arange(1, len(CLASSES) + 1)
        self._by_rank = np.concatenate([[0], order + 1]).astype(np.uint8)
        self._cumulative = np.cumsum(scenario.load.probabilities)

    def draw(
        self,
        keys: EpisodeKeys,
        loads: npt.ArrayLike | None = None,
        *,
        keep_devices: bool = False,
    ) -> World:
        """The worlds of these episodes.

        ``loads`` fixes load regimes by index [B] (-1: drawn). ``keep_devices`` also records every
        device's remaining busy time, which only oracles may see.
        """
        scenario = self.scenario
        rows, slots, users = len(keys), scenario.episode_slots, scenario.users
        shape = (rows, scenario.history + slots, scenario.channels)
        fixed = np.full(rows, -1, dtype=np.int8)
        if loads is not None:
            fixed[:] = loads
            if (fixed >= len(scenario.load.names)).any():
                raise ValueError(f"loads must be below {len(scenario.load.names)}")
        remaining = np.zeros((rows, slots if keep_devices else 0, scenario.devices), np.uint16)
        world = World(
            scenario=scenario,
            keys=keys,
            bank=self.bank,
            load_index=np.empty(rows, dtype=np.int8),
            device_channel=np.empty((rows, scenario.devices), dtype=np.int32),
            emitter=np.zeros(shape, dtype=np.uint8),
            occupancy=np.empty(shape, dtype=np.uint8),
            pick=np.empty(shape, dtype=np.uint16),
            entropy=np.empty(shape, dtype=np.float32),
            initial=np.empty((rows, users), dtype=np.int8),
            arrivals=np.empty((rows, slots, users), dtype=np.int8),
            remaining=remaining if keep_devices else None,
        )

        def generate(start: int, stop: int) -> None:
            _generate(
                (start, stop),
                int(keys.domain),
                keys.seeds,
                keys.episodes,
                fixed,
                self._cumulative,
                np.asarray(scenario.load.multipliers),
                scenario.placement == "persistent",
                scenario.history,
                scenario.device_class,
                1.0 / scenario.by_class("mean_idle_slots"),
                scenario.by_class("pareto_shape"),
                scenario.by_class("shortest_busy"),
                scenario.by_class("longest_busy"),
                self._ranks,
                self._by_rank,
                self.bank.entropy,
                scenario.secondary.arrival_probability,
                scenario.secondary.initial_packet_probability,
                world.load_index,
                world.device_channel,
                world.emitter,
                world.occupancy,
                world.pick,
                world.entropy,
                world.initial,
                world.arrivals,
                remaining,
            )

        threads = min(self._threads, rows)
        if threads <= 1:
            generate(0, rows)
        else:
            bounds = np.linspace(0, rows, threads + 1).astype(int)
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(generate, bounds[:-1].tolist(), bounds[1:].tolist()))
        return world
