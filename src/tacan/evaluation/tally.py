"""Sums of a ledger over what a metric speaks of: everybody, one packet class, or one user."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacan.evaluation.ledger import CLASS_COUNT, STANDBY, Ledger
from tacan.scenario import CLASSES, PacketClass

URLLC = CLASSES.index(PacketClass.URLLC)


@dataclass(frozen=True)
class Tally:
    """Plain sums. A slot is one user's slot (SU-slot); an attempt is one with a packet queued."""

    slots: int
    """SU-slots, with or without a packet; of a class: of all classes"""
    successes: int
    """SU-slots whose channel was free of any collision"""
    attempts: int
    delivered: int
    primary_collisions: int
    """of all SU-slots"""
    primary_collisions_queued: int
    """of attempts"""
    secondary_collisions: int
    secondary_collisions_queued: int
    initial: int
    arrived: int
    dropped: int
    censored: int
    delay_sum: int
    delays: npt.NDArray[np.int64]
    """[D]: delivered packets by delay"""
    urllc_delivered: int
    urllc_late: int
    """delivered later than the deadline"""
    urllc_lost: int
    """dropped, or still queued when they could no longer meet the deadline"""
    reward: float

    @property
    def standby_slots(self) -> int:
        """SU-slots with an empty queue."""
        return self.slots - self.attempts

    @property
    def standby_successes(self) -> int:
        """Those of them whose channel was free."""
        return self.successes - self.delivered

    @property
    def offered(self) -> int:
        """Packets there ever were."""
        return self.initial + self.arrived


def tally(ledger: Ledger, *, user: int | None = None, packet_class: int | None = None) -> Tally:
    """The sums of one seed's ledger: of all, of one user, or of one packet class."""
    users = slice(None) if user is None else slice(user, user + 1)
    classes = slice(0, STANDBY) if packet_class is None else slice(packet_class, packet_class + 1)
    everything = slice(0, CLASS_COUNT + 1) if packet_class is None else classes

    def total(counts: npt.NDArray[np.int32], chosen: slice) -> int:
        return int(counts[:, users, chosen].sum())

    urllc = slice(URLLC, URLLC + 1)
    urllc_delays = ledger.delays[:, users, urllc].sum(axis=(0, 1, 2))
    return Tally(
        slots=total(ledger.slots, slice(0, CLASS_COUNT + 1)),
        successes=total(ledger.successes, everything),
        attempts=total(ledger.slots, classes),
        delivered=total(ledger.successes, classes),
        primary_collisions=total(ledger.primary_collisions, everything),
        primary_collisions_queued=total(ledger.primary_collisions, classes),
        secondary_collisions=total(ledger.secondary_collisions, everything),
        secondary_collisions_queued=total(ledger.secondary_collisions, classes),
        initial=total(ledger.initial, classes),
        arrived=total(ledger.arrived, classes),
        dropped=total(ledger.dropped, classes),
        censored=total(ledger.censored, classes),
        delay_sum=total(ledger.delay_sum, classes),
        delays=ledger.delays[:, users, classes].sum(axis=(0, 1, 2)),
        urllc_delivered=int(urllc_delays.sum()),
        urllc_late=int(urllc_delays[ledger.deadline + 1 :].sum()),
        urllc_lost=total(ledger.dropped, urllc) + total(ledger.expired, urllc),
        reward=float(ledger.reward[:, users].sum()),
    )


def percentile(counts: npt.NDArray[np.int64], percent: float) -> float | None:
    """``numpy.percentile`` of the integers 0, 1, .. that occur ``counts`` times; None of nothing.

    The same linear interpolation between order statistics, to the last bit.
    """
    cumulative = np.cumsum(counts)
    count = int(cumulative[-1])
    if count == 0:
        return None
    position = (count - 1) * (percent / 100.0)
    below = int(position)
    above = min(below + 1, count - 1)
    low, high = (int(np.searchsorted(cumulative, rank, side="right")) for rank in (below, above))
    share = position - below
    # numpy interpolates from the nearer end
    if share >= 0.5:
        return high - (high - low) * (1.0 - share)
    return low + (high - low) * share
