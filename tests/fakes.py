"""Stand-ins and small worlds that several tests share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tacan.observation import Observation
from tacan.policies.assignment import ServiceOrder, assign, service_order
from tacan.policies.policy import Policy, Scores
from tacan.scenario import CLASSES, PacketClass, Scenario, load_scenario
from tacan.simulator.queues import SlotFacts
from tacan.simulator.simulator import Privilege, Secrets, Simulator
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import World, WorldGenerator


class FixedPolicy:
    """Always prefers the same channels, in one order: the first of them is the best."""

    name = "fixed-channels"
    privilege = Privilege.NONE

    def __init__(self, channels: list[int]) -> None:
        self._scores = np.zeros(len(channels))
        self._scores[channels] = np.arange(len(channels), 0, -1)

    def start(self, keys: EpisodeKeys) -> None:
        self._rows = len(keys)

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        del observation, secrets
        return np.tile(self._scores, (self._rows, 1, 1))


def first_channels(scenario: Scenario, seed: int) -> FixedPolicy:
    """A factory as ``module:factory`` references name it."""
    return FixedPolicy(list(range(scenario.channels)))


def privileged_in_words(scenario: Scenario, seed: int) -> FixedPolicy:
    """A factory whose policy says what it may know as a configuration file would."""
    policy = first_channels(scenario, seed)
    policy.privilege = "none"  # type: ignore[assignment]
    return policy


def not_a_policy(scenario: Scenario, seed: int) -> str:
    """A factory that returns something else."""
    return "nonsense"


def one_device(kind: PacketClass, **changes: object) -> Scenario:
    """A single device of one class on a single channel, at load 1."""
    settings: dict[str, object] = {
        "channels": 1,
        "secondary.users": 1,
        "modulation.bank_size": 2,
        "load.names": ["normal"],
        "load.multipliers": [1.0],
        "load.probabilities": [1.0],
    }
    settings |= {f"classes.{name}.devices": int(name is kind) for name in CLASSES}
    settings |= {name.replace("__", "."): value for name, value in changes.items()}
    return load_scenario("tiny").changed(settings)


def draw_world(
    scenario: Scenario,
    episodes: int,
    seed: int = 5,
    *,
    load: int | None = None,
    domain: Domain = Domain.TRAINING,
    threads: int = 1,
) -> World:
    """Episodes 0, 1, .. of a seed, with everything that oracles may ask for."""
    keys = EpisodeKeys.of(domain, seed, np.arange(episodes))
    return WorldGenerator(scenario, threads=threads).draw(keys, load, keep_devices=True)


def traffic_of(world: World) -> np.ndarray:
    """Who is on air in every slot [B, T, K], without the silence before the episode."""
    return world.emitter[:, world.scenario.history :]


def bits(world: World, row: int) -> str:
    """A hash of all that happens by itself in one episode."""
    assert world.remaining is not None
    digest = hashlib.sha256()
    for array in (
        world.load_index,
        world.device_channel,
        world.emitter,
        world.occupancy,
        world.pick,
        world.entropy,
        world.initial,
        world.arrivals,
        world.remaining,
    ):
        digest.update(np.ascontiguousarray(array[row : row + 1]).tobytes())
    return digest.hexdigest()


def view(occupancy: list[list[int]], slot: int | None = None) -> Observation:
    """One controller's view of these slots (rows, oldest first) of every channel; queues empty."""
    rows = np.array([occupancy], dtype=np.uint8)
    return Observation(
        occupancy=rows,
        entropy=np.zeros(rows.shape, dtype=np.float32),
        queue_class=np.full((1, 1), -1, dtype=np.int8),
        queue_delay=np.zeros((1, 1), dtype=np.int32),
        slot=rows.shape[1] if slot is None else slot,
    )


def see(policy: Policy, slots: list[list[int]], history: int = 1) -> list[np.ndarray]:
    """A policy's scores [K] before each of these slots and after the last; H slots shown a time."""
    channels = len(slots[0])
    padded = [[0] * channels] * history + slots
    policy.start(EpisodeKeys.of(Domain.TRAINING, 3, 0))
    return [
        np.array(policy.score(view(padded[slot : slot + history], slot))[0, 0])
        for slot in range(len(slots) + 1)
    ]


@dataclass
class Slot:
    """One slot as it was played."""

    observation: Observation
    scores: np.ndarray
    channels: np.ndarray
    facts: SlotFacts


def play(policy: Policy, world: World, order: ServiceOrder = ServiceOrder.FIXED) -> Iterator[Slot]:
    """Play a world under a policy, slot by slot."""
    simulator = Simulator(world)
    policy.start(world.keys)
    while not simulator.done:
        observation = simulator.observe()
        scores = policy.score(observation, simulator.reveal(policy.privilege))
        line = np.ascontiguousarray(service_order(order, observation))
        channels = assign(np.ascontiguousarray(scores, dtype=np.float64), line)
        yield Slot(observation, scores, channels, simulator.step(channels))


def run_lengths(busy: np.ndarray) -> tuple[list[int], list[int]]:
    """Lengths of the busy and of the idle runs of one channel, cut ones at the ends left out."""
    edges = np.flatnonzero(np.diff(busy)) + 1
    lengths = np.diff(edges).tolist()
    first_busy = int(busy[edges[0]]) if len(edges) else 0
    return lengths[1 - first_busy :: 2], lengths[first_busy::2]
