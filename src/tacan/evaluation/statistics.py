"""Comparing policies by seed: small samples, paired, with nothing assumed that is not said.

The unit is a seed, never a slot or an episode: slots of one seed share a trained network and a
world, so counting them as independent makes any difference look certain. Two policies are compared
on the same seeds, through the differences d_s = a_s - b_s of those seeds alone.

No scipy at run time: the few special functions that are needed stand at
the end of this file and are checked against scipy in the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacan.errors import UserError

Numbers = npt.NDArray[np.float64]
Statistic = Callable[[Numbers], Numbers]
"""What a bootstrap summarises: resamples [R, n] -> their statistic [R]"""

EXACT_FLIPS = 16
"""Up to this many non-zero differences every sign flip is tried (65,536 of them)."""
RESAMPLES = 10_000
MOST_SEEDS = 10_000


@dataclass(frozen=True)
class Interval:
    """A range and the confidence it was built for."""

    low: float
    high: float
    level: float

    def holds(self, value: float) -> bool:
        """Whether a value lies inside, bounds included."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class PairedComparison:
    """Everything a table says about one pair of policies; differences are first minus second."""

    seeds: int
    mean: float
    deviation: float
    """standard deviation of the differences, with n - 1"""
    t_interval: Interval
    t_p: float
    wins: int
    losses: int
    ties: int
    sign_p: float
    permutation_p: float
    bootstrap_mean: Interval
    bootstrap_iqm: Interval
    effect: float
    """d_z: mean over standard deviation of the differences"""
    effect_corrected: float
    """d_z times its small-sample correction (Hedges)"""
    seeds_needed: int | None
    """for power 0.8 of the paired t test at this effect and level 0.05; None: over 10,000"""


def paired_differences(first: Mapping[int, float], second: Mapping[int, float]) -> Numbers:
    """d_s = first - second for every seed, in the order of the seeds.

    Refuses what cannot be paired: other seeds, fewer than two, or a value that is no number.
    """
    if set(first) != set(second):
        raise UserError(
            f"a paired comparison needs the same seeds on both sides: {_only(first, second)}"
        )
    if len(first) < 2:
        raise UserError(f"a paired comparison needs two seeds or more, not {len(first)}")
    seeds = sorted(first)
    differences = np.array([first[seed] - second[seed] for seed in seeds], dtype=np.float64)
    if not np.isfinite(differences).all():
        bad = seeds[int(np.argmin(np.isfinite(differences)))]
        raise UserError(
            f"seed {bad}: {first[bad]!r} against {second[bad]!r} cannot be compared: "
            "both must be finite numbers"
        )
    return differences


def _only(first: Mapping[int, float], second: Mapping[int, float]) -> str:
    sides = (("first", set(first) - set(second)), ("second", set(second) - set(first)))
    return ", ".join(
        f"only the {name} has {', '.join(map(str, sorted(extra)))}"
        for name, extra in sides
        if extra
    )


def compare(
    first: Mapping[int, float],
    second: Mapping[int, float],
    generator: np.random.Generator,
    *,
    level: float = 0.95,
) -> PairedComparison:
    """All paired statistics of two policies' values by seed. Draws come from ``generator``."""
    differences = paired_differences(first, second)
    effect = effect_size(differences)
    return PairedComparison(
        seeds=differences.size,
        mean=float(differences.mean()),
        deviation=float(differences.std(ddof=1)),
        t_interval=t_interval(differences, level),
        t_p=t_test(differences),
        wins=int((differences > 0).sum()),
        losses=int((differences < 0).sum()),
        ties=int((differences == 0).sum()),
        sign_p=sign_test(differences),
        permutation_p=permutation_test(differences, generator),
        bootstrap_mean=bootstrap_interval(differences, means, generator, level=level),
        bootstrap_iqm=bootstrap_interval(differences, interquartile_means, generator, level=level),
        effect=effect,
        effect_corrected=effect * small_sample_correction(differences.size - 1),
        seeds_needed=seeds_needed(effect),
    )


def t_interval(differences: Numbers, level: float = 0.95) -> Interval:
    """Mean ± t s / sqrt(n): right if the differences are about normal, which five cannot show."""
    _check_level(level)
    half = student_t_quantile(0.5 + level / 2, differences.size - 1)
    half *= float(differences.std(ddof=1)) / math.sqrt(differences.size)
    mean = float(differences.mean())
    return Interval(mean - half, mean + half, level)


def t_test(differences: Numbers) -> float:
    """The two-sided p of the paired t test."""
    deviation = float(differences.std(ddof=1))
    mean = float(differences.mean())
    if deviation == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    t = mean / deviation * math.sqrt(differences.size)
    return 2.0 * student_t_cdf(-abs(t), differences.size - 1)


def sign_test(differences: Numbers) -> float:
    """The exact two-sided p of the sign test; ties carry no sign and are left out.

    Five wins of five give 2 / 2^5 = 0.0625, the least that five seeds can give.
    """
    wins = int((differences > 0).sum())
    count = wins + int((differences < 0).sum())
    fewer = min(wins, count - wins)
    tail = sum(math.comb(count, k) for k in range(fewer + 1)) / (1 << count)
    return min(1.0, 2.0 * tail)


def permutation_test(
    differences: Numbers, generator: np.random.Generator, *, resamples: int = 100_000
) -> float:
    """The two-sided p of the sign-flip test of the mean: exact up to 16 non-zero differences.

    If the policies were exchangeable, each difference could as well have the other sign: p is the
    share of all sign patterns whose mean is at least as far from zero. Beyond 16 differences,
    ``resamples`` random patterns are drawn and the observed one is counted among them.
    """
    sizes = np.abs(differences[differences != 0])
    observed = abs(float(differences.sum()))
    close = observed - 1e-12 * float(sizes.sum())  # equal sums may differ in their last bit
    if sizes.size <= EXACT_FLIPS:
        patterns = np.arange(2**sizes.size)[:, None] >> np.arange(sizes.size) & 1
        sums: Numbers = (1 - 2 * patterns) @ sizes
        return float(np.count_nonzero(np.abs(sums) >= close)) / len(sums)
    extreme = 1
    for start in range(0, resamples, RESAMPLES):
        rows = min(RESAMPLES, resamples - start)
        signs = 1 - 2 * generator.integers(0, 2, size=(rows, sizes.size))
        extreme += int((np.abs(signs @ sizes) >= close).sum())
    return extreme / (resamples + 1)


def means(samples: Numbers) -> Numbers:
    """The mean of every row."""
    return np.asarray(samples.mean(axis=-1))


def interquartile_means(samples: Numbers) -> Numbers:
    """The mean of every row's middle half: floor(n / 4) values are cut from either end."""
    cut = samples.shape[-1] // 4
    ordered = np.sort(samples, axis=-1)
    return np.asarray(ordered[..., cut : samples.shape[-1] - cut].mean(axis=-1))


def bootstrap_interval(
    values: Numbers,
    statistic: Statistic,
    generator: np.random.Generator,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> Interval:
    """The percentile bootstrap of a statistic over seeds.

    It assumes no shape, but from five seeds it is too narrow: it covers a normal mean about 83 % of
    the time instead of 95 % (a test measures it). Read it beside the t interval, not instead.
    """
    _check_level(level)
    rows = generator.integers(0, values.size, size=(resamples, values.size))
    found = statistic(values[rows])
    low, high = np.quantile(found, [0.5 - level / 2, 0.5 + level / 2])
    return Interval(float(low), float(high), level)


def effect_size(differences: Numbers) -> float:
    """d_z = mean / standard deviation of the differences; infinite if they are all the same."""
    deviation = float(differences.std(ddof=1))
    mean = float(differences.mean())
    if deviation == 0.0:
        return math.copysign(math.inf, mean) if mean else 0.0
    return mean / deviation


def small_sample_correction(freedom: int) -> float:
    """Hedges' exact J = Γ(f/2) / (√(f/2) Γ((f-1)/2)): how much d_z overstates the true effect.

    It needs two degrees of freedom; with one, the expectation of d_z does not exist, and J is 0.
    """
    if freedom < 2:
        return 0.0
    logs = math.lgamma(freedom / 2) - math.lgamma((freedom - 1) / 2)
    return math.exp(logs) / math.sqrt(freedom / 2)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment: valid whatever the dependence between the claims.

    The smallest p is multiplied by the number of claims m, the next by m - 1, and so on; a claim
    never gets a smaller adjusted p than one that was more certain.
    """
    for p in p_values:
        if not 0.0 <= p <= 1.0:
            raise UserError(f"p = {p!r}: must lie between 0 and 1")
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def t_test_power(effect: float, seeds: int, alpha: float = 0.05) -> float:
    """How often a two-sided paired t test of n seeds finds a true effect d_z.

    The statistic is noncentral t: (Z + δ) / S with δ = d_z √n and S² = χ²_f / f. Conditional on S
    its tails are normal, so the power is an integral over the density of S.
    """
    freedom = seeds - 1
    if freedom < 1:
        raise UserError(f"seeds = {seeds}: a t test needs two or more")
    critical = student_t_quantile(1.0 - alpha / 2, freedom)
    shift = abs(effect) * math.sqrt(seeds)
    if math.isinf(shift):
        return 1.0
    nodes, weights = np.polynomial.legendre.leggauss(200)
    spread = 10.0 / math.sqrt(2 * freedom)
    low, high = max(0.0, 1.0 - spread), 1.0 + spread
    s = low + (nodes + 1.0) * (high - low) / 2
    log_density = (
        math.log(2.0)
        + freedom / 2 * math.log(freedom / 2)
        - math.lgamma(freedom / 2)
        + (freedom - 1) * np.log(s)
        - freedom * s * s / 2
    )
    tails = np.array(
        [_normal_cdf(shift - critical * x) + _normal_cdf(-shift - critical * x) for x in s]
    )
    return min(1.0, float((weights * np.exp(log_density) * tails).sum() * (high - low) / 2))


def seeds_needed(effect: float, *, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """The fewest seeds with which a paired t test finds this d_z; None if it takes over 10,000."""
    _check_level(power)
    if effect == 0.0 or t_test_power(effect, MOST_SEEDS, alpha) < power:
        return None
    low, high = 1, 2
    while t_test_power(effect, high, alpha) < power:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if t_test_power(effect, middle, alpha) >= power else (middle, high)
        )
    return high


def sign_test_minimum(alpha: float = 0.05) -> int:
    """The fewest seeds with which all wins reach alpha: 6 at 0.05, and the sign-flip test's too."""
    _check_level(alpha)
    return 1 + math.ceil(-math.log2(alpha) - 1e-12)


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise UserError(f"level = {level!r}: must lie between 0 and 1, both excluded")


# Distributions


def _normal_cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def student_t_cdf(t: float, freedom: float) -> float:
    """P(T <= t) through the regularised incomplete beta I_x(f/2, 1/2), x = f / (f + t²)."""
    tail = 0.5 * incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))
    return tail if t < 0 else 1.0 - tail


def student_t_quantile(probability: float, freedom: float) -> float:
    """The t with P(T <= t) = probability, by bisection to the last bits."""
    if not 0.0 < probability < 1.0 or freedom <= 0:
        raise UserError(
            f"Student's t has no quantile {probability!r} with {freedom!r} degrees of freedom"
        )
    if probability < 0.5:
        return -student_t_quantile(1.0 - probability, freedom)
    high = 1.0
    while student_t_cdf(high, freedom) < probability:
        high *= 2.0
    low = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (
            (middle, high) if student_t_cdf(middle, freedom) < probability else (low, middle)
        )
    return (low + high) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b) by its continued fraction, evaluated with Lentz's method (DLMF 8.17.22)."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side only
        return 1.0 - incomplete_beta(b, a, 1.0 - x)
    front = math.exp(
        a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    )
    return front * _beta_fraction(a, b, x) / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    tiny = 1e-300
    c, d = 1.0, 1.0 / max(abs(1.0 - (a + b) * x / (a + 1)), tiny)
    d = math.copysign(d, 1.0 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / ((1.0 + term * d) or tiny)
            c = (1.0 + term / c) or tiny
            value *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return value
