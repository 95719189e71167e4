"""Paired statistics against scipy and against cases small enough for a pencil."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from tacan.errors import UserError
from tacan.evaluation import statistics

GAINS = np.array([2.1, 2.4, 3.3, 2.9, 2.25])


def by_seed(values: object) -> dict[int, float]:
    return dict(zip((42, 123, 7, 2024, 314), np.asarray(values, dtype=float).tolist(), strict=True))


def draws(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("freedom", [1, 2, 4, 9, 30, 999])
@pytest.mark.parametrize("t", [-40.0, -2.776, -0.3, 0.0, 0.7, 3.5, 12.0])
def test_the_t_distribution_is_scipys(freedom: int, t: float) -> None:
    """P(T <= t) agrees with scipy to 1e-12."""
    assert statistics.student_t_cdf(t, freedom) == pytest.approx(
        stats.t.cdf(t, freedom), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize("freedom", [1, 2, 4, 9, 200])
@pytest.mark.parametrize("probability", [0.005, 0.3, 0.5, 0.9, 0.975, 0.9995])
def test_t_quantiles_are_scipys(freedom: int, probability: float) -> None:
    """Quantiles agree with scipy; the familiar one, 2.776 for four degrees, among them."""
    found = statistics.student_t_quantile(probability, freedom)
    assert found == pytest.approx(stats.t.ppf(probability, freedom), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (2.0, 0.5), (0.5, 30.0), (7.0, 3.0)])
def test_the_incomplete_beta_is_scipys(a: float, b: float) -> None:
    """I_x(a, b) agrees with scipy on both sides of the point where the fraction is mirrored."""
    for x in (0.0, 1e-9, 0.1, 0.5, 0.93, 1.0):
        assert statistics.incomplete_beta(a, b, x) == pytest.approx(
            special.betainc(a, b, x), rel=1e-10, abs=1e-14
        )


def test_the_t_interval_is_the_textbooks() -> None:
    """Differences 1, 2, 3: mean 2, s = 1, t(0.975, 2) = 4.3027, so 2 ± 4.3027 / sqrt(3)."""
    interval = statistics.t_interval(np.array([1.0, 2.0, 3.0]))
    assert (interval.low, interval.high) == pytest.approx((2 - 2.4841, 2 + 2.4841), abs=1e-4)
    assert interval.holds(0.0)
    assert not interval.holds(5.0)


def test_the_t_test_is_scipys() -> None:
    """p and interval of five gains agree with scipy's one-sample t test."""
    expected = stats.ttest_1samp(GAINS, 0.0)
    assert statistics.t_test(GAINS) == pytest.approx(expected.pvalue)
    scipys = expected.confidence_interval(0.9)
    interval = statistics.t_interval(GAINS, 0.9)
    assert (interval.low, interval.high) == pytest.approx((scipys.low, scipys.high))


def test_five_wins_of_five_have_the_papers_p() -> None:
    """tab:packet_comparison: 5/5 wins, exact two-sided sign p = 0.0625 in all six rows."""
    assert statistics.sign_test(GAINS) == 0.0625
    assert statistics.sign_test(-GAINS) == 0.0625


@pytest.mark.parametrize(("wins", "losses"), [(5, 0), (4, 1), (3, 2), (9, 1), (3, 3), (0, 7)])
def test_the_sign_test_is_scipys(wins: int, losses: int) -> None:
    """The exact binomial p; ties are left out and so change nothing."""
    differences = np.array([1.0] * wins + [-2.0] * losses + [0.0, 0.0])
    expected = stats.binomtest(wins, wins + losses).pvalue
    assert statistics.sign_test(differences) == pytest.approx(expected)


def test_a_sign_test_of_ties_alone_says_nothing() -> None:
    """No sign, no evidence: p = 1."""
    assert statistics.sign_test(np.zeros(4)) == 1.0


def test_the_permutation_test_by_hand() -> None:
    """|±1 ±2 ±3| reaches 4 (= 3 + 2 - 1) in the patterns of sum ±6 and ±4: 4 of 8."""
    assert statistics.permutation_test(np.array([-1.0, 2.0, 3.0]), draws()) == 0.5


def test_the_permutation_test_is_scipys() -> None:
    """Mixed signs, ties in size and a zero: scipy tries the same sign flips."""
    differences = np.array([0.3, -0.1, 0.3, 0.8, 0.0, -0.4, 0.25])
    expected = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    found = statistics.permutation_test(differences, draws())
    assert found == pytest.approx(float(expected.pvalue))


def test_many_differences_are_flipped_at_random() -> None:
    """Beyond 16 the p is an estimate: near the normal approximation, and never zero."""
    differences = np.linspace(-0.6, 1.0, 40)
    t = differences.sum() / math.sqrt((differences**2).sum())
    found = statistics.permutation_test(differences, draws())
    assert found == pytest.approx(2 * stats.norm.sf(t), rel=0.15)
    assert statistics.permutation_test(np.ones(60), draws(), resamples=999) == 0.001


def test_interquartile_means_are_scipys_trimmed_means() -> None:
    """A quarter of the values, rounded down, is cut from either end: one of five, two of eight."""
    for count in (2, 3, 4, 5, 8, 11):
        values = draws(count).normal(size=(3, count))
        expected = stats.trim_mean(values, 0.25, axis=1)
        assert statistics.interquartile_means(values) == pytest.approx(expected)


def test_the_bootstrap_is_scipys() -> None:
    """The percentile interval of the mean agrees with scipy's to resampling noise."""
    values = draws(1).normal(size=30)
    expected = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, rng=draws(2)
    ).confidence_interval
    found = statistics.bootstrap_interval(values, statistics.means, draws(3), resamples=20_000)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.02)


def test_the_bootstrap_takes_its_randomness_as_an_argument() -> None:
    """The same generator gives the same bits; another gives others."""
    first, again, other = (
        statistics.bootstrap_interval(GAINS, statistics.interquartile_means, draws(seed))
        for seed in (1, 1, 2)
    )
    assert first == again
    assert statistics.bootstrap_interval(GAINS, statistics.means, draws(1)) != other


def test_five_seeds_are_few_for_a_bootstrap() -> None:
    """Of 2,000 normal samples of five, t covers the mean in 95 %, the bootstrap in about 83 %."""
    generator = draws(11)
    covered = np.zeros(2)
    for _ in range(2000):
        sample = generator.normal(size=5)
        covered[0] += statistics.t_interval(sample).holds(0.0)
        covered[1] += statistics.bootstrap_interval(
            sample, statistics.means, generator, resamples=500
        ).holds(0.0)
    assert covered / 2000 == pytest.approx([0.95, 0.83], abs=0.025)


def test_effect_sizes_by_hand() -> None:
    """1, 2, 3: d_z = 2 / 1; constant gains are infinitely certain, no gain has no effect."""
    assert statistics.effect_size(np.array([1.0, 2.0, 3.0])) == 2.0
    assert statistics.effect_size(np.array([0.5, 0.5])) == math.inf
    assert statistics.effect_size(np.zeros(3)) == 0.0


def test_the_small_sample_correction_removes_the_bias() -> None:
    """Hedges' J: 0.7979 at four degrees of freedom; J times d_z averages to the true 0.7."""
    assert statistics.small_sample_correction(4) == pytest.approx(0.797885, abs=1e-6)
    samples = draws(4).normal(loc=0.7, size=(60_000, 6))
    effects = samples.mean(axis=1) / samples.std(axis=1, ddof=1)
    corrected = effects.mean() * statistics.small_sample_correction(5)
    assert corrected == pytest.approx(0.7, abs=0.01)


def test_holm_by_hand() -> None:
    """0.01 x 3, then 0.02 x 2, then 0.03 x 1 raised to its predecessor's 0.04; capped at 1."""
    assert statistics.holm([0.03, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert statistics.holm([0.6, 0.9]) == [1.0, 1.0]
    assert statistics.holm([]) == []
    with pytest.raises(UserError, match=r"p = 1\.5"):
        statistics.holm([0.2, 1.5])


@pytest.mark.parametrize("effect", [0.2, 0.8, 2.0, -1.5])
@pytest.mark.parametrize("seeds", [2, 3, 5, 12, 40])
def test_the_power_is_scipys_noncentral_t(effect: float, seeds: int) -> None:
    """Both tails of the noncentral t beyond the critical value."""
    freedom, shift = seeds - 1, effect * math.sqrt(seeds)
    critical = stats.t.ppf(0.975, freedom)
    expected = stats.nct.sf(critical, freedom, shift) + stats.nct.cdf(-critical, freedom, shift)
    assert statistics.t_test_power(effect, seeds) == pytest.approx(expected, abs=1e-6)


def test_the_seeds_needed_are_the_fewest() -> None:
    """d_z = 0.5 takes 34 pairs for power 0.8 (the figure every power table gives)."""
    assert statistics.seeds_needed(0.5) == 34
    assert statistics.t_test_power(0.5, 34) >= 0.8 > statistics.t_test_power(0.5, 33)
    assert statistics.seeds_needed(math.inf) == 2
    assert statistics.seeds_needed(0.0) is None
    assert statistics.seeds_needed(0.001) is None


def test_six_seeds_are_the_least_that_a_sign_test_can_use() -> None:
    """2 / 2^5 = 0.0625 misses 0.05 and 2 / 2^6 = 0.03125 reaches it; 0.0625 itself needs five."""
    assert statistics.sign_test_minimum() == 6
    assert statistics.sign_test_minimum(0.0625) == 5
    assert statistics.sign_test(np.ones(6)) == 0.03125


def test_a_comparison_holds_all_of_it() -> None:
    """First minus second, by seed, whatever order the seeds come in."""
    base = by_seed([90.0, 90.5, 89.5, 91.0, 90.25])
    better = {seed: base[seed] + gain for seed, gain in reversed(by_seed(GAINS).items())}
    found = statistics.compare(better, base, draws())
    assert found.mean == pytest.approx(2.59)
    assert (found.wins, found.losses, found.ties, found.sign_p) == (5, 0, 0, 0.0625)
    assert found.permutation_p == 0.0625
    assert found.t_interval.low == pytest.approx(1.98, abs=0.01)
    assert found.bootstrap_mean.low > 2.1
    assert found.effect == pytest.approx(GAINS.mean() / GAINS.std(ddof=1))
    assert found.effect_corrected == pytest.approx(0.797885 * found.effect, rel=1e-5)
    assert found.seeds_needed == 3


def test_unmatched_seeds_are_refused() -> None:
    """The sentence says which seeds stand on one side only."""
    first = {42: 1.0, 7: 2.0, 9: 1.0}
    with pytest.raises(UserError, match="only the first has 7, 9, only the second has 123"):
        statistics.paired_differences(first, {42: 1.0, 123: 2.0})


def test_unequal_seed_counts_are_refused() -> None:
    """A missing seed is not skipped."""
    values = by_seed(GAINS)
    with pytest.raises(UserError, match="only the first has 314"):
        statistics.paired_differences(values, {s: v for s, v in values.items() if s != 314})


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_number_is_refused(bad: float) -> None:
    """A NaN never becomes a p value."""
    with pytest.raises(UserError, match=r"seed 7: .* must be finite"):
        statistics.paired_differences({42: 1.0, 7: bad}, {42: 1.0, 7: 1.0})


def test_one_seed_is_refused() -> None:
    """One difference has no spread."""
    with pytest.raises(UserError, match="two seeds or more, not 1"):
        statistics.paired_differences({42: 1.0}, {42: 2.0})


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_is_a_probability(level: float) -> None:
    """95 for 0.95 is refused, not read as certainty."""
    with pytest.raises(UserError, match="level = "):
        statistics.t_interval(GAINS, level)
