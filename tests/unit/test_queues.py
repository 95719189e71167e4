"""Packets and queues, played by hand on one channel and its neighbour."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fakes import draw_world
from tacan.scenario import load_scenario
from tacan.simulator.simulator import Simulator
from tacan.simulator.world import World

NONE, URLLC, MMTC, EMBB = -1, 0, 1, 2
TINY = load_scenario("tiny").changed(
    {"channels": 3, "secondary.users": 2, "episode_slots": 6, "secondary.queue_capacity": 2}
)


def scripted(arrivals: list[int], *, initial: int = NONE, busy: tuple[int, ...] = ()) -> Simulator:
    """User 0 gets these packets, user 1 none; channel 0 is busy in these slots, 1 and 2 never."""
    world: World = draw_world(TINY, 1)
    occupancy = np.zeros_like(world.occupancy)
    occupancy[:, [TINY.history + slot for slot in busy], 0] = 1
    packets = np.full_like(world.arrivals, NONE)
    packets[0, : len(arrivals), 0] = arrivals
    start = np.array([[initial, NONE]], dtype=np.int8)
    return Simulator(replace(world, occupancy=occupancy, arrivals=packets, initial=start))


def step(simulator: Simulator, first: int = 0, second: int = 1) -> dict[str, int]:
    """Play a slot; the facts of user 0."""
    facts = simulator.step(np.array([[first, second]]))
    return {
        "class": int(facts.packet_class[0, 0]),
        "delay": int(facts.packet_delay[0, 0]),
        "delivered": int(facts.delivered[0, 0]),
    }


def test_a_packet_can_first_be_sent_in_the_slot_after_its_arrival_with_delay_1() -> None:
    """It arrives in slot 0 after service, waits for slot 1, and leaves there."""
    simulator = scripted([EMBB])
    assert step(simulator) == {"class": NONE, "delay": 0, "delivered": 0}
    observation = simulator.observe()
    assert (observation.queue_class[0, 0], observation.queue_delay[0, 0]) == (EMBB, 1)
    assert step(simulator) == {"class": EMBB, "delay": 1, "delivered": 1}
    assert step(simulator)["class"] == NONE


def test_a_packet_waiting_at_reset_has_delay_1_in_slot_0() -> None:
    """It counts as having arrived in slot -1."""
    assert step(scripted([], initial=URLLC)) == {"class": URLLC, "delay": 1, "delivered": 1}


def test_a_packet_waits_while_its_channel_is_busy() -> None:
    """Blocked in slots 1 and 2 it leaves in slot 3, with delay 3."""
    simulator = scripted([MMTC], busy=(1, 2))
    slots = [step(simulator) for _ in range(4)]
    assert [slot["delay"] for slot in slots] == [0, 1, 2, 3]
    assert [slot["delivered"] for slot in slots] == [0, 0, 0, 1]


def test_packets_leave_in_the_order_of_their_arrival() -> None:
    """Also past the end of the ring of two places."""
    simulator = scripted([URLLC, MMTC, EMBB, URLLC], busy=(0, 1))
    slots = [step(simulator) for _ in range(6)]
    assert [slot["class"] for slot in slots] == [NONE, URLLC, URLLC, MMTC, EMBB, URLLC]
    # EMBB arrived in slot 2 just after a place became free; the packet of slot 3 likewise
    assert [slot["delay"] for slot in slots] == [0, 1, 2, 2, 2, 2]


def test_a_packet_that_finds_its_queue_full_is_dropped() -> None:
    """Two places, nothing leaves: the third packet is lost and the first two stay."""
    simulator = scripted([URLLC, MMTC, EMBB], busy=(0, 1, 2))
    for slot in range(3):
        facts = simulator.step(np.array([[0, 1]]))
        assert facts.dropped.tolist() == [[slot == 2, False]]
    assert simulator.queues.length.tolist() == [[2, 0]]
    assert [step(simulator)["class"] for _ in range(2)] == [URLLC, MMTC]


def test_two_users_on_one_channel_both_fail() -> None:
    """A collision among secondary users is told apart from one with a primary user."""
    simulator = scripted([], initial=EMBB)
    facts = simulator.step(np.array([[2, 2]]))
    assert facts.secondary_collision.tolist() == [[True, True]]
    assert facts.primary_collision.tolist() == [[False, False]]
    assert not facts.success.any()
    assert simulator.queues.length.tolist() == [[1, 0]]


def test_success_without_a_packet_delivers_nothing() -> None:
    """Standby assignment and packet service are two readings of the same facts."""
    facts = scripted([]).step(np.array([[1, 2]]))
    assert facts.success.all()
    assert not facts.delivered.any()


@pytest.mark.parametrize("channel", [-1, 3])
def test_a_channel_that_does_not_exist_is_refused_and_changes_nothing(channel: int) -> None:
    """The slot can be played again with a proper channel."""
    simulator = scripted([], initial=EMBB)
    with pytest.raises(ValueError, match="lies outside 0 to 2"):
        simulator.step(np.array([[channel, 0]]))
    assert simulator.slot == 0
    assert step(simulator)["delivered"] == 1


def test_a_finished_episode_is_not_played_on() -> None:
    """The sentence says after how many slots it ended."""
    simulator = scripted([])
    for _ in range(6):
        step(simulator)
    assert simulator.done
    with pytest.raises(ValueError, match="ended after 6 slots"):
        step(simulator)


def test_channels_of_a_wrong_shape_are_refused() -> None:
    """Both shapes are named."""
    with pytest.raises(ValueError, match=r"shape \(1, 3\), not \(1, 2\)"):
        scripted([]).step(np.zeros((1, 3), dtype=np.int64))


def test_arrivals_have_the_scenarios_rates() -> None:
    """A packet in 30 % of slots and at half of the resets, of each class alike; to 5 sigma."""
    world = draw_world(load_scenario("paper"), 500)
    arriving, starting = world.arrivals.ravel(), world.initial.ravel()
    assert abs((arriving >= 0).mean() - 0.3) < 5 * np.sqrt(0.21 / arriving.size)
    assert abs((starting >= 0).mean() - 0.5) < 5 * np.sqrt(0.25 / starting.size)
    packets = arriving[arriving >= 0]
    for code in (URLLC, MMTC, EMBB):
        assert abs((packets == code).mean() - 1 / 3) < 5 * np.sqrt(2 / 9 / packets.size)
