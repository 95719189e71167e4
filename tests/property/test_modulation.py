"""Normalised entropy and uniform mixing, for any posterior."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacan.simulator.modulation import PosteriorBank, normalised_entropy

WEIGHTS = arrays(np.float64, st.integers(2, 16), elements=st.sampled_from([0.0, 1e-300, 0.1, 1, 9]))
POSTERIORS = WEIGHTS.filter(lambda weights: weights.sum() > 0).map(lambda w: w / w.sum())


@given(POSTERIORS)
def test_entropy_lies_in_the_unit_interval(posterior: np.ndarray) -> None:
    """0 exactly for certainty, 1 for no information; zeros in a posterior do no harm."""
    entropy = float(normalised_entropy(posterior))
    assert 0.0 <= entropy <= 1.0
    assert (entropy == 0.0) == (posterior.max() == 1.0)


@given(POSTERIORS, st.integers(1, 15))
def test_entropy_does_not_care_about_the_schemes_order(posterior: np.ndarray, turn: int) -> None:
    """Any relabelling of the schemes has the same entropy."""
    shuffled = np.roll(posterior[::-1], turn)
    assert abs(normalised_entropy(shuffled) - normalised_entropy(posterior)) < 1e-6


@given(POSTERIORS, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_mixing_more_never_lowers_the_entropy(
    posterior: np.ndarray, first: float, second: float
) -> None:
    """And what comes out is a posterior still."""
    single = posterior.astype(np.float32)[None, None]
    bank = PosteriorBank(single, normalised_entropy(single))
    less, more = (bank.mixed(share) for share in sorted((first, second)))
    assert float(more.entropy[0, 0]) >= float(less.entropy[0, 0]) - 1e-6
    assert abs(float(more.posterior.sum()) - 1.0) < 1e-6
