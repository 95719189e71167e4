"""The yardsticks without parameters, on views written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fakes import see, view
from tacan.policies.heuristics import GeniePolicy, GreedyMemoryPolicy, GreedyPolicy, RandomPolicy
from tacan.simulator.streams import Domain, EpisodeKeys

MANY = EpisodeKeys.of(Domain.TRAINING, 1, np.arange(4000))


def ranking(scores: np.ndarray) -> list[int]:
    return np.argsort(-scores, kind="stable").tolist()


def test_greedy_counts_the_busy_slots_of_the_window() -> None:
    """Channels busy in 2, 0, 3 and 2 of the 3 slots: order 1, 0, 3, 2, ties by number."""
    window = [[1, 0, 1, 0], [0, 0, 1, 1], [1, 0, 1, 1]]
    scores = GreedyPolicy().score(view(window))
    assert scores.tolist() == [[[-2.0, 0.0, -3.0, -2.0]]]
    assert ranking(scores[0, 0]) == [1, 0, 3, 2]


def test_greedy_memory_divides_busy_slots_by_slots_seen() -> None:
    """After 3 slots, busy in 0, 1, 2 and 1 of them and the last one busy now: (n + 0.5) / 4."""
    scores = see(GreedyMemoryPolicy(), [[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    assert scores[3].tolist() == pytest.approx([-0.125, -0.375, -0.625, -0.375 - 1.0])


def test_greedy_memory_has_seen_nothing_before_slot_0() -> None:
    """The padding of the window is not evidence: all shares are (0 + 0.5) / (0 + 1)."""
    scores = see(GreedyMemoryPolicy(), [[1, 0]], history=8)
    assert scores[0].tolist() == [-0.5, -0.5]
    assert scores[1].tolist() == pytest.approx([-0.75 - 1.0, -0.25])


def test_greedy_memory_remembers_longer_than_the_window() -> None:
    """A slot that left the view of one slot still counts."""
    scores = see(GreedyMemoryPolicy(), [[1, 0], *([[0, 0]] * 30)])
    assert ranking(scores[-1]) == [1, 0]


def test_greedy_memory_ranks_idle_channels_before_busy_ones() -> None:
    """Even one that was busy in all slots but this before one that was idle in all but this."""
    slots = [[1, 0]] * 50 + [[0, 1]]
    assert ranking(see(GreedyMemoryPolicy(), slots)[-1]) == [0, 1]


def test_random_prefers_every_channel_alike() -> None:
    """Over 4,000 episodes each of 4 channels comes first in a quarter, to 5 sigma."""
    policy = RandomPolicy()
    policy.start(MANY)
    observation = view([[1, 0, 0, 1]])
    observation.occupancy = np.tile(observation.occupancy, (4000, 1, 1))
    first = policy.score(observation)[:, 0].argmax(axis=1)
    error = np.sqrt(0.25 * 0.75 / 4000)
    assert (abs(np.bincount(first, minlength=4) / 4000 - 0.25) < 5 * error).all()


def test_genie_draws_among_idle_channels_alone() -> None:
    """Channels 1 and 2, idle in the last slot, come first in half of the cases each."""
    policy = GeniePolicy()
    policy.start(MANY)
    observation = view([[0, 1, 1, 0], [1, 0, 0, 1]])
    observation.occupancy = np.tile(observation.occupancy, (4000, 1, 1))
    order = np.argsort(-policy.score(observation)[:, 0], axis=1)
    assert set(order[:, :2].ravel()) == {1, 2}
    assert set(order[:, 2:].ravel()) == {0, 3}
    for place in (0, 2):  # among the busy ones it draws as well
        first = (order[:, place] < 2).mean()
        assert abs(first - 0.5) < 5 * np.sqrt(0.25 / 4000)


@pytest.mark.parametrize("policy", [RandomPolicy(), GeniePolicy()], ids=["random", "genie"])
def test_draws_change_from_slot_to_slot(policy: RandomPolicy | GeniePolicy) -> None:
    """The same view twice gives two rankings: the stream moves on."""
    first, second = see(policy, [[0] * 20])
    assert ranking(first) != ranking(second)
