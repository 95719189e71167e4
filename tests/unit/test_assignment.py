"""Who chooses first, and which channel is left."""

from __future__ import annotations

import numpy as np
import pytest

from fakes import view
from tacan.observation import Observation
from tacan.policies.assignment import ServiceOrder, assign, service_order

URLLC, MMTC, EMBB, EMPTY = 0, 1, 2, -1
FIXED_LINE = np.array([[0, 1, 2]])


def queues(classes: list[int], delays: list[int], slot: int = 0) -> Observation:
    """A view of users whose head-of-line packets are these."""
    observation = view([[0]], slot)
    observation.queue_class = np.array([classes], dtype=np.int8)
    observation.queue_delay = np.array([delays], dtype=np.int32)
    return observation


def line(order: ServiceOrder, observation: Observation) -> list[int]:
    return service_order(order, observation)[0].tolist()


def test_fixed_order_is_the_users_numbers() -> None:
    """Whatever waits in the queues, and in every slot."""
    observation = queues([EMPTY, MMTC, URLLC], [0, 3, 9], slot=7)
    assert line(ServiceOrder.FIXED, observation) == [0, 1, 2]


@pytest.mark.parametrize(("slot", "expected"), [(0, [0, 1, 2]), (1, [1, 2, 0]), (5, [2, 0, 1])])
def test_rotating_order_starts_one_user_later_every_slot(slot: int, expected: list[int]) -> None:
    """Slot 5 of three users starts with user 5 mod 3 = 2."""
    observation = queues([EMPTY] * 3, [0] * 3, slot=slot)
    assert line(ServiceOrder.ROTATING, observation) == expected


@pytest.mark.parametrize(
    ("classes", "delays", "expected"),
    [
        ([EMPTY, MMTC, EMPTY, MMTC], [0, 1, 0, 1], [1, 3, 0, 2]),  # queued before empty
        ([MMTC, EMBB, URLLC, EMPTY], [90, 99, 1, 0], [2, 1, 0, 3]),  # then URLLC
        ([URLLC, URLLC, MMTC, EMBB], [2, 8, 3, 4], [1, 0, 3, 2]),  # then the longest wait
        ([MMTC, MMTC, MMTC, MMTC], [5, 5, 5, 5], [0, 1, 2, 3]),  # ties: the lower number
        ([EMPTY, URLLC, MMTC, EMPTY], [0, 1, 30_000, 0], [1, 2, 0, 3]),  # whatever the wait
    ],
)
def test_queued_first_order(classes: list[int], delays: list[int], expected: list[int]) -> None:
    """Users with a packet first; among them URLLC; among those the longest wait."""
    assert line(ServiceOrder.QUEUED_FIRST, queues(classes, delays)) == expected


def test_users_choose_the_best_channel_that_is_left() -> None:
    """One score for all: the line takes the channels from the best down; ties by number."""
    scores = np.array([[[0.5, 0.9, 0.5, 0.1]]])
    assert assign(scores, FIXED_LINE).tolist() == [[1, 0, 2]]
    assert assign(scores, np.array([[2, 0, 1]])).tolist() == [[0, 2, 1]]


def test_users_may_have_scores_of_their_own() -> None:
    """User 1 chooses first here and takes channel 0, which user 0 likes best as well."""
    scores = np.array([[[9.0, 1.0, 0.0], [9.0, 0.0, 1.0], [0.0, 9.0, 1.0]]])
    assert assign(scores, np.array([[1, 0, 2]])).tolist() == [[1, 0, 2]]


def test_a_masked_channel_is_never_chosen() -> None:
    """-inf says no; a score of NaN says nothing and is not chosen either."""
    scores = np.array([[[-np.inf, 1.0, np.nan, -5.0, 0.0]]])
    assert assign(scores, FIXED_LINE).tolist() == [[1, 4, 3]]


def test_too_few_usable_channels_are_an_error() -> None:
    """The sentence names the row: here the second of two episodes."""
    scores = np.array([[[1.0, 2.0, 3.0]], [[1.0, -np.inf, np.nan]]])
    with pytest.raises(ValueError, match="row 1: fewer usable channels than users"):
        assign(scores, np.tile(FIXED_LINE, (2, 1)))


@pytest.mark.parametrize("shape", [(2, 3, 3), (1, 2, 3), (1, 3)])
def test_scores_that_do_not_fit_the_line_are_an_error(shape: tuple[int, ...]) -> None:
    """Three users in one row are served by (1, 1, K) or (1, 3, K); compiled code would read on."""
    with pytest.raises(ValueError, match="cannot serve 1 x 3 users"):
        assign(np.zeros(shape), FIXED_LINE)
