"""The rules for reports that are late, missing, doubled or at odds."""

import pytest

from controller_fakes import report
from tacan.controller.intake import MAX_JUMP, MAX_WAITING, Intake


@pytest.fixture
def intake() -> Intake:
    """Four slots of history."""
    return Intake(history=4)


def offer(intake: Intake, *slots: int) -> None:
    for slot in slots:
        intake.offer(report(slot))


def taken(intake: Intake) -> list[int]:
    return [one.slot for one in intake.take()]


def test_reports_in_the_wrong_order_are_put_in_order(intake: Intake) -> None:
    """Slots 1, 3, 2 that come before a decision are decided upon as 1, 2, 3."""
    offer(intake, 1, 3, 2)
    assert taken(intake) == [1, 2, 3]
    assert intake.counts == {"out_of_order": 1}


def test_a_report_of_a_decided_slot_is_late(intake: Intake) -> None:
    """Once slot 3 was taken, slots 2 and 3 are dropped."""
    offer(intake, 3)
    intake.take()
    offer(intake, 2, 3)
    assert taken(intake) == []
    assert intake.counts == {"late": 2}


def test_a_duplicate_counts_once(intake: Intake) -> None:
    """The same slot said twice alike is one slot."""
    offer(intake, 1, 1)
    assert taken(intake) == [1]
    assert intake.counts == {"duplicate": 1}


def test_contradictory_reports_are_joined_on_the_safe_side(intake: Intake) -> None:
    """A channel counts as busy if either report says so, and the higher entropy stands."""
    intake.offer(report(1, busy=[0], entropy=0.2))
    intake.offer(report(1, busy=[2], entropy=0.9))
    (joined,) = intake.take()
    assert joined.occupancy.tolist() == [1, 0, 1, 0]
    assert joined.entropy.tolist() == pytest.approx([0.9] * 4)
    assert intake.counts == {"contradictory": 1}


def test_a_radio_that_restarts_does_not_hide_what_the_other_saw(intake: Intake) -> None:
    """Of the same slot one says busy, then one restart: the slot is busy and begins a history."""
    offer(intake, 1)
    intake.offer(report(2, busy=[0]))
    intake.offer(report(2, restart=True))
    (joined,) = intake.take()
    assert (joined.slot, joined.restart) == (2, True)
    assert joined.occupancy.tolist() == [1, 0, 0, 0]


def test_a_short_gap_is_filled_with_the_slot_before_it(intake: Intake) -> None:
    """Slots 2 and 3 are missing: they repeat the spectrum of slot 1."""
    intake.offer(report(1, busy=[3]))
    intake.offer(report(4, busy=[0]))
    slots = intake.take()
    assert [one.slot for one in slots] == [1, 2, 3, 4]
    assert [one.occupancy.tolist() for one in slots[1:3]] == [[0, 0, 0, 1]] * 2
    assert intake.counts == {"missing": 2}


def test_a_gap_longer_than_the_history_restarts_it(intake: Intake) -> None:
    """Five missing slots leave nothing of a history of four."""
    offer(intake, 1)
    intake.take()
    offer(intake, 7)
    (only,) = intake.take()
    assert (only.slot, only.restart) == (7, True)
    assert intake.counts == {"restarts": 1}


def test_an_implausible_slot_number_is_refused(intake: Intake) -> None:
    """A slot far in the future does not make all true ones late."""
    offer(intake, 1)
    intake.take()
    intake.offer(report(MAX_JUMP + 2))
    offer(intake, 2)
    assert taken(intake) == [2]
    assert intake.counts == {"implausible": 1}


def test_a_radio_that_restarts_may_count_from_zero(intake: Intake) -> None:
    """A report that says restart begins a new history, and its successors are not late."""
    offer(intake, 500)
    intake.take()
    intake.offer(report(0, restart=True))
    intake.offer(report(1))
    slots = intake.take()
    assert [(one.slot, one.restart) for one in slots] == [(0, True), (1, False)]


def test_after_silence_any_report_begins_a_new_history(intake: Intake) -> None:
    """The loop gave up on the sensor: even a lower slot number is taken then."""
    offer(intake, 500)
    intake.take()
    intake.silence()
    intake.offer(report(3))
    (only,) = intake.take()
    assert (only.slot, only.restart) == (3, True)


def test_waiting_reports_are_bounded(intake: Intake) -> None:
    """A flood between two decisions keeps only the newest."""
    offer(intake, *range(MAX_WAITING + 10))
    assert taken(intake) == list(range(10, MAX_WAITING + 10))
    assert intake.counts["overflow"] == 10
