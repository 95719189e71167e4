"""Metrics against cases computed by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacan.evaluation.fairness import fairness, gap, jain, permutations
from tacan.evaluation.ledger import Ledger
from tacan.evaluation.metrics import METRICS, Scope, Unit, metric_names, seed_metrics
from tacan.evaluation.results import summarise
from tacan.evaluation.tally import percentile

URLLC, MMTC, EMBB, EMPTY_QUEUE = range(4)
DOCS = Path(__file__).parents[2] / "docs"


def small_ledger() -> Ledger:
    """Two users, two episodes of 10 slots, deadline 3; URLLC and mMTC packets, no eMBB.

    User 0: 8 attempts, 6 delivered (URLLC delays 1, 2, 5 and mMTC delays 1, 1, 1).
    User 1: 12 attempts, 6 delivered (URLLC delays 1, 4 and mMTC delays 2, 2, 3, 6).
    """
    rows, users, classes = 2, 2, 3

    def zeros(width: int) -> np.ndarray:
        return np.zeros((rows, users, width), dtype=np.int32)

    slots, successes = zeros(4), zeros(4)
    # attempts by class, then slots with an empty queue; each row and user adds up to 10
    slots[0] = [[2, 2, 0, 6], [3, 3, 0, 4]]
    slots[1] = [[2, 2, 0, 6], [2, 4, 0, 4]]
    successes[0] = [[1, 2, 0, 5], [1, 2, 0, 3]]
    successes[1] = [[2, 1, 0, 4], [1, 2, 0, 2]]
    primary, secondary = zeros(4), zeros(4)
    primary[0] = [[1, 0, 0, 1], [2, 1, 0, 1]]
    primary[1] = [[0, 1, 0, 2], [1, 1, 0, 1]]
    secondary[1] = [[0, 0, 0, 0], [0, 1, 0, 1]]
    initial, arrived, dropped, censored, expired = (zeros(classes) for _ in range(5))
    initial[0] = [[1, 0, 0], [0, 1, 0]]
    arrived[0] = [[1, 2, 0], [2, 2, 0]]
    arrived[1] = [[2, 2, 0], [3, 4, 0]]
    censored[0] = [[1, 0, 0], [1, 1, 0]]
    censored[1] = [[0, 1, 0], [1, 1, 0]]
    dropped[1] = [[0, 0, 0], [1, 1, 0]]
    expired[0] = [[0, 0, 0], [1, 0, 0]]
    delays = np.zeros((1, users, classes, 11), dtype=np.int64)
    for user, code, found in (
        (0, URLLC, [1, 2, 5]),
        (0, MMTC, [1, 1, 1]),
        (1, URLLC, [1, 4]),
        (1, MMTC, [2, 2, 3, 6]),
    ):
        for delay in found:
            delays[0, user, code, delay] += 1
    delay_sum = zeros(classes)
    delay_sum[0] = [[1, 2, 0], [1, 4, 0]]
    delay_sum[1] = [[7, 1, 0], [4, 9, 0]]
    ledger = Ledger(
        lengths=np.array([10, 10]),
        row_seed=np.array([0, 0]),
        initial=initial,
        arrived=arrived,
        dropped=dropped,
        censored=censored,
        expired=expired,
        slots=slots,
        successes=successes,
        primary_collisions=primary,
        secondary_collisions=secondary,
        delay_sum=delay_sum,
        reward=np.array([[1.0, 2.0], [3.0, -4.0]]),
        delays=delays,
        deadline=3,
    )
    ledger.check()
    return ledger


# 40 SU-slots; 20 attempts (9 URLLC, 11 mMTC), 12 delivered (5 and 7); 26 successes, 14 of them
# standby; 20 standby slots. Delays, sorted: 1 1 1 1 1 2 2 2 3 4 5 6, sum 29.
EXPECTED = {
    "assignment_success": 26 / 40,
    "standby_success": 14 / 20,
    "packet_access": 12 / 20,
    "delivery_per_slot": 12 / 40,
    "empty_success_share": 14 / 26,
    "delay_mean": 29 / 12,
    "delay_p50": 2.0,  # the 6th and the 7th of 12 are both 2
    "delay_p95": 5.45,  # rank 0.95 * 11 = 10.45: between 5 and 6
    "delay_p99": 5.89,
    "urllc_deadline_miss": 2 / 5,  # the delays 5 and 4
    "urllc_deadline_miss_strict": 4 / 7,  # and one dropped, one that waits beyond the deadline
    "pu_collision_per_attempt": 7 / 20,
    "pu_collision_per_slot": 12 / 40,
    "su_collision_per_attempt": 1 / 20,
    "su_collision_per_slot": 2 / 40,
    "packets_offered": 20.0,
    "packets_delivered": 12.0,
    "packets_dropped": 2.0,
    "packets_censored": 6.0,
    "drop_share": 2 / 20,
    "censored_share": 6 / 20,
    "reward_mean": 2 / 40,
    "access_gap": 6 / 8 - 6 / 12,
    "delivery_gap": 0.0,
    "delay_gap": 18 / 6 - 11 / 6,
    # the square of 1.25 over twice 0.5625 + 0.25
    "access_jain": 1.5625 / 1.625,
    "packet_access_urllc": 5 / 9,
    "delivery_per_slot_urllc": 5 / 40,
    "delay_mean_mmtc": 16 / 7,
    "delay_p95_urllc": 4.8,  # 1 1 2 4 5: rank 3.8
    "packets_dropped_mmtc": 1.0,
    "pu_collision_per_attempt_urllc": 4 / 9,
    "packet_access_user_0": 6 / 8,
    "assignment_success_user_1": 11 / 20,
    "standby_success_user_1": 5 / 8,
    "delay_mean_user_1": 3.0,
    "delay_p95_user_0": 4.25,  # 1 1 1 1 2 5: rank 4.75
    "urllc_deadline_miss_user_0": 1 / 3,
    "urllc_deadline_miss_strict_user_1": 3 / 4,
    "reward_mean_user_1": -2 / 20,
    "su_collision_per_slot_user_0": 0.0,
    "censored_share_user_0": 2 / 8,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_metric_is_what_a_hand_computes(name: str) -> None:
    """Each value follows from the counts in small_ledger by the metric's definition."""
    assert seed_metrics(small_ledger())[name] == pytest.approx(EXPECTED[name], abs=1e-12)


@pytest.mark.parametrize(("delay", "late"), [(3, 2), (4, 3)])
def test_a_packet_at_its_deadline_is_in_time(delay: int, late: int) -> None:
    """The deadline is 3: a delay of 3 instead of 2 changes nothing, a delay of 4 is late."""
    ledger = small_ledger()
    ledger.delays[0, 0, URLLC, 2] -= 1
    ledger.delays[0, 0, URLLC, delay] += 1
    assert seed_metrics(ledger)["urllc_deadline_miss"] == late / 5


def test_metrics_without_data_are_none() -> None:
    """No eMBB packet was ever sent: rates and delays of eMBB say so, its counts are zero."""
    found = seed_metrics(small_ledger())
    assert found["packet_access_embb"] is None
    assert found["delay_mean_embb"] is None
    assert found["delay_p95_embb"] is None
    assert found["drop_share_embb"] is None
    assert found["packets_offered_embb"] == 0.0
    assert found["delivery_per_slot_embb"] == 0.0


def test_names_and_values_belong_together() -> None:
    """metric_names lists what seed_metrics gives, in its order, for any number of users."""
    assert tuple(seed_metrics(small_ledger())) == metric_names(2)


def test_every_metric_is_computed_in_exactly_one_way() -> None:
    """A metric comes from sums or from a comparison among users, and only sums can be split."""
    for metric in METRICS:
        assert (metric.of_tally is None) != (metric.of_fairness is None), metric.name
        if metric.of_fairness is not None:
            assert metric.scope == Scope.ALL, metric.name


def test_fractions_are_fractions() -> None:
    """Rates are between 0 and 1, never percent."""
    found = seed_metrics(small_ledger())
    for metric in METRICS:
        value = found[metric.name]
        if metric.unit is Unit.FRACTION and value is not None:
            assert 0.0 <= value <= 1.0, metric.name


@given(
    delays=st.lists(st.integers(1, 60), min_size=1, max_size=200),
    percent=st.sampled_from([0, 1, 25, 50, 90, 95, 99, 99.9, 100]),
)
def test_percentiles_are_numpys_to_the_last_bit(delays: list[int], percent: float) -> None:
    """A histogram of integers gives what numpy.percentile gives of the integers themselves."""
    assert percentile(np.bincount(delays), percent) == np.percentile(delays, percent)


def test_the_percentile_of_nothing_is_none() -> None:
    """No packet was delivered: there is no delay to speak of."""
    assert percentile(np.zeros(5, dtype=np.int64), 95) is None


def test_jain_of_known_cases() -> None:
    """1 when all are equal, 1/n when one has all, nothing to say when nobody has anything."""
    assert jain(np.array([0.3, 0.3, 0.3])) == pytest.approx(1.0)
    assert jain(np.array([0.8, 0.0, 0.0, 0.0])) == pytest.approx(0.25)
    assert jain(np.zeros(4)) is None


def test_fair_users_have_a_gap_at_its_floor_and_unfair_ones_do_not() -> None:
    """Over many draws the floor is the mean gap of exchangeable users, and one user's lasting
    disadvantage raises the gap but not the floor.
    """
    generator = np.random.default_rng(1)
    order = permutations(50, 4)
    fair, unfair, floors, unfair_floors = [], [], [], []
    for _ in range(60):
        # all users of an episode share its spectrum: their rates vary together
        spectrum = generator.beta(20, 3, (50, 1))
        attempts = generator.binomial(200, 0.3, (50, 4))
        same = gap(generator.binomial(attempts, spectrum), attempts, order)
        handicap = np.clip(spectrum - [0.0, 0.0, 0.0, 0.1], 0.0, 1.0)
        other = gap(generator.binomial(attempts, handicap), attempts, order)
        fair.append(same.value)
        floors.append(same.floor)
        unfair.append(other.value)
        unfair_floors.append(other.floor)
    # a rate of 3,000 attempts has a deviation of 0.6 pp and four of them span 2.06 deviations
    assert np.mean(fair) == pytest.approx(0.0127, abs=0.0015)
    assert np.mean(floors) == pytest.approx(np.mean(fair), rel=0.1)
    assert np.mean(unfair) > 0.09
    assert np.mean(unfair_floors) == pytest.approx(np.mean(floors), rel=0.2)


def test_the_floor_holds_for_few_episodes() -> None:
    """Three episodes: levelling the users has taken a third of the noise's variance with it, and
    without its correction the floor would be a fifth too low.
    """
    generator = np.random.default_rng(3)
    order = permutations(3, 4)
    found = []
    for _ in range(300):
        attempts = generator.binomial(200, 0.3, (3, 4))
        found.append(gap(generator.binomial(attempts, 0.9), attempts, order))
    mean_gap = np.mean([one.value for one in found])
    assert np.mean([one.floor for one in found]) == pytest.approx(mean_gap, rel=0.1)


def test_a_gap_needs_two_users_and_a_floor_two_episodes() -> None:
    """One user has nobody to differ from; one episode tells nothing about chance."""
    alone = np.array([[3], [4]])
    assert gap(alone, alone, permutations(2, 1)).value is None
    single = gap(np.array([[1, 2]]), np.array([[4, 4]]), permutations(1, 2))
    assert single.value == 0.25
    assert single.floor is None


def test_a_user_without_attempts_is_not_compared() -> None:
    """User 1 never had a packet: the access gap is between users 0 and 2, and delays likewise."""
    attempts = np.array([[10, 0, 10], [10, 0, 10]])
    delivered = np.array([[9, 0, 5], [9, 0, 6]])
    found = fairness(attempts, delivered, np.full((2, 3), 20), 2 * delivered)
    assert found.access.value == pytest.approx(18 / 20 - 11 / 20)
    assert found.delay.value == 0.0
    assert found.access_jain == pytest.approx((0.9 + 0.55) ** 2 / (2 * (0.81 + 0.3025)))


def test_a_summary_is_over_the_seeds_that_have_data() -> None:
    """Standard deviations divide by n - 1; one value has none; none at all is None, not NaN."""
    assert summarise([1.0, 2.0, 4.0]) == {
        "mean": pytest.approx(7 / 3),
        "std": pytest.approx((7 / 3) ** 0.5),
        "per_seed": [1.0, 2.0, 4.0],
    }
    assert summarise([None, 3.0]) == {"mean": 3.0, "std": None, "per_seed": [None, 3.0]}
    assert summarise([None]) == {"mean": None, "std": None, "per_seed": [None]}


def test_the_documentation_holds_every_definition() -> None:
    """docs/evaluation.md defines each metric in the very words of the table."""
    text = (DOCS / "evaluation.md").read_text(encoding="utf-8")
    for metric in METRICS:
        also = " ".join(scope.name.lower() for scope in Scope if scope in metric.scope)
        row = f"| `{metric.name}` | {metric.unit.value} | {also} | {metric.definition} |"
        assert row in text, row
