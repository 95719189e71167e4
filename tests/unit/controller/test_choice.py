"""From scores to channels, within what the operator and the switch allow."""

import numpy as np
import pytest

from controller_fakes import TINY, prefers
from tacan.controller import choice
from tacan.controller.choice import Chooser
from tacan.observation import blank_observation
from tacan.policies import assignment
from tacan.policies.assignment import ServiceOrder

NOTHING = (-1, -1)


def channels(
    chooser: Chooser,
    scores: np.ndarray,
    down: frozenset[int] = frozenset(),
    present: tuple[int, ...] = NOTHING,
) -> list[int]:
    allowed = chooser.allow(down)
    made = chooser.choose(scores, blank_observation(TINY), allowed, present)
    return [choice.channel for choice in made]


def chooser(**settings: object) -> Chooser:
    return Chooser(TINY.users, TINY.channels, ServiceOrder.FIXED, **settings)  # type: ignore[arg-type]


def test_nothing_is_compiled_after_the_first_choice() -> None:
    """However many channels are left, the machine code is there: none is made in the loop."""
    deciding = chooser()
    made = (choice._weigh, choice._room, choice._runners_up, assignment._choose)
    before = [len(function.signatures) for function in made]
    for down in (frozenset(), frozenset({0, 1, 2}), frozenset(range(4))):
        for kind in (np.float32, np.float64):
            channels(deciding, prefers(2, 0).astype(kind), down, (0, -1))
    assert [len(function.signatures) for function in made] == before


def test_users_choose_one_after_the_other() -> None:
    """Both prefer channel 2 and then 0: the first user gets 2, the second 0."""
    assert channels(chooser(), prefers(2, 0)) == [2, 0]


def test_masked_and_down_channels_are_never_assigned() -> None:
    """Channel 2 is masked and 0 is down: 1 and 3 remain, whatever is preferred."""
    assert channels(chooser(masked=frozenset({2})), prefers(2, 0), frozenset({0})) == [1, 3]


def test_with_one_channel_left_only_the_first_user_gets_it() -> None:
    """Three of four channels are down: the other user is silent."""
    assert channels(chooser(), prefers(2, 0), frozenset({0, 1, 2})) == [3, -1]


def test_with_no_channel_left_nobody_transmits() -> None:
    """All are down."""
    assert channels(chooser(), prefers(2, 0), frozenset(range(4))) == [-1, -1]


def test_hysteresis_keeps_a_channel_that_is_nearly_as_good() -> None:
    """Channel 3 is 0.01 less probable than channel 2: worth no move at 0.05, but worth one at 0."""
    scores = np.log(np.array([[[0.1, 0.1, 0.405, 0.395]]]))
    assert channels(chooser(hysteresis=0.05), scores, present=(3, 1)) == [3, 2]
    assert channels(chooser(), scores, present=(3, 1)) == [2, 3]


def test_hysteresis_does_not_keep_a_channel_that_went_down() -> None:
    """A user whose channel is gone moves, however little better the others are."""
    scores = np.zeros((1, 1, 4))
    assert channels(chooser(hysteresis=1.0), scores, frozenset({3}), (3, 1)) == [0, 1]


def test_reasons_name_the_runner_up_among_what_was_free() -> None:
    """User 0 takes 2 before 0; user 1 takes 0, and for it only 1 and 3 were left besides."""
    scores = np.log(np.array([[[0.3, 0.2, 0.4, 0.1]]]))
    made = chooser().choose(scores, blank_observation(TINY), chooser().allow(frozenset()), NOTHING)
    assert [(c.channel, c.runner_up) for c in made] == [(2, 0), (0, 1)]
    assert made[0].probability == pytest.approx(0.4)
    assert made[0].runner_up_probability == pytest.approx(0.3)
    assert made[1].probability == pytest.approx(0.3)
