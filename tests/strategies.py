"""Hypothesis strategies for the package's objects."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tacan.observation import Observation
from tacan.scenario import CLASSES, Scenario, load_scenario
from tacan.simulator.streams import Domain, EpisodeKeys

TINY = load_scenario("tiny")
PROBABILITIES = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Small, odd scenarios: no devices, one channel, queues of one, episodes of one slot."""
    users = draw(st.integers(1, 3))
    changes: dict[str, object] = {
        "channels": draw(st.integers(users, 5)),
        "history": draw(st.integers(1, 6)),
        "episode_slots": draw(st.integers(1, 30)),
        "placement": draw(st.sampled_from(["redrawn", "persistent"])),
        "secondary.users": users,
        "secondary.arrival_probability": draw(PROBABILITIES),
        "secondary.initial_packet_probability": draw(PROBABILITIES),
        "secondary.queue_capacity": draw(st.integers(1, 4)),
        "reward.packet_gated": draw(st.booleans()),
        "modulation.bank_size": draw(st.sampled_from([2, 5, 16])),
        "modulation.uniform_mixing": draw(PROBABILITIES),
    }
    for name in CLASSES:
        shortest = draw(st.integers(1, 6))
        changes |= {
            f"classes.{name}.devices": draw(st.integers(0, 3)),
            f"classes.{name}.mean_idle_slots": draw(st.floats(0.2, 20.0)),
            f"classes.{name}.pareto_shape": draw(st.floats(0.3, 3.0)),
            f"classes.{name}.shortest_busy": shortest,
            f"classes.{name}.longest_busy": shortest + draw(st.integers(0, 12)),
        }
    return TINY.changed(changes)


@st.composite
def episode_keys(draw: st.DrawFn, rows: int | None = None) -> EpisodeKeys:
    """Keys of one to four episodes, of any domain."""
    size = rows or draw(st.integers(1, 4))
    words = st.lists(st.integers(0, 2**40), min_size=size, max_size=size)
    return EpisodeKeys.of(draw(st.sampled_from(Domain)), draw(words), draw(words))


@st.composite
def observations(draw: st.DrawFn, scenario: Scenario = TINY, rows: int = 2) -> Observation:
    """Any view of a controller: what it holds need not have come from the simulator."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    window = (rows, scenario.history, scenario.channels)
    queue_class = generator.integers(-1, len(CLASSES), (rows, scenario.users)).astype(np.int8)
    delays = generator.integers(1, draw(st.integers(2, 500)), queue_class.shape)
    return Observation(
        occupancy=generator.integers(0, 2, window).astype(np.uint8),
        entropy=generator.random(window, dtype=np.float32),
        queue_class=queue_class,
        queue_delay=np.where(queue_class < 0, 0, delays).astype(np.int32),
        slot=draw(st.integers(0, 10**6)),
    )
