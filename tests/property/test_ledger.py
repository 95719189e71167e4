"""The ledger against a slow account of single packets, written from the paper's rules."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import scenarios
from tacan.evaluation.ledger import STANDBY, Ledger
from tacan.evaluation.protocol import Protocol
from tacan.evaluation.replay import Contender, replay
from tacan.policies.assignment import ServiceOrder
from tacan.scenario import Scenario, load_scenario
from tacan.simulator.simulator import Simulator
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import World, WorldGenerator

TINY = load_scenario("tiny")


@st.composite
def judged_scenarios(draw: st.DrawFn) -> Scenario:
    """Small scenarios with tight queues and any deadline."""
    return draw(scenarios()).changed({"reward.deadline_slots": draw(st.integers(0, 6))})


@dataclass
class Account:
    """What a patient clerk writes down about one episode: (user, class) -> number."""

    counts: dict[str, dict[tuple[int, int], int]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(int))
    )
    delays: list[tuple[int, int, int]] = field(default_factory=list)


def account_of(
    world: World, row: int, channels: np.ndarray, slots: int, capacity: int, deadline: int
) -> Account:
    """One episode, packet by packet: a list of (class, slot of arrival) for every user."""
    history = world.scenario.history
    users = world.initial.shape[1]
    account = Account()
    queues: list[list[tuple[int, int]]] = [[] for _ in range(users)]
    for user in range(users):
        if world.initial[row, user] >= 0:
            queues[user].append((int(world.initial[row, user]), -1))
            account.counts["initial"][user, int(world.initial[row, user])] += 1
    for slot in range(slots):
        chosen = channels[slot, row].tolist()
        for user in range(users):
            busy = bool(world.occupancy[row, history + slot, chosen[user]])
            shared = chosen.count(chosen[user]) > 1
            packet_class = queues[user][0][0] if queues[user] else STANDBY
            account.counts["slots"][user, packet_class] += 1
            account.counts["primary_collisions"][user, packet_class] += busy
            account.counts["secondary_collisions"][user, packet_class] += shared
            if not busy and not shared:
                account.counts["successes"][user, packet_class] += 1
                if queues[user]:
                    _, arrival = queues[user].pop(0)
                    account.delays.append((user, packet_class, slot - arrival))
            arriving = int(world.arrivals[row, slot, user])
            if arriving >= 0:
                account.counts["arrived"][user, arriving] += 1
                if len(queues[user]) < capacity:
                    queues[user].append((arriving, slot))
                else:
                    account.counts["dropped"][user, arriving] += 1
    for user in range(users):
        for packet_class, arrival in queues[user]:
            account.counts["censored"][user, packet_class] += 1
            # sent in the next slot at the earliest, which is slot number ``slots``
            account.counts["expired"][user, packet_class] += slots - arrival > deadline
    return account


@settings(max_examples=60, deadline=None)
@given(scenario=judged_scenarios(), seed=st.integers(0, 2**40), data=st.data())
def test_the_ledger_equals_a_packet_by_packet_account(
    scenario: Scenario, seed: int, data: st.DataObject
) -> None:
    """Any channels, colliding ones included, and any cut: every count and delay is the clerk's."""
    rows = 3
    keys = EpisodeKeys.of(Domain.TRAINING, seed, np.arange(rows))
    world = WorldGenerator(scenario).draw(keys)
    lengths = np.array(
        data.draw(st.lists(st.integers(1, scenario.episode_slots), min_size=rows, max_size=rows))
    )
    channels = np.random.default_rng(seed).integers(
        0, scenario.channels, (scenario.episode_slots, rows, scenario.users)
    )
    ledger = Ledger.opened(world, lengths, np.arange(rows), rows)
    simulator = Simulator(world)
    for slot in range(scenario.episode_slots):
        ledger.record(slot, simulator.step(channels[slot]))
        ledger.close(slot + 1, simulator.queues)
    ledger.check()

    for row in range(rows):
        account = account_of(
            world,
            row,
            channels,
            int(lengths[row]),
            scenario.secondary.queue_capacity,
            scenario.reward.deadline_slots,
        )
        for name in (
            "initial",
            "arrived",
            "dropped",
            "censored",
            "expired",
            "slots",
            "successes",
            "primary_collisions",
            "secondary_collisions",
        ):
            found = getattr(ledger, name)[row]
            expected = np.zeros_like(found)
            for place, count in account.counts[name].items():
                expected[place] = count
            assert found.tolist() == expected.tolist(), name
        delays = np.zeros_like(ledger.delays[row])
        for user, packet_class, delay in account.delays:
            delays[user, packet_class, delay] += 1
        assert ledger.delays[row].tolist() == delays.tolist()
        assert ledger.delay_sum[row].sum() == sum(delay for *_, delay in account.delays)


@settings(max_examples=25, deadline=None)
@given(
    scenario=judged_scenarios(),
    policy=st.sampled_from(["random", "greedy", "genie", "greedy-memory", "oracle-state"]),
    order=st.sampled_from(list(ServiceOrder)),
    steps=st.integers(1, 60),
    load=st.sampled_from(["mixed", "normal", "extreme"]),
)
def test_every_replay_balances(
    scenario: Scenario, policy: str, order: ServiceOrder, steps: int, load: str
) -> None:
    """Any policy, order, load and number of steps: packets and slots add up, for every user."""
    protocol = Protocol((42, 7), steps)
    contender = Contender.build(policy, order, scenario, protocol.seeds)
    (found,) = replay([contender], scenario, protocol, load)
    books = found.ledger
    assert books.slots.sum() == 2 * steps * scenario.users
    packets_in = books.initial.sum(axis=0) + books.arrived.sum(axis=0)
    packets_out = books.successes[:, :, :STANDBY] + books.dropped + books.censored
    assert packets_in.tolist() == packets_out.sum(axis=0).tolist()
    # users never share a channel: distinct channels are the assignment's promise
    assert books.secondary_collisions.sum() == 0


def test_the_account_can_tell_a_lost_packet() -> None:
    """The clerk is not blind: a packet taken from a queue unseen unbalances the books."""
    scenario = TINY.changed({"secondary.initial_packet_probability": 1.0})
    keys = EpisodeKeys.of(Domain.TRAINING, 1, [0])
    world = WorldGenerator(scenario).draw(keys)
    ledger = Ledger.opened(world, np.array([1]), np.array([0]), 1)
    simulator = Simulator(world)
    simulator.queues.heads["length"][0, 1] = 0
    simulator.queues.heads["head_class"][0, 1] = -1
    ledger.record(0, simulator.step(np.array([[0, 1]])))
    ledger.close(1, simulator.queues)
    with pytest.raises(RuntimeError, match="does not balance in row 0, user 1"):
        ledger.check()
