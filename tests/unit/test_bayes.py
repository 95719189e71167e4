"""Both Bayes filters: posteriors by hand, and probabilities that come true."""

from __future__ import annotations

import numpy as np
import pytest

from fakes import draw_world, one_device, play, see
from tacan.policies import bayes_filter
from tacan.policies.bayes_filter import BayesFilterPolicy
from tacan.policies.bayes_renewal import BayesRenewalPolicy
from tacan.policies.placement_prior import hazard_prior, placement_prior
from tacan.scenario import PacketClass, Scenario, load_scenario

PAPER = load_scenario("paper")
STAYS = np.exp(-1 / 8)
"""P(a channel with one URLLC device stays idle) at load 1."""
BOTH = pytest.mark.parametrize("kind", [BayesFilterPolicy, BayesRenewalPolicy])
Filter = type[BayesFilterPolicy] | type[BayesRenewalPolicy]


def lone_urllc(channels: int = 1, **changes: object) -> Scenario:
    """One URLLC device somewhere among these channels."""
    return one_device(PacketClass.URLLC, channels=channels, **changes)


def test_the_prior_is_binomial_in_every_class() -> None:
    """P(no device) = (1 - 1/20)^60, and the mean counts are 12/20, 36/20 and 12/20."""
    prior = placement_prior(PAPER)
    assert prior.weights.sum() == pytest.approx(1.0)
    assert prior.weights @ prior.counts == pytest.approx([0.6, 1.8, 0.6], abs=1e-3)
    empty = prior.weights[(prior.counts == 0).all(axis=1)]
    assert empty == pytest.approx([0.95**60], rel=1e-4)


def test_a_single_channel_holds_all_devices_for_sure() -> None:
    """No other composition is considered."""
    prior = placement_prior(PAPER.changed({"channels": 1, "secondary.users": 1}))
    assert prior.counts.tolist() == [[12, 36, 12]]
    assert prior.weights.tolist() == [1.0]


def test_equal_hazards_are_merged() -> None:
    """10 mMTC devices of rate 1/60 and one URLLC device of rate 1/6 are the same hazard."""
    scenario = PAPER.changed(
        {
            "channels": 2,
            "secondary.users": 1,
            "classes.urllc.devices": 1,
            "classes.urllc.mean_idle_slots": 6.0,
            "classes.mmtc.devices": 10,
            "classes.embb.devices": 0,
        }
    )
    rates, weights = hazard_prior(scenario)
    # 0 to 10 mMTC devices, alone or with the URLLC device: 0/60 to 20/60
    assert rates == pytest.approx(np.arange(21) / 60)
    assert weights.sum() == pytest.approx(1.0)
    # 10/60: all 10 mMTC and no URLLC device, or the URLLC device alone
    assert weights[10] == pytest.approx(2 * 0.5**11)


@BOTH
def test_idle_slots_speak_for_an_empty_channel(kind: Filter) -> None:
    """Two channels, one device: after n idle slots P(device here) falls as exp(-n / 8).

    P(idle next) = (1 + exp(-(n + 1) / 8)) / (1 + exp(-n / 8)), by Bayes' rule with prior 1/2.
    """
    scores = see(kind(lone_urllc(2)), [[0, 0]] * 3)
    by_hand = [(1 + STAYS) / 2, (1 + STAYS**2) / (1 + STAYS), 0.948554, 0.952137]
    assert np.stack(scores)[:, 0] == pytest.approx(by_hand, abs=1e-5)


@BOTH
def test_one_onset_proves_a_device(kind: Filter) -> None:
    """Once it was busy, the channel stays idle with exp(-1/8) and no more, whatever follows."""
    scores = see(kind(lone_urllc(2)), [[0, 0], [1, 0], [0, 0], *([[0, 0]] * 9)])
    for after in (3, 5, 12):
        assert scores[after][0] == pytest.approx(STAYS, abs=1e-5)


def test_slots_of_a_burst_are_neither_onsets_nor_idle_slots() -> None:
    """Two devices, two channels; idle, onset, two more busy slots, idle: n0 = 1 and n1 = 1.

    With a = exp(-1/8) the posterior weights of one and two devices here are 1/2 (1 - a) a and
    1/4 (1 - a^2) a^2, and the channel stays idle with a and a^2. None is ruled out.
    """
    scenario = lone_urllc(2, classes__urllc__devices=2)
    scores = see(BayesFilterPolicy(scenario), [[0, 0], [1, 0], [1, 0], [1, 0], [0, 0]])
    a = STAYS
    one, two = 0.5 * (1 - a) * a, 0.25 * (1 - a**2) * a**2
    assert scores[5][0] == pytest.approx((one * a + two * a**2) / (one + two), abs=1e-6)


def test_onset_filter_ranks_busy_channels_last() -> None:
    """By the same posterior mean, less one."""
    scores = see(BayesFilterPolicy(lone_urllc(2)), [[0, 0], [1, 0]])
    assert scores[2] == pytest.approx([STAYS - 1.0, (1 + STAYS**3) / (1 + STAYS**2)], abs=1e-5)


def test_renewal_filter_knows_how_long_bursts_last() -> None:
    """A lone URLLC device busy for a slots ends now with P(tau = a) / P(tau >= a).

    0.2770 after one slot, 0.2425 / 0.7230 after two, and surely after ten, the longest.
    """
    scores = see(BayesRenewalPolicy(lone_urllc()), [[0], *([[1]] * 10)])
    assert scores[2][0] == pytest.approx(0.27703, abs=1e-4)
    assert scores[3][0] == pytest.approx(0.24254 / 0.72297, abs=1e-4)
    assert scores[11][0] == pytest.approx(1.0, abs=1e-4)


@BOTH
def test_all_channels_share_the_loads_posterior(kind: Filter) -> None:
    """Onsets on channels 1 to 3 make channel 0, itself unchanged, less likely to stay idle."""
    policy = kind(load_scenario("tiny"))
    quiet = see(policy, [[0, 0, 0, 0]] * 6)[-1]
    bustling = see(policy, [[0, 0, 0, 0], [0, 1, 1, 1]] * 3)[-1]
    assert bustling[0] < quiet[0]


def test_statistics_beyond_the_table_are_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An episode longer than the table gives the scores that a larger table gives."""
    scenario = load_scenario("tiny").changed({"episode_slots": 60})
    world = draw_world(scenario, 4)
    tabled = [slot.scores for slot in play(BayesFilterPolicy(scenario), world)]
    monkeypatch.setattr(bayes_filter, "TABLED_SLOTS", 5)
    direct = [slot.scores for slot in play(BayesFilterPolicy(scenario), world)]
    assert np.array(direct) == pytest.approx(np.array(tabled), abs=1e-12)


@BOTH
def test_what_cannot_happen_does_not_break_the_posterior(kind: Filter) -> None:
    """A live radio may be busy where nobody should be: scores stay finite and keep ranking."""
    scenario = PAPER.changed({f"classes.{name}.devices": 0 for name in PacketClass})
    slots = [[int(slot % 7 < 4)] + [0] * 19 for slot in range(300)]
    scores = see(kind(scenario), slots)
    assert np.isfinite(scores).all()
    busy_for_ever = see(kind(lone_urllc(2)), [[1, 0]] * 600)[-1]
    assert np.isfinite(busy_for_ever).all()
    assert busy_for_ever.argmax() == 1


def test_the_renewal_filters_probability_comes_true() -> None:
    """Where it says p a share p of the coming slots is idle, to 5 sigma, from 0 to 1."""
    world = draw_world(PAPER.changed({"episode_slots": 120}), 120)
    said, found = [], []
    for slot in play(BayesRenewalPolicy(world.scenario), world):
        said.append(slot.scores[:, 0].copy())
        found.append(world.occupancy[:, PAPER.history + slot.observation.slot] == 0)
    probability, idle = np.concatenate(said).ravel(), np.concatenate(found).ravel()
    assert ((probability >= 0) & (probability <= 1 + 1e-6)).all()
    order = np.argsort(probability, kind="stable")
    for part in np.array_split(order, 20):
        spread = np.sqrt((probability[part] * (1 - probability[part])).sum())
        assert abs(idle[part].sum() - probability[part].sum()) < 5 * spread
