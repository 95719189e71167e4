"""The lab's books: what counts as agreement, without a switch."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from controller_fakes import TINY
from tacan.cli.lab import _verdict
from tacan.controller.lab.experiment import LabRun, LabSettings, SlotLog
from tacan.controller.lab.ledger import RECORD, compare, offline_channels
from tacan.controller.messages import Source
from tacan.policies.assignment import ServiceOrder

SLOTS = 10
SETTINGS = LabSettings(TINY, SLOTS, ServiceOrder.FIXED, seed=42, datagrams=1)
BEGIN, END = 1_000, 2_000


def good_run() -> LabRun:
    """Ten slots of Greedy; user 0 sends one datagram in each, and all arrive on clear channels."""
    channels = offline_channels(SETTINGS, "greedy")
    slots = [
        SlotLog(tuple(row), 0b01, (), False, BEGIN, BEGIN, END, np.ones(2, dtype=bool))
        for row in channels.tolist()
    ]
    packets = [(1, slot, 0, channels[slot, 0], 0, BEGIN, BEGIN, 0) for slot in range(SLOTS)]
    records = np.array(packets, dtype=RECORD).tobytes()
    return LabRun("greedy", 1, 1, slots, records, {Source.POLICY: SLOTS}, 0, {})


def overrun(run: LabRun, count: int) -> LabRun:
    late = [replace(slot, overran=True, sending=0) for slot in run.slots[:count]]
    return replace(run, slots=late + run.slots[count:])


def elsewhere(run: LabRun) -> LabRun:
    """In slot 3 the channels are not those of the replay; the datagram arrives where it should."""
    other = (run.slots[3].channels[0] + 2) % TINY.channels
    records = np.frombuffer(run.records, dtype=RECORD).copy()
    records["channel"][3] = other
    slots = list(run.slots)
    slots[3] = replace(slots[3], channels=(other, -1))
    return replace(run, slots=slots, records=records.tobytes())


def collided(run: LabRun) -> LabRun:
    """In slot 3 a primary user was on, which the simulator did not say."""
    records = np.frombuffer(run.records, dtype=RECORD).copy()
    records["busy"][3] = 1
    return replace(run, records=records.tobytes())


def test_a_run_that_went_as_predicted_has_no_objections() -> None:
    """Ten datagrams, all of them delivered."""
    ledger = compare(good_run(), SETTINGS)
    assert (ledger.sent, ledger.delivered, ledger.objections()) == (10, 10, [])
    assert _verdict([ledger]) == ["10 datagrams: every one fared as predicted"]


@pytest.mark.parametrize(
    ("spoil", "objection"),
    [
        (lambda run: replace(run, errors=17), "17 OpenFlow errors"),
        (
            lambda run: replace(run, sources={Source.POLICY: 8, Source.LATE: 2}),
            "2 decisions were not the policy's",
        ),
        (elsewhere, "1 slots differ from the offline replay"),
        (collided, "1 slots differ from the prediction"),
        (lambda run: replace(run, records=run.records[RECORD.itemsize :]), "1 datagrams were lost"),
        (lambda run: overrun(run, 1), "1 of 10 slots overran, and fewer than 1% may"),
        (lambda run: replace(run, slots=run.slots[:0], records=b""), "10 slots were not played"),
        (lambda run: overrun(run, SLOTS), "no datagram was compared"),
    ],
)
def test_whatever_makes_agreement_worthless_is_an_objection(
    spoil: Callable[[LabRun], LabRun], objection: str
) -> None:
    """And then the verdict does not say that every datagram fared as predicted."""
    ledger = compare(spoil(good_run()), SETTINGS)
    assert objection in ledger.objections()
    assert _verdict([ledger])[-1].endswith("not shown that every one fares so")


def test_overrun_slots_are_excluded_and_may_be_allowed_for() -> None:
    """Whoever knows that the machine is busy sets another limit: one of ten is below a fifth."""
    ledger = compare(overrun(good_run(), 1), SETTINGS)
    assert (ledger.overran, ledger.sent) == ((0,), 9)
    assert ledger.objections(most_overrun=0.2) == []
