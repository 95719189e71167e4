"""Secondary users' packets: arrivals, queues and the service of one slot.

Order inside a slot: the assigned channels are judged against the slot's occupancy, head-of-line
packets that succeed leave, then new packets arrive. A packet that arrives in slot t can first be
sent in slot t + 1 and has delay 1 then. A packet waiting at reset arrived in slot -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit
from tacan.scenario import CLASSES, EMPTY
from tacan.simulator.reward import slot_reward
from tacan.simulator.streams import WEYL, WHOLE, Stream, mix, stream_start, to_unit

ARRIVALS = np.uint64(Stream.ARRIVALS)
CLASS_COUNT = len(CLASSES)
BEFORE_START = -1


@njit(cache=True)
def draw_arrivals(
    domain: Any,
    seed: Any,
    episode: Any,
    arrival_probability: Any,
    initial_probability: Any,
    initial: Any,
    arrivals: Any,
) -> None:
    """Class codes of one episode's packets: waiting at reset [U], and arriving [T, U]; -1: none."""
    users = initial.shape[0]
    counter = stream_start(domain, seed, episode, ARRIVALS, WHOLE)
    for t in range(-1, arrivals.shape[0]):
        for u in range(users):
            counter += WEYL
            happens = to_unit(mix(counter))
            counter += WEYL
            code = int(to_unit(mix(counter)) * CLASS_COUNT)
            if t < 0:
                initial[u] = code if happens < initial_probability else EMPTY
            else:
                arrivals[t, u] = code if happens < arrival_probability else EMPTY


PACKET = np.dtype([("arrival", np.int32), ("packet_class", np.int8)], align=True)
"""A place in a queue."""

HEAD = np.dtype(
    [
        ("first", np.int32),
        ("length", np.int32),
        ("head_delay", np.int32),
        ("head_class", np.int8),
    ],
    align=True,
)
"""What there is to know about one queue besides its packets."""


@dataclass(slots=True)
class Queues:
    """All queues of a batch, as ring buffers; ``serve_slot`` mutates them in place.

    The numbers lie side by side in two arrays of records, so that a slot touches few cache lines
    and a kernel takes two arguments instead of six; the other fields are views of them.
    """

    packets: npt.NDArray[np.void]
    """[B, U, capacity] of PACKET"""
    heads: npt.NDArray[np.void]
    """[B, U] of HEAD"""
    packet_class: npt.NDArray[np.int8]
    """[B, U, capacity]; a place that holds no packet means nothing"""
    packet_arrival: npt.NDArray[np.int32]
    """[B, U, capacity]: the slot of arrival"""
    first: npt.NDArray[np.int32]
    """[B, U]: where the head of line is"""
    length: npt.NDArray[np.int32]
    """[B, U]"""
    head_class: npt.NDArray[np.int8]
    """[B, U]: class of the head-of-line packet, -1 when empty"""
    head_delay: npt.NDArray[np.int32]
    """[B, U]: slots it has waited, 0 when empty"""

    @staticmethod
    def starting_with(initial: npt.NDArray[np.int8], capacity: int) -> Queues:
        """Queues before slot 0, each holding its reset packet if there is one."""
        packets = np.zeros((*initial.shape, capacity), dtype=PACKET)
        packets["packet_class"][:, :, 0] = initial
        packets["arrival"][:, :, 0] = BEFORE_START
        heads = np.zeros(initial.shape, dtype=HEAD)
        heads["head_class"] = initial
        heads["length"] = heads["head_delay"] = initial != EMPTY
        return Queues(
            packets,
            heads,
            packets["packet_class"],
            packets["arrival"],
            **{name: heads[name] for name in HEAD.names or ()},
        )


FACT = np.dtype(
    [
        ("channel", np.int64),
        ("reward", np.float64),
        ("packet_delay", np.int32),
        ("packet_class", np.int8),
        ("arrived", np.int8),
        ("primary_collision", np.bool_),
        ("secondary_collision", np.bool_),
        ("success", np.bool_),
        ("delivered", np.bool_),
        ("dropped", np.bool_),
    ],
    align=True,
)
"""What happened to one user in one slot."""


@dataclass(slots=True)
class SlotFacts:
    """What happened in one slot: facts, not judgements. The next step overwrites them.

    All are [B, U] but the total.

    A collision is a fact of the assigned channel whether or not a packet was sent on it: evaluation
    tells standby assignments from packets by ``packet_class``.
    """

    record: npt.NDArray[np.void]
    """of FACT; the other fields are views of it"""
    channel: npt.NDArray[np.int64]
    """the assigned channel"""
    primary_collision: npt.NDArray[np.bool_]
    """a primary user was on it"""
    secondary_collision: npt.NDArray[np.bool_]
    """another secondary user was assigned to it"""
    success: npt.NDArray[np.bool_]
    """neither"""
    delivered: npt.NDArray[np.bool_]
    """neither, and a packet was there and got through"""
    packet_class: npt.NDArray[np.int8]
    """class of the head-of-line packet, -1: the queue was empty"""
    packet_delay: npt.NDArray[np.int32]
    """slots that packet had waited"""
    arrived: npt.NDArray[np.int8]
    """class of the packet that arrived after service, -1: none"""
    dropped: npt.NDArray[np.bool_]
    """that packet found its queue full"""
    reward: npt.NDArray[np.float64]
    """eq:reward"""
    total_reward: npt.NDArray[np.float64]
    """[B]: its sum over the users"""

    @staticmethod
    def empty(rows: int, users: int) -> SlotFacts:
        """Facts before any slot was played."""
        record = np.zeros((rows, users), dtype=FACT)
        record["packet_class"] = record["arrived"] = EMPTY
        by_name = {name: record[name] for name in FACT.names or ()}
        return SlotFacts(record, **by_name, total_reward=np.zeros(rows))


@njit(cache=True, nogil=True)
def serve_slot(
    slot: Any,
    history: Any,
    channels: Any,
    occupancy: Any,
    arrivals: Any,
    terms: Any,
    packets: Any,
    heads: Any,
    facts: Any,
    total_reward: Any,
) -> Any:
    """Play one slot: judge the channels [B, U] against the slot's occupancy.

    ``occupancy`` [B, H + T, K] and ``arrivals`` [B, T, U] are the world's; ``terms``, ``packets``,
    ``heads`` and ``facts`` are records. Returns False, and changes nothing, if a channel is out of
    range.
    """
    rows, users = channels.shape
    width = occupancy.shape[2]
    capacity = packets.shape[2]
    for b in range(rows):
        for u in range(users):
            if channels[b, u] < 0 or channels[b, u] >= width:
                return False
    for b in range(rows):
        total_reward[b] = 0.0
        for u in range(users):
            channel = channels[b, u]
            clash = False
            for v in range(users):
                clash |= v != u and channels[b, v] == channel
            occupied = occupancy[b, history + slot, channel] != 0
            success = not occupied and not clash
            arriving = arrivals[b, slot, u]
            queue = packets[b, u]
            head = heads[b, u]
            fact = facts[b, u]
            fact.channel = channel
            fact.primary_collision = occupied
            fact.secondary_collision = clash
            fact.success = success
            fact.delivered = success and head.head_class != EMPTY
            fact.packet_class = head.head_class
            fact.packet_delay = head.head_delay
            fact.arrived = arriving
            fact.dropped = False
            reward = slot_reward(terms[0], head.head_class, head.head_delay, success, occupied)
            fact.reward = reward
            total_reward[b] += reward
            first = head.first
            length = head.length
            if success and length > 0:
                length -= 1
                first += 1
                if first == capacity:
                    first = 0
            if arriving != EMPTY:
                if length == capacity:
                    fact.dropped = True
                else:
                    place = (first + length) % capacity
                    queue[place].packet_class = arriving
                    queue[place].arrival = slot
                    length += 1
            head.first = first
            head.length = length
            if length > 0:
                head.head_class = queue[first].packet_class
                head.head_delay = slot + 1 - queue[first].arrival
            else:
                head.head_class = EMPTY
                head.head_delay = 0
    return True
