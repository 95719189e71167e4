"""What holds in every scenario: the same bits, nothing lost, and no look ahead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import bits, draw_world, play
from strategies import episode_keys, scenarios
from tacan.policies.assignment import ServiceOrder
from tacan.policies.heuristics import GreedyMemoryPolicy, GreedyPolicy, RandomPolicy
from tacan.scenario import Scenario, load_scenario
from tacan.simulator.simulator import Simulator
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import WorldGenerator

SOME = settings(max_examples=60, deadline=None)
POLICIES = [RandomPolicy, GreedyPolicy, GreedyMemoryPolicy]


def test_the_traffic_of_a_seed_is_the_same_bits() -> None:
    """Under three policies, in batches of 1, 5 and 12 episodes, with 1, 2 and too many threads."""
    scenario, episodes = load_scenario("paper"), 12
    expected = [bits(draw_world(scenario, episodes), row) for row in range(episodes)]
    assert len(set(expected)) == episodes
    for policy in POLICIES:
        for threads in (1, 2, 100_000_000):
            generator = WorldGenerator(scenario, threads=threads)
            for size in (1, 5, 12):
                found = []
                for first in range(0, episodes, size):
                    rows = np.arange(first, min(first + size, episodes))
                    keys = EpisodeKeys.of(Domain.TRAINING, 5, rows)
                    world = generator.draw(keys, keep_devices=True)
                    for _ in play(policy(), world):
                        pass
                    found += [bits(world, row) for row in range(len(rows))]
                assert found == expected


@SOME
@given(scenarios(), episode_keys(rows=3))
def test_an_episode_is_its_keys_and_nothing_else(scenario: Scenario, keys: EpisodeKeys) -> None:
    """Each of three episodes is the same bits when it is drawn alone."""
    generator = WorldGenerator(scenario)
    together = generator.draw(keys, keep_devices=True)
    for row in range(3):
        key = EpisodeKeys(keys.domain, keys.seeds[row : row + 1], keys.episodes[row : row + 1])
        assert bits(generator.draw(key, keep_devices=True), 0) == bits(together, row)


@SOME
@given(scenarios(), episode_keys())
def test_devices_keep_to_their_busy_times(scenario: Scenario, keys: EpisodeKeys) -> None:
    """Every device counts down to 1, then pauses; a channel is busy where a device of it is."""
    world = WorldGenerator(scenario).draw(keys, keep_devices=True)
    assert world.remaining is not None
    remaining = world.remaining.astype(int)
    before, after = remaining[:, :-1], remaining[:, 1:]
    assert (after[before > 0] == before[before > 0] - 1).all()
    shortest = scenario.by_class("shortest_busy")[scenario.device_class]
    longest = scenario.by_class("longest_busy")[scenario.device_class]
    starts = np.concatenate([remaining[:, :1], np.where(before == 0, after, 0)], axis=1)
    assert ((starts == 0) | ((starts >= shortest) & (starts <= longest))).all()
    busy = np.zeros((len(keys), scenario.episode_slots, scenario.channels), dtype=bool)
    for row in range(len(keys)):
        for device, channel in enumerate(world.device_channel[row]):
            busy[row, :, channel] |= remaining[row, :, device] > 0
    assert (world.occupancy[:, scenario.history :].astype(bool) == busy).all()


@SOME
@given(scenarios(), episode_keys(), st.sampled_from(ServiceOrder), st.sampled_from(POLICIES))
def test_no_packet_is_lost_and_no_channel_is_given_twice(
    scenario: Scenario, keys: EpisodeKeys, order: ServiceOrder, kind: type[RandomPolicy]
) -> None:
    """Waiting + arrived = delivered + dropped + still waiting, for every user, after every slot."""
    world = WorldGenerator(scenario).draw(keys)
    expected = (world.initial >= 0).astype(int)
    delays = []
    simulator = Simulator(world)
    for slot in play(kind(), world, order):
        assert (np.diff(np.sort(slot.channels, axis=1), axis=1) > 0).all()
        facts = simulator.step(slot.channels)
        assert not facts.secondary_collision.any()
        assert (facts.success == ~facts.primary_collision).all()
        assert (facts.arrived == world.arrivals[:, slot.observation.slot]).all()
        expected += (facts.arrived >= 0).astype(int) - facts.delivered - facts.dropped
        assert (simulator.queues.length == expected).all()
        assert simulator.queues.length.max() <= scenario.secondary.queue_capacity
        assert ((simulator.queues.head_class >= 0) == (expected > 0)).all()
        delays.append(facts.packet_delay[facts.packet_class >= 0])
    waited = np.concatenate(delays)
    assert ((waited >= 1) & (waited <= scenario.episode_slots)).all()


@SOME
@given(scenarios(), episode_keys(), st.data())
def test_observations_hold_nothing_of_the_slot_being_judged(
    scenario: Scenario, keys: EpisodeKeys, data: st.DataObject
) -> None:
    """Change all that happens from slot t on: what is observed before slot t stays as it was."""
    slot = data.draw(st.integers(0, scenario.episode_slots - 1), label="slot")
    world = WorldGenerator(scenario).draw(keys)
    row = scenario.history + slot
    occupancy, entropy, arrivals = (
        array.copy() for array in (world.occupancy, world.entropy, world.arrivals)
    )
    occupancy[:, row:] = 1 - occupancy[:, row:]
    entropy[:, row:] = 2.0
    arrivals[:, slot:] = 2
    other = replace(world, occupancy=occupancy, entropy=entropy, arrivals=arrivals)
    for first, second in zip(play(RandomPolicy(), world), play(RandomPolicy(), other), strict=True):
        for field in ("occupancy", "entropy", "queue_class", "queue_delay", "slot"):
            one, two = (getattr(played.observation, field) for played in (first, second))
            assert np.array_equal(one, two)
        if first.observation.slot == slot:
            break


@SOME
@given(scenarios(), episode_keys())
def test_reports_are_distributions_and_entropies_lie_in_the_unit_interval(
    scenario: Scenario, keys: EpisodeKeys
) -> None:
    """Every posterior adds up to 1, in every slot, with any uniform mixing."""
    world = WorldGenerator(scenario).draw(keys)
    assert ((world.entropy >= 0.0) & (world.entropy <= 1.0)).all()
    for slot in range(-scenario.history, scenario.episode_slots):
        posterior = world.posterior(slot)
        assert (posterior >= 0.0).all()
        assert np.allclose(posterior.sum(axis=-1), 1.0, atol=1e-6)
