"""The law of a channel's return to idleness: closed forms, and the simulator itself."""

from __future__ import annotations

import numpy as np
import pytest

from fakes import draw_world, run_lengths, traffic_of
from tacan.policies.renewal import busy_law, idle_law, return_law
from tacan.scenario import PacketClass, load_scenario

PAPER = load_scenario("paper")
URLLC = PAPER.classes[PacketClass.URLLC]


@pytest.mark.parametrize(
    ("kind", "mean"),
    [(PacketClass.URLLC, 3.8952), (PacketClass.MMTC, 3.4549), (PacketClass.EMBB, 11.4522)],
)
def test_busy_times_have_the_clipped_rounded_paretos_law(kind: PacketClass, mean: float) -> None:
    """It adds up to 1, lies between the clips, and has the mean sum_n S(n - 0.5) by hand."""
    settings = PAPER.classes[kind]
    law = busy_law(settings)
    assert law.sum() == pytest.approx(1.0)
    assert law @ np.arange(len(law)) == pytest.approx(mean, abs=5e-5)
    assert not law[: settings.shortest_busy].any()
    assert len(law) == settings.longest_busy + 1


def test_a_busy_time_that_cannot_vary_has_all_the_mass() -> None:
    """Where both clips agree."""
    scenario = PAPER.changed({"classes.embb.longest_busy": 5})
    assert busy_law(scenario.classes[PacketClass.EMBB]).tolist() == [0, 0, 0, 0, 0, 1]


def test_a_devices_first_idle_slots() -> None:
    """By hand: all idle, or a burst of one slot and then its pause, in all the places for it.

    p(1) = 1 - q; p(2) = (1 - q)^2 + q P(tau = 1). In three slots the burst may start in the first
    or the second, and two bursts do not fit, but one of two slots does.
    """
    q, one, two = 1 - np.exp(-1 / 8), 0.27703, 0.24254
    idle = idle_law(URLLC, 1.0, 3)
    in_three = (1 - q) ** 3 + 2 * (1 - q) * q * one + q * two
    expected = [1.0, 1 - q, (1 - q) ** 2 + q * one, in_three]
    assert idle == pytest.approx(expected, abs=1e-5)


def test_a_lone_device_returns_after_its_busy_time() -> None:
    """f(1) = 1 - q and f(1 + tau) = q P(tau)."""
    q = 1 - np.exp(-1.5 / 8)
    law = return_law(PAPER, 1.5, np.array([[1, 0, 0]]), 40)[0]
    assert law[1] == pytest.approx(1 - q)
    assert law[2:12] == pytest.approx(q * busy_law(URLLC)[1:])
    assert law[12:] == pytest.approx(0.0, abs=1e-12)


def test_a_channel_without_devices_is_always_idle() -> None:
    """It returns after one slot, for sure."""
    assert return_law(PAPER, 2.5, np.zeros((1, 3), dtype=int), 4).tolist() == [[0, 1, 0, 0, 0]]


def test_overlapping_devices_make_the_busy_periods_that_are_simulated() -> None:
    """Two URLLC and one eMBB device: shares of busy periods as found in 200,000 slots, 5 sigma."""
    scenario = load_scenario("tiny").changed(
        {
            "channels": 1,
            "secondary.users": 1,
            "episode_slots": 10_000,
            "classes.mmtc.devices": 0,
            "classes.embb.devices": 1,
        }
    )
    law = return_law(scenario, 1.5, np.array([[2, 0, 1]]), 200)[0]
    on_air = traffic_of(draw_world(scenario, 20, load=1))[:, :, 0] != 0
    busy = np.concatenate([run_lengths(row)[0] for row in on_air])
    for length in (1, 2, 5, 6, 12, 30):
        share = law[length + 1] / (1 - law[1])
        error = np.sqrt(share * (1 - share) / len(busy))
        assert abs((busy == length).mean() - share) < 5 * error
    assert law.sum() == pytest.approx(1.0, abs=0.01)
