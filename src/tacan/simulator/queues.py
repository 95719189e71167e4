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
from numba import njit

from tacan.scenario import CLASSES, EMPTY
from tacan.simulator.reward import slot_reward
from tacan.simulator.streams import WEYL, Stream, mix, stream_start, to_unit

ARRIVALS = int(Stream.ARRIVALS)
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
    counter = stream_start(domain, seed, episode, ARRIVALS, 0)
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


@dataclass(slots=True)
class Queues:
    """All queues of a batch, as ring buffers; ``serve_slot`` mutates them in place."""

    packet_class: npt.NDArray[np.int8]
    """[B, U, capacity]"""
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
        waiting = initial != EMPTY
        packet_class = np.full((*initial.shape, capacity), EMPTY, dtype=np.int8)
        packet_class[:, :, 0] = initial
        return Queues(
            packet_class=packet_class,
            packet_arrival=np.full((*initial.shape, capacity), BEFORE_START, dtype=np.int32),
            first=np.zeros(initial.shape, dtype=np.int32),
            length=waiting.astype(np.int32),
            head_class=initial.copy(),
            head_delay=waiting.astype(np.int32),
        )


@dataclass(slots=True)
class SlotFacts:
    """What happened in one slot: facts, not judgements. All [B, U]; the next step overwrites them.

    A collision is a fact of the assigned channel whether or not a packet was sent on it: evaluation
    tells standby assignments from packets by ``packet_class``.
    """

    channel: npt.NDArray[np.int64]
    """the assigned channel"""
    primary_collision: npt.NDArray[np.bool_]
    """a primary user was on it"""
    secondary_collision: npt.NDArray[np.bool_]
    """another secondary user was assigned to it"""
    success: npt.NDArray[np.bool_]
    """neither"""
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

    @staticmethod
    def empty(rows: int, users: int) -> SlotFacts:
        """Facts before any slot was played."""
        shape = (rows, users)
        return SlotFacts(
            channel=np.zeros(shape, dtype=np.int64),
            primary_collision=np.zeros(shape, dtype=np.bool_),
            secondary_collision=np.zeros(shape, dtype=np.bool_),
            success=np.zeros(shape, dtype=np.bool_),
            packet_class=np.full(shape, EMPTY, dtype=np.int8),
            packet_delay=np.zeros(shape, dtype=np.int32),
            arrived=np.full(shape, EMPTY, dtype=np.int8),
            dropped=np.zeros(shape, dtype=np.bool_),
            reward=np.zeros(shape, dtype=np.float64),
        )

    @property
    def delivered(self) -> npt.NDArray[np.bool_]:
        """A packet was there and got through [B, U]."""
        present: npt.NDArray[np.bool_] = self.packet_class != EMPTY
        return np.logical_and(self.success, present)


@njit(cache=True, nogil=True)
def serve_slot(
    slot: Any,
    channels: Any,
    busy: Any,
    arrivals: Any,
    terms: Any,
    packet_class: Any,
    packet_arrival: Any,
    first: Any,
    length: Any,
    head_class: Any,
    head_delay: Any,
    out_channel: Any,
    out_primary: Any,
    out_secondary: Any,
    out_success: Any,
    out_class: Any,
    out_delay: Any,
    out_arrived: Any,
    out_dropped: Any,
    out_reward: Any,
) -> Any:
    """Play one slot: judge the channels [B, U] against the slot's occupancy ``busy`` [B, K].

    Returns False, and changes nothing, if a channel is out of range.
    """
    rows, users = channels.shape
    width = busy.shape[1]
    capacity = packet_class.shape[2]
    for b in range(rows):
        for u in range(users):
            if channels[b, u] < 0 or channels[b, u] >= width:
                return False
    for b in range(rows):
        for u in range(users):
            channel = channels[b, u]
            clash = False
            for v in range(users):
                clash |= v != u and channels[b, v] == channel
            occupied = busy[b, channel] != 0
            success = not occupied and not clash
            code = head_class[b, u]
            delay = head_delay[b, u]
            out_channel[b, u] = channel
            out_primary[b, u] = occupied
            out_secondary[b, u] = clash
            out_success[b, u] = success
            out_class[b, u] = code
            out_delay[b, u] = delay
            out_reward[b, u] = slot_reward(terms, code, delay, success, occupied)
            if success and code != EMPTY:
                first[b, u] += 1
                if first[b, u] == capacity:
                    first[b, u] = 0
                length[b, u] -= 1
            arriving = arrivals[b, u]
            out_arrived[b, u] = arriving
            out_dropped[b, u] = False
            if arriving != EMPTY:
                if length[b, u] == capacity:
                    out_dropped[b, u] = True
                else:
                    place = (first[b, u] + length[b, u]) % capacity
                    packet_class[b, u, place] = arriving
                    packet_arrival[b, u, place] = slot
                    length[b, u] += 1
            if length[b, u] > 0:
                head_class[b, u] = packet_class[b, u, first[b, u]]
                head_delay[b, u] = slot + 1 - packet_arrival[b, u, first[b, u]]
            else:
                head_class[b, u] = EMPTY
                head_delay[b, u] = 0
    return True
