"""What a perturbation changes, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest

from tacan.errors import UserError
from tacan.evaluation.perturbations import (
    REPEATED_FRAME,
    SINGLE_FRAME,
    ZERO_ENTROPY,
    parse_perturbation,
)
from tacan.observation import Observation
from tacan.scenario import load_scenario
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import World, WorldGenerator


def observation() -> Observation:
    """One row, three slots of history, two channels; the newest slot has channel 1 busy."""
    return Observation(
        occupancy=np.array([[[1, 0], [1, 1], [0, 1]]], dtype=np.uint8),
        entropy=np.array([[[0.5, 0.6], [0.7, 0.8], [0.9, 1.0]]], dtype=np.float32),
        queue_class=np.array([[0]], dtype=np.int8),
        queue_delay=np.array([[3]], dtype=np.int32),
        slot=7,
    )


def world() -> World:
    return WorldGenerator(load_scenario("tiny")).draw(EpisodeKeys.of(Domain.TRAINING, 1, [0, 1]))


def test_zeroed_entropy_is_zero_and_nothing_else_changes() -> None:
    """The paper's suppressed modality; the array that the simulator owns keeps its values."""
    seen = observation()
    found = ZERO_ENTROPY.observation(seen)
    assert found.entropy.tolist() == [[[0, 0], [0, 0], [0, 0]]]
    assert found.occupancy.tolist() == seen.occupancy.tolist()
    assert (found.queue_delay, found.slot) == (seen.queue_delay, 7)
    assert seen.entropy[0, 2, 1] == 1.0


def test_a_single_frame_keeps_the_newest_slot_only() -> None:
    """Older slots look like the padding before an episode; entropies stay."""
    seen = observation()
    found = SINGLE_FRAME.observation(seen)
    assert found.occupancy.tolist() == [[[0, 0], [0, 0], [0, 1]]]
    assert found.entropy is seen.entropy
    assert seen.occupancy.tolist() == [[[1, 0], [1, 1], [0, 1]]]


def test_a_repeated_frame_fills_the_window_with_the_newest_slot() -> None:
    """The other reading of a history collapsed to its most recent frame."""
    assert REPEATED_FRAME.observation(observation()).occupancy.tolist() == [
        [[0, 1], [0, 1], [0, 1]]
    ]


def test_mixing_changes_entropies_of_the_world_and_no_traffic() -> None:
    """Half a uniform posterior raises every entropy; a whole one makes every entropy 1."""
    plain = world()
    half = parse_perturbation("mixing:0.5").world(plain)
    full = parse_perturbation("mixing:1").world(plain)
    assert (half.entropy > plain.entropy).all()
    assert full.entropy == pytest.approx(1.0, abs=1e-6)
    assert (half.occupancy == plain.occupancy).all()
    assert (half.arrivals == plain.arrivals).all()


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("zero-entropy", "zero-entropy"),
        ("single-frame", "single-frame"),
        ("repeated-frame", "repeated-frame"),
        ("mixing:0.50", "mixing:0.5"),
        ("mixing:0", "mixing:0"),
    ],
)
def test_perturbations_have_names(given: str, name: str) -> None:
    """One spelling in records, however the share was typed."""
    assert parse_perturbation(given).name == name


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("zero", "perturbation 'zero' is not known: choose one of zero-entropy, single-frame"),
        ("mixing", "the share must be a number between 0 and 1, like mixing:0.5"),
        ("mixing:much", "the share must be a number between 0 and 1, like mixing:0.5"),
        ("mixing:1.5", "mixing:1.5: the share must lie between 0 and 1"),
        ("mixing:nan", "mixing:nan: the share must lie between 0 and 1"),
    ],
)
def test_an_impossible_perturbation_is_refused(name: str, sentence: str) -> None:
    """One sentence that says what would be right."""
    with pytest.raises(UserError, match=sentence):
        parse_perturbation(name)
