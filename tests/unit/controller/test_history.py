"""The window that a policy sees."""

from controller_fakes import TINY, report
from tacan.controller.history import History


def test_the_newest_slot_is_last_and_the_oldest_leaves() -> None:
    """After five slots of a history of four, slots 1 to 4 are left, in order."""
    history = History(TINY)
    for slot in range(5):
        observation = history.push(report(slot, busy=[slot % 4], entropy=slot / 10))
    assert observation is not None
    assert observation.occupancy[0].argmax(axis=1).tolist() == [1, 2, 3, 0]
    assert [round(float(row[0]), 1) for row in observation.entropy[0]] == [0.1, 0.2, 0.3, 0.4]


def test_slots_before_the_first_are_padding_and_not_counted() -> None:
    """Slots -4 to -2 ask for no decision; the one after slot -1 is for slot 0."""
    history = History(TINY)
    answers = [history.push(report(slot)) for slot in range(-4, 2)]
    assert answers[:3] == [None, None, None]
    assert [answer.slot for answer in answers[3:] if answer is not None] == [0, 1, 2]


def test_an_observation_does_not_change_afterwards() -> None:
    """A late policy still reads what it was given."""
    history = History(TINY)
    first = history.push(report(0))
    for slot in range(1, 9):
        history.push(report(slot, busy=[0, 1, 2, 3]))
    assert first is not None
    assert first.occupancy.sum() == 0
