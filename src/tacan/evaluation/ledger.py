"""Every packet accounted for: initial + arrived = delivered + dropped + censored.

Axes: B episodes (rows), U secondary users, C packet classes, S seeds, D = T + 1 delays. The books
are kept from the facts of each slot; what is censored is counted in the queues themselves when an
episode ends or is cut, so that the balance checks the simulator and does not follow from its sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit
from tacan.scenario import CLASSES, EMPTY
from tacan.simulator.queues import Queues, SlotFacts
from tacan.simulator.world import World

CLASS_COUNT = len(CLASSES)
STANDBY = CLASS_COUNT
"""The place of slots with an empty queue on the axes [C + 1]."""

Counts = npt.NDArray[np.int32]


class LedgerError(RuntimeError):
    """The books do not balance: an error of the software, whose numbers must not be used."""


@njit(cache=True, nogil=True)
def _record(
    slot: Any,
    lengths: Any,
    row_seed: Any,
    facts: Any,
    slots: Any,
    successes: Any,
    primary_collisions: Any,
    secondary_collisions: Any,
    arrived: Any,
    dropped: Any,
    delay_sum: Any,
    reward: Any,
    delays: Any,
) -> Any:
    """Enter one slot of all rows that are not cut yet; False for a delay that cannot be."""
    for b in range(facts.shape[0]):
        if slot >= lengths[b]:
            continue
        for u in range(facts.shape[1]):
            fact = facts[b, u]
            code = fact.packet_class
            place = STANDBY if code == EMPTY else code
            slots[b, u, place] += 1
            primary_collisions[b, u, place] += fact.primary_collision
            secondary_collisions[b, u, place] += fact.secondary_collision
            reward[b, u] += fact.reward
            if fact.success:
                successes[b, u, place] += 1
                if code != EMPTY:
                    delay = fact.packet_delay
                    if delay < 1 or delay >= delays.shape[3]:
                        return False
                    delay_sum[b, u, code] += delay
                    delays[row_seed[b], u, code, delay] += 1
            if fact.arrived != EMPTY:
                arrived[b, u, fact.arrived] += 1
                dropped[b, u, fact.arrived] += fact.dropped
    return True


@njit(cache=True, nogil=True)
def _count_waiting(
    slot: Any,
    deadline: Any,
    lengths: Any,
    packets: Any,
    heads: Any,
    censored: Any,
    expired: Any,
) -> None:
    """Count what still waits in the queues of the rows that end after ``slot`` slots."""
    capacity = packets.shape[2]
    for b in range(heads.shape[0]):
        if lengths[b] != slot:
            continue
        for u in range(heads.shape[1]):
            for i in range(heads[b, u].length):
                packet = packets[b, u, (heads[b, u].first + i) % capacity]
                censored[b, u, packet.packet_class] += 1
                expired[b, u, packet.packet_class] += slot - packet.arrival > deadline


@dataclass(frozen=True)
class Ledger:
    """The books of B episodes. ``record`` and ``close`` mutate the arrays in place."""

    lengths: npt.NDArray[np.int64]
    """[B]: slots of the episode that count"""
    row_seed: npt.NDArray[np.int64]
    """[B]: the position of the row's seed"""
    initial: Counts
    """[B, U, C]: packets waiting at reset"""
    arrived: Counts
    """[B, U, C]: packets that arrived, dropped ones included"""
    dropped: Counts
    """[B, U, C]: packets that found their queue full"""
    censored: Counts
    """[B, U, C]: packets still waiting at the end"""
    expired: Counts
    """[B, U, C]: those of them that can no longer meet the deadline"""
    slots: Counts
    """[B, U, C + 1]: slots by class of the head-of-line packet; the last place: empty queue"""
    successes: Counts
    """[B, U, C + 1]: those without any collision; of a class: its delivered packets"""
    primary_collisions: Counts
    """[B, U, C + 1]: those with a primary user on the channel"""
    secondary_collisions: Counts
    """[B, U, C + 1]: those with another secondary user on the channel"""
    delay_sum: Counts
    """[B, U, C]: total delay of the delivered packets"""
    reward: npt.NDArray[np.float64]
    """[B, U]: total reward (eq:reward)"""
    delays: npt.NDArray[np.int64]
    """[S, U, C, D]: delivered packets by delay"""
    deadline: int
    """slots beyond which a URLLC packet is late"""

    @staticmethod
    def opened(
        world: World,
        lengths: npt.NDArray[np.int64],
        row_seed: npt.NDArray[np.int64],
        seed_count: int,
    ) -> Ledger:
        """Books before slot 0, with the packets that wait at reset."""
        shape = world.initial.shape
        waiting = world.initial[:, :, None] == np.arange(CLASS_COUNT)

        def counts(width: int) -> Counts:
            return np.zeros((*shape, width), dtype=np.int32)

        return Ledger(
            lengths=lengths,
            row_seed=row_seed,
            initial=waiting.astype(np.int32),
            arrived=counts(CLASS_COUNT),
            dropped=counts(CLASS_COUNT),
            censored=counts(CLASS_COUNT),
            expired=counts(CLASS_COUNT),
            slots=counts(CLASS_COUNT + 1),
            successes=counts(CLASS_COUNT + 1),
            primary_collisions=counts(CLASS_COUNT + 1),
            secondary_collisions=counts(CLASS_COUNT + 1),
            delay_sum=counts(CLASS_COUNT),
            reward=np.zeros(shape),
            delays=np.zeros(
                (seed_count, shape[1], CLASS_COUNT, world.scenario.episode_slots + 1),
                dtype=np.int64,
            ),
            deadline=world.scenario.reward.deadline_slots,
        )

    @property
    def delivered(self) -> Counts:
        """Delivered packets [B, U, C]."""
        return self.successes[:, :, :STANDBY]

    def record(self, slot: int, facts: SlotFacts) -> None:
        """Enter what happened in a slot."""
        possible = _record(
            slot,
            self.lengths,
            self.row_seed,
            facts.record,
            self.slots,
            self.successes,
            self.primary_collisions,
            self.secondary_collisions,
            self.arrived,
            self.dropped,
            self.delay_sum,
            self.reward,
            self.delays,
        )
        if not possible:
            raise LedgerError(
                f"slot {slot}: a packet was delivered with a delay that no packet can have"
            )

    def close(self, slots_played: int, queues: Queues) -> None:
        """Count the packets censored in the rows that end here."""
        _count_waiting(
            slots_played,
            self.deadline,
            self.lengths,
            queues.packets,
            queues.heads,
            self.censored,
            self.expired,
        )

    def check(self) -> None:
        """Raise a LedgerError unless every packet and every slot is accounted for."""
        balance = self.initial + self.arrived - self.delivered - self.dropped - self.censored
        if balance.any():
            b, u, c = (int(places[0]) for places in np.nonzero(balance))
            raise LedgerError(
                f"the ledger does not balance in row {b}, user {u}, class {CLASSES[c].value}: "
                f"{self.initial[b, u, c]} initial + {self.arrived[b, u, c]} arrived, but "
                f"{self.delivered[b, u, c]} delivered + {self.dropped[b, u, c]} dropped "
                f"+ {self.censored[b, u, c]} censored"
            )
        if (self.slots.sum(axis=2) != self.lengths[:, None]).any():
            raise LedgerError("the ledger does not hold every slot of every episode once")
        if self.delays.sum() != self.delivered.sum():
            raise LedgerError("the ledger does not hold the delay of every delivered packet once")

    def of_seed(self, position: int) -> Ledger:
        """The books of one seed alone."""
        rows = self.row_seed == position
        arrays = {name: getattr(self, name)[rows] for name in ROW_FIELDS}
        arrays["row_seed"] = np.zeros_like(arrays["row_seed"])
        return Ledger(**arrays, delays=self.delays[position : position + 1], deadline=self.deadline)

    @staticmethod
    def joined(parts: Sequence[Ledger]) -> Ledger:
        """The books of several batches as one, their rows in the order of the parts."""
        arrays = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in ROW_FIELDS
        }
        delays = np.zeros_like(parts[0].delays)
        for part in parts:  # only the seeds that it played: the others' pages were never touched
            seeds = np.unique(part.row_seed)
            delays[seeds] += part.delays[seeds]
        return Ledger(**arrays, delays=delays, deadline=parts[0].deadline)


ROW_FIELDS = tuple(
    field.name for field in fields(Ledger) if field.name not in {"delays", "deadline"}
)
"""The arrays that have a row for every episode."""
