"""Every datagram accounted for: what arrived on the air against what was predicted.

A datagram of user u in slot t is *misrouted* if it arrived on another channel than the assigned
one, *collided* if a primary user was on in its slot, and *delivered* otherwise. The prediction is
the simulator's judgement of the same channels in the same slots. Separately, the assignments are
compared with an offline replay of the same policy in a fresh simulator.

A slot *overran* if its users had no time left to send, or a datagram was sent or arrived after the
slot's end: such slots are named and excluded. A datagram that got lost in any other slot is a
difference.

An agreement is worth as much as what was compared: too many overrun slots, slots that were never
played, decisions that were not the policy's and OpenFlow errors are objections like any difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacan.controller.lab.experiment import LabRun, LabSettings
from tacan.controller.messages import Source
from tacan.controller.wiring import live_policy
from tacan.policies.assignment import assign, service_order
from tacan.simulator.simulator import Simulator
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import WorldGenerator

MOST_OVERRUN = 0.01
"""This share of a run's slots may not overrun: what is excluded says nothing about packets."""

RECORD = np.dtype(
    [
        ("run", "=u4"),
        ("slot", "=u4"),
        ("user", "=u2"),
        ("channel", "=u2"),
        ("number", "=u4"),
        ("sent", "=u8"),
        ("arrived", "=u8"),
        ("busy", "u1"),
    ]
)


@dataclass(frozen=True)
class Ledger:
    """The comparison of one run."""

    policy: str
    wanted: int
    """slots that were to be played"""
    slots: int
    """slots that were"""
    overran: tuple[int, ...]
    sent: int
    """datagrams, in slots that count"""
    delivered: int
    collided: int
    misrouted: int
    lost: int
    predicted_delivered: int
    predicted_collided: int
    different: tuple[int, ...]
    """slots in which any user's deliveries differ from the prediction"""
    fallbacks: int
    """decisions that were not the policy's"""
    replay_differs: int
    """slots whose channels differ from the offline replay's"""
    errors: int
    """OpenFlow errors"""
    first_packet: npt.NDArray[np.float64]
    """seconds from the start of the slot to the first datagram on a new channel"""
    first_after_barrier: npt.NDArray[np.float64]
    """seconds from the barrier's answer to the same datagram"""

    def objections(self, most_overrun: float = MOST_OVERRUN) -> list[str]:
        """Why this run does not show that packets fare as predicted; empty if it does."""
        counts = {
            "slots were not played": self.wanted - self.slots,
            "datagrams were misrouted": self.misrouted,
            "datagrams were lost": self.lost,
            "slots differ from the prediction": len(self.different),
            "OpenFlow errors": self.errors,
            "decisions were not the policy's": self.fallbacks,
            "slots differ from the offline replay": self.replay_differs,
        }
        found = [f"{count} {what}" for what, count in counts.items() if count]
        if self.overran and len(self.overran) >= most_overrun * self.slots:
            found.append(
                f"{len(self.overran)} of {self.slots} slots overran, "
                f"and fewer than {most_overrun:.0%} may"
            )
        if not self.sent:
            found.append("no datagram was compared")
        return found


def offline_channels(settings: LabSettings, policy: str) -> npt.NDArray[np.int64]:
    """The channels [T, U] that the policy chooses in the simulator alone."""
    scenario = settings.scenario
    keys = EpisodeKeys.of(Domain.EVALUATION, settings.seed, 0)
    simulator = Simulator(WorldGenerator(scenario).draw(keys))
    asked = live_policy(policy, scenario, settings.seed)
    asked.start(keys)
    chosen = np.empty((settings.slots, scenario.users), dtype=np.int64)
    for slot in range(settings.slots):
        observation = simulator.observe()
        order = service_order(settings.order, observation)
        channels = assign(asked.score(observation), order)
        chosen[slot] = channels[0]
        simulator.step(channels)
    return chosen


def compare(run: LabRun, settings: LabSettings) -> Ledger:
    """Account for one run."""
    shape = (len(run.slots), settings.scenario.users)
    channels = np.array([slot.channels for slot in run.slots], dtype=np.int64).reshape(shape)
    ends = np.array([slot.ends_ns for slot in run.slots], dtype=np.uint64)
    began = np.array([slot.began_ns for slot in run.slots], dtype=np.uint64)
    confirmed = np.array([slot.confirmed_ns for slot in run.slots], dtype=np.uint64)
    sending = np.array(
        [[slot.sending >> user & 1 for user in range(shape[1])] for slot in run.slots], dtype=bool
    ).reshape(shape)
    success = np.array([slot.success for slot in run.slots], dtype=bool).reshape(shape)
    changed = np.zeros(shape, dtype=bool)
    for number, slot in enumerate(run.slots):
        changed[number, list(slot.changed)] = True
    overran = np.array([slot.overran for slot in run.slots], dtype=bool)

    packets = np.frombuffer(run.records, dtype=RECORD)
    packets = packets[packets["run"] == run.number]
    late = (packets["sent"] > ends[packets["slot"]]) | (packets["arrived"] > ends[packets["slot"]])
    overran[packets["slot"][late]] = True
    packets = packets[~overran[packets["slot"]]]
    sending[overran] = False

    at_home = packets["channel"] == channels[packets["slot"], packets["user"]]
    clear = at_home & (packets["busy"] == 0)
    delivered = _tally(packets[clear], shape)
    collided = _tally(packets[at_home & (packets["busy"] == 1)], shape)
    expected = np.where(sending & success, run.datagrams, 0)
    expected_collided = np.where(sending & ~success, run.datagrams, 0)
    wrong = ((delivered != expected) | (collided != expected_collided)).any(axis=1)
    first = _first(packets, shape)
    moved = changed & (first > 0)
    slots = np.nonzero(moved)[0]
    replay = offline_channels(settings, run.policy)[: len(run.slots)]
    sent = int(sending.sum()) * run.datagrams
    return Ledger(
        policy=run.policy,
        wanted=settings.slots,
        slots=len(run.slots),
        overran=tuple(np.flatnonzero(overran).tolist()),
        sent=sent,
        delivered=int(delivered.sum()),
        collided=int(collided.sum()),
        misrouted=int((~at_home).sum()),
        lost=sent - len(packets),
        predicted_delivered=int(expected.sum()),
        predicted_collided=int(expected_collided.sum()),
        different=tuple(np.flatnonzero(wrong).tolist()),
        fallbacks=sum(count for name, count in run.sources.items() if name != Source.POLICY),
        replay_differs=int((replay != channels).any(axis=1).sum()),
        errors=run.errors,
        first_packet=(first[moved] - began[slots]) / 1e9,
        first_after_barrier=(first[moved] - confirmed[slots]) / 1e9,
    )


def _tally(packets: npt.NDArray[np.void], shape: tuple[int, int]) -> npt.NDArray[np.int64]:
    count = np.zeros(shape, dtype=np.int64)
    np.add.at(count, (packets["slot"], packets["user"]), 1)
    return count


def _first(packets: npt.NDArray[np.void], shape: tuple[int, int]) -> npt.NDArray[np.uint64]:
    """When each user's first datagram of a slot arrived, 0 if none did."""
    never = np.uint64(2**64 - 1)
    first = np.full(shape, never, dtype=np.uint64)
    np.minimum.at(first, (packets["slot"], packets["user"]), packets["arrived"])
    first[first == never] = 0
    return first
