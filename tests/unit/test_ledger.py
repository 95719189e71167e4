"""The ledger's books, entry by entry."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from tacan.evaluation.ledger import Ledger, LedgerError
from tacan.scenario import load_scenario
from tacan.simulator.queues import SlotFacts
from tacan.simulator.simulator import Simulator
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import World, WorldGenerator

URLLC, MMTC, EMBB, STANDBY = range(4)
EMPTY = -1
QUIET = load_scenario("tiny").changed(
    {"secondary.arrival_probability": 0.0, "secondary.initial_packet_probability": 0.0}
)


def quiet_world(rows: int = 1) -> World:
    """Two users, 20 slots, 4 channels; no packet ever comes by itself."""
    return WorldGenerator(QUIET).draw(EpisodeKeys.of(Domain.TRAINING, 0, np.arange(rows)))


def facts(**fields: list[list[object]]) -> SlotFacts:
    """Facts of a slot from what is not usual: by default empty queues and busy channels."""
    found = SlotFacts.empty(len(next(iter(fields.values()))), 2)
    for name, values in fields.items():
        getattr(found, name)[:] = values
    return found


def opened(lengths: list[int], seeds: list[int] | None = None) -> Ledger:
    row_seed = np.array(seeds or [0] * len(lengths))
    return Ledger.opened(quiet_world(len(lengths)), np.array(lengths), row_seed, row_seed.max() + 1)


def test_a_delivery_is_entered_under_its_class_and_delay() -> None:
    """User 0 delivers an eMBB packet of delay 3; user 1's free channel is only a standby one."""
    ledger = opened([20])
    ledger.record(
        5,
        facts(success=[[True, True]], packet_class=[[EMBB, EMPTY]], packet_delay=[[3, 0]]),
    )
    assert ledger.slots[0].tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]
    assert ledger.successes[0].tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]
    assert ledger.delivered[0].tolist() == [[0, 0, 1], [0, 0, 0]]
    assert ledger.delay_sum[0].tolist() == [[0, 0, 3], [0, 0, 0]]
    assert np.argwhere(ledger.delays).tolist() == [[0, 0, EMBB, 3]]


def test_collisions_are_kept_apart_by_who_caused_them_and_whether_a_packet_was_there() -> None:
    """User 0 meets both a primary and a secondary user with a packet, user 1 a secondary one."""
    ledger = opened([20])
    ledger.record(
        0,
        facts(
            packet_class=[[URLLC, EMPTY]],
            packet_delay=[[1, 0]],
            primary_collision=[[True, False]],
            secondary_collision=[[True, True]],
        ),
    )
    assert ledger.primary_collisions[0].tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]
    assert ledger.secondary_collisions[0].tolist() == [[1, 0, 0, 0], [0, 0, 0, 1]]
    assert ledger.successes.sum() == 0


def test_a_dropped_packet_has_arrived() -> None:
    """Drops are a part of arrivals: the balance counts them on both sides."""
    ledger = opened([20])
    ledger.record(0, facts(arrived=[[MMTC, URLLC]], dropped=[[True, False]]))
    assert ledger.arrived[0].tolist() == [[0, 1, 0], [1, 0, 0]]
    assert ledger.dropped[0].tolist() == [[0, 1, 0], [0, 0, 0]]


def test_slots_after_the_cut_do_not_count() -> None:
    """The first episode is cut after 3 slots: slot 3 enters the second one only."""
    ledger = opened([3, 20])
    ledger.record(3, facts(success=[[True, True], [True, True]], reward=[[1.0, 1.0], [1.0, 1.0]]))
    assert ledger.slots.sum(axis=(1, 2)).tolist() == [0, 2]
    assert ledger.reward.tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_what_waits_at_the_end_is_censored_and_may_have_expired() -> None:
    """At the end of slot 19, packets from slots 8 and 9 face a deadline of 10: sent in slot 20
    at the earliest, they would have delays 12 and 11; the ones from 10 on could still be in time.
    """
    world = quiet_world()
    simulator = Simulator(world)
    queue = simulator.queues
    queue.packets["packet_class"][0, 0, :3] = [URLLC, URLLC, MMTC]
    queue.packets["arrival"][0, 0, :3] = [8, 9, 10]
    queue.heads["length"][0, 0] = 3
    # user 1's queue wraps around: its head is in the last place of 5
    queue.packets["packet_class"][0, 1, [4, 0]] = [EMBB, URLLC]
    queue.packets["arrival"][0, 1, [4, 0]] = [0, 15]
    queue.heads["first"][0, 1], queue.heads["length"][0, 1] = 4, 2
    ledger = Ledger.opened(world, np.array([20]), np.array([0]), 1)
    ledger.close(19, queue)
    assert ledger.censored.sum() == 0
    ledger.close(20, queue)
    assert ledger.censored[0].tolist() == [[2, 1, 0], [1, 0, 1]]
    assert ledger.expired[0].tolist() == [[2, 0, 0], [0, 0, 1]]


def test_a_missing_packet_is_an_error_that_names_its_place() -> None:
    """A packet that arrived and went nowhere."""
    ledger = opened([1, 1])
    ledger.record(0, facts(arrived=[[EMPTY, EMPTY], [EMPTY, EMBB]]))
    with pytest.raises(LedgerError, match=r"row 1, user 1, class embb: 0 initial \+ 1 arrived"):
        ledger.check()


def test_a_missing_slot_is_an_error() -> None:
    """Ten of twenty slots were entered."""
    ledger = opened([20])
    for slot in range(10):
        ledger.record(slot, facts(success=[[True, False]]))
    with pytest.raises(LedgerError, match="every slot"):
        ledger.check()


def test_a_delivery_without_a_delay_in_the_histogram_is_an_error() -> None:
    """A delivered packet whose delay was not entered: percentiles would be of other packets."""
    ledger = opened([1])
    ledger.record(0, facts(success=[[True, True]]))
    ledger.successes[0, 0, URLLC] += 1
    ledger.initial[0, 0, URLLC] += 1
    with pytest.raises(LedgerError, match="delay of every delivered packet"):
        ledger.check()


@pytest.mark.parametrize("delay", [0, 21])
def test_an_impossible_delay_is_refused(delay: int) -> None:
    """A packet of 20 slots' episodes has a delay of 1 (next slot) to 20 (reset packet, slot 19)."""
    ledger = opened([20])
    with pytest.raises(LedgerError, match="no packet can have"):
        ledger.record(
            0,
            facts(success=[[True, False]], packet_class=[[MMTC, EMPTY]], packet_delay=[[delay, 0]]),
        )


def test_seeds_can_be_taken_apart_and_batches_put_together() -> None:
    """Rows 0 and 1 are of one seed, row 2 of another; each seed keeps its rows and its delays."""
    ledger = opened([1, 1, 1], seeds=[0, 0, 1])
    ledger.record(
        0,
        facts(
            success=[[True, False], [True, True], [False, True]],
            packet_class=[[MMTC, EMPTY], [EMPTY, URLLC], [EMPTY, URLLC]],
            packet_delay=[[1, 0], [0, 1], [0, 1]],
        ),
    )
    first, second = ledger.of_seed(0), ledger.of_seed(1)
    assert first.delivered.sum(axis=(0, 1)).tolist() == [1, 1, 0]
    assert second.delivered.sum(axis=(0, 1)).tolist() == [1, 0, 0]
    assert first.delays.sum(axis=(0, 1, 3)).tolist() == [1, 1, 0]
    assert second.delays.sum(axis=(0, 1, 3)).tolist() == [1, 0, 0]
    both = Ledger.joined([first, second])
    assert both.slots.tolist() == ledger.slots.tolist()
    assert both.delays.sum() == 3


def test_putting_batches_together_takes_no_room_for_each() -> None:
    """40 batches, each with a place for all 1,000 seeds: added up in one array of that size."""
    world = quiet_world()
    parts = [Ledger.opened(world, np.array([1]), np.array([seed]), 1_000) for seed in range(40)]
    for part in parts:
        part.delays[part.row_seed[0], 0, URLLC, 1] = 1
    tracemalloc.start()
    joined = Ledger.joined(parts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert joined.delays[:, 0, URLLC, 1].tolist() == [1] * 40 + [0] * 960
    assert peak < 2 * joined.delays.nbytes
