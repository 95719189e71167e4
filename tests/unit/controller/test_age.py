"""Ages without a common clock: what is old, and what only looks old."""

import pytest

from controller_fakes import report
from tacan.controller.sensors.age import DRIFT, Age


@pytest.fixture
def age() -> Age:
    """One second is allowed; a report at 10 s, by both clocks, has arrived at once."""
    age = Age(limit=1.0)
    assert age.of(report(0, time=10.0), arrived=10.0) == 0.0
    return age


def test_a_report_is_as_old_as_it_travelled_longer_than_the_fastest(age: Age) -> None:
    """Sent at 11 s, here at 13 s: two seconds, less what a clock may drift in three."""
    assert age.of(report(1, time=11.0), arrived=13.0) == pytest.approx(2.0 - 3.0 * DRIFT)


def test_a_senders_wrong_clock_does_not_matter() -> None:
    """An hour ahead or behind: the first report of a connection says how much."""
    for wrong in (-3_600.0, 3_600.0):
        age = Age(limit=1.0)
        ages = [age.of(report(s, time=s + wrong), arrived=float(s)) for s in range(5)]
        assert ages == [0.0] * 5


def test_a_slow_clock_is_followed() -> None:
    """50 ppm, a report every half second for ten hours: none looks older than a millisecond."""
    age = Age(limit=1.0)
    moments = [0.5 * count for count in range(72_000)]
    assert max(age.of(report(0, time=t * (1 - 5e-5)), arrived=t) for t in moments) < 1e-3


def test_a_path_that_grows_slow_is_not_believed(age: Age) -> None:
    """All reports are five seconds old from now on: that is still so after ten minutes."""
    ages = [age.of(report(0, time=10.0 + t), arrived=15.0 + t) for t in range(1, 600)]
    assert min(ages) > 4.0


@pytest.mark.parametrize("step", [-86_400.0, -1.5, 1.5, 86_400.0])
def test_a_clock_that_is_set_costs_no_report(age: Age, step: float) -> None:
    """Back or forward, by a day or by little more than is allowed: every report stays fresh."""
    moments = [10.5 + 0.5 * count for count in range(20)]
    assert max(age.of(report(0, time=t + step), arrived=t) for t in moments) <= 1.0


def test_one_wrong_time_spoils_no_other(age: Age) -> None:
    """A report from the year 33658 among true ones: they are as fresh as before."""
    assert age.of(report(1, time=1e12), arrived=10.5) == 0.0
    assert age.of(report(1, time=11.0), arrived=11.0) == 0.0


def test_a_radio_that_restarts_is_learned_anew(age: Age) -> None:
    """Its clock had stopped for five seconds and never ran backwards, but it says restart."""
    assert age.of(report(1, time=11.0, restart=True), arrived=16.0) == 0.0
    assert age.of(report(2, time=12.0), arrived=17.0) == pytest.approx(0.0)


def test_old_reports_out_of_order_stay_old(age: Age) -> None:
    """Five seconds late and a little out of order is no set clock."""
    assert age.of(report(2, time=12.0), arrived=17.0) > 4.0
    assert age.of(report(1, time=11.6), arrived=17.0) > 4.0
