"""Primary users against closed forms, mostly with a single device on a single channel."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from fakes import draw_world, one_device, run_lengths, traffic_of
from tacan.scenario import CLASSES, PacketClass, load_scenario
from tacan.simulator.streams import Domain

URLLC, MMTC, EMBB = PacketClass.URLLC, PacketClass.MMTC, PacketClass.EMBB
SIGMAS = 5.0
"""Seeds are fixed, so these tests always draw the same; another generator would pass as surely."""

# P(busy time = n) = S(n - 0.5) - S(n + 0.5) with S(x) = (L / x)^alpha, all beyond the clip on it
URLLC_LAW = {1: 0.2770, 2: 0.2425, 3: 0.1134, 9: 0.0154, 10: 0.1651}
MMTC_LAW = {1: 0.1835, 2: 0.1840, 3: 0.0979, 4: 0.0631, 5: 0.4714}
EMBB_LAW = {5: 0.1332, 6: 0.1921, 7: 0.1303, 39: 0.0018, 40: 0.0450}


@cache
def lone_device(kind: PacketClass, load: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """All complete busy and idle runs of a device, over 30 episodes of 10,000 slots."""
    scenario = one_device(kind, episode_slots=10_000, load__multipliers=[load])
    runs = [run_lengths(row[:, 0] != 0) for row in traffic_of(draw_world(scenario, 30))]
    return tuple(np.concatenate(lengths) for lengths in zip(*runs, strict=True))


def assert_share(found: np.ndarray, expected: float) -> None:
    """The share of true values lies within five standard errors of a probability."""
    error = np.sqrt(expected * (1.0 - expected) / len(found))
    assert abs(found.mean() - expected) < SIGMAS * error + 5e-5, (found.mean(), expected)


@pytest.mark.parametrize(
    ("kind", "law"), [(URLLC, URLLC_LAW), (MMTC, MMTC_LAW), (EMBB, EMBB_LAW)], ids=CLASSES
)
def test_busy_times_follow_the_clipped_rounded_pareto(
    kind: PacketClass, law: dict[int, float]
) -> None:
    """A device is on air for exactly tau slots: every length has its closed-form share."""
    busy, _ = lone_device(kind)
    assert busy.min() == min(law)
    assert busy.max() == max(law)
    for length, probability in law.items():
        assert_share(busy == length, probability)


@pytest.mark.parametrize(
    ("kind", "load", "activation"),
    # 1 - exp(-l / mean idle slots): 1/8, 1/60 and 1/12 at load 1, 2.5/8 at load 2.5
    [(URLLC, 1.0, 0.117503), (MMTC, 1.0, 0.016529), (EMBB, 1.0, 0.079956), (URLLC, 2.5, 0.268384)],
)
def test_idle_times_are_one_forced_slot_and_then_geometric(
    kind: PacketClass, load: float, activation: float
) -> None:
    """P(idle for n slots) = (1 - p_act)^(n - 1) p_act: the shortest pause is one slot, not none."""
    _, idle = lone_device(kind, load)
    assert idle.min() == 1
    for length in (1, 2, 5):
        assert_share(idle == length, (1.0 - activation) ** (length - 1) * activation)
    deviation = np.sqrt(1.0 - activation) / activation
    assert abs(idle.mean() - 1.0 / activation) < SIGMAS * deviation / np.sqrt(len(idle))


def test_a_device_that_always_wants_to_send_pauses_for_exactly_one_slot() -> None:
    """With p_act = 1 and a busy time of 3 the pattern is 1110 from slot 0 on."""
    scenario = one_device(
        EMBB,
        classes__embb__mean_idle_slots=0.001,
        classes__embb__shortest_busy=3,
        classes__embb__longest_busy=3,
        episode_slots=10,
    )
    on_air = traffic_of(draw_world(scenario, 1))[0, :, 0] != 0
    assert on_air.astype(int).tolist() == [1, 1, 1, 0, 1, 1, 1, 0, 1, 1]


def test_a_device_may_activate_in_slot_0() -> None:
    """All devices start idle, and slot 0 is the first in which p_act applies."""
    world = draw_world(one_device(URLLC, episode_slots=1), 20_000)
    assert_share(traffic_of(world)[:, 0, 0] != 0, 0.117503)


def test_remaining_counts_the_busy_slots_left_down_to_one() -> None:
    """In the first busy slot it is the whole busy time, in the last one 1, and idle 0."""
    world = draw_world(one_device(EMBB, episode_slots=5_000), 1)
    remaining = world.remaining[0, :, 0].astype(int)
    assert ((remaining > 0) == (traffic_of(world)[0, :, 0] != 0)).all()
    busy = np.flatnonzero(remaining[:-1])
    assert (remaining[busy + 1] == remaining[busy] - 1).all()
    starts = np.flatnonzero((remaining[1:] > 0) & (remaining[:-1] == 0)) + 1
    assert starts.size > 100
    assert remaining[starts].min() == 5


def test_the_highest_priority_on_air_names_the_emitter() -> None:
    """Where devices overlap, URLLC (priority 3) hides eMBB (2), which hides mMTC (1)."""
    scenario = load_scenario("tiny").changed(
        {"channels": 1, "secondary.users": 1, "episode_slots": 500}
        | {f"classes.{name}.devices": 1 for name in CLASSES}
    )
    world = draw_world(scenario, 20)
    emitter = traffic_of(world)[:, :, 0]
    urllc, mmtc, embb = (world.remaining[:, :, n] > 0 for n in range(3))
    assert (urllc & mmtc & embb).any()
    assert (emitter[urllc] == 1).all()
    assert (emitter[~urllc & embb] == 3).all()
    assert (emitter[~urllc & ~embb & mmtc] == 2).all()
    assert (emitter[~urllc & ~embb & ~mmtc] == 0).all()


def test_loads_are_drawn_with_their_probabilities_and_can_be_fixed() -> None:
    """Half of the episodes run at normal load, 35 % at high and 15 % at extreme load."""
    scenario = load_scenario("tiny").changed({"episode_slots": 1})
    world = draw_world(scenario, 20_000)
    for index, probability in enumerate([0.50, 0.35, 0.15]):
        assert_share(world.load_index == index, probability)
    fixed = draw_world(scenario, 5, load=2)
    assert fixed.load.tolist() == [2.5] * 5


def test_devices_are_placed_uniformly() -> None:
    """Every channel gets a quarter of the devices of ``tiny``."""
    world = draw_world(load_scenario("tiny").changed({"episode_slots": 1}), 5_000)
    for channel in range(4):
        assert_share((world.device_channel == channel).ravel(), 0.25)


def test_loads_share_placement_and_users() -> None:
    """The same episode under another load differs in nothing but the load."""
    scenario = load_scenario("tiny")
    normal, extreme = (draw_world(scenario, 10, load=load) for load in (0, 2))
    assert (normal.device_channel == extreme.device_channel).all()
    assert (normal.initial == extreme.initial).all()
    assert (normal.arrivals == extreme.arrivals).all()
    assert traffic_of(normal).astype(bool).mean() < traffic_of(extreme).astype(bool).mean()


def test_placement_is_redrawn_every_episode_or_persists_for_a_seed() -> None:
    """``persistent`` keeps devices on their channels in all episodes of a seed, not of another."""
    redrawn = draw_world(load_scenario("paper"), 5).device_channel
    assert len(np.unique(redrawn, axis=0)) == 5
    scenario = load_scenario("persistent")
    first, second = (draw_world(scenario, 5, seed=seed).device_channel for seed in (5, 6))
    assert len(np.unique(first, axis=0)) == 1
    assert not (first[0] == second[0]).all()


def test_training_and_evaluation_are_different_worlds() -> None:
    """The same seed and episode in the other domain shares neither placement nor traffic."""
    scenario = load_scenario("paper")
    training, evaluation = (draw_world(scenario, 3, domain=domain) for domain in Domain)
    assert not (training.device_channel == evaluation.device_channel).all(axis=1).any()
    assert not (training.arrivals == evaluation.arrivals).all(axis=(1, 2)).any()
    assert not (traffic_of(training) == traffic_of(evaluation)).all(axis=(1, 2)).any()


def test_nobody_is_on_air_before_the_episode() -> None:
    """The H rows before slot 0 are silent on every channel."""
    world = draw_world(load_scenario("paper"), 5)
    assert not world.occupancy[:, : world.scenario.history].any()
    assert (world.occupancy == (world.emitter != 0)).all()
