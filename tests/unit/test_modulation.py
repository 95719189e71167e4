"""Synthetic modulation classification: whole posteriors, their entropies and what these tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata

from fakes import draw_world
from tacan.scenario import load_scenario
from tacan.simulator.modulation import draw_bank, normalised_entropy

PAPER = load_scenario("paper")
BANK = draw_bank(PAPER.modulation)
IDLE, URLLC, MMTC, EMBB = range(4)


def separability(first: np.ndarray, second: np.ndarray) -> float:
    """AUC: the probability that a draw of the first exceeds one of the second."""
    ranks = rankdata(np.concatenate([first, second]))[: len(first)]
    return float((ranks.sum() - len(first) * (len(first) + 1) / 2) / (len(first) * len(second)))


@pytest.mark.parametrize(
    ("posterior", "entropy"),
    [
        ([1.0, 0.0, 0.0, 0.0], 0.0),
        ([0.5, 0.5, 0.0, 0.0], 0.5),  # one bit of two
        ([0.25, 0.25, 0.25, 0.25], 1.0),
        ([0.5, 0.25, 0.125, 0.125], 0.875),  # 1/2 + 2/4 + 3/8 + 3/8 bits of two
    ],
)
def test_normalised_entropy(posterior: list[float], entropy: float) -> None:
    """eq:modent: 0 for certainty, 1 for a uniform posterior, bits over log2 M between."""
    assert normalised_entropy(np.array(posterior)) == pytest.approx(entropy, abs=1e-6)


def test_the_bank_is_the_same_whenever_it_is_drawn() -> None:
    """Its seed is part of the scenario."""
    again = draw_bank(PAPER.modulation)
    assert (again.posterior == BANK.posterior).all()
    other = draw_bank(PAPER.changed({"modulation.bank_seed": 21}).modulation)
    assert not (other.posterior == BANK.posterior).all()


def test_posteriors_lean_towards_the_shares_of_their_template() -> None:
    """The bank's mean posterior is the template, to 5 standard errors of a Dirichlet."""
    for code, row in enumerate(PAPER.modulation.templates.rows()):
        shares = np.array(row.shares)
        error = np.sqrt(shares * (1 - shares) / (row.concentration + 1) / BANK.posterior.shape[1])
        assert (abs(BANK.posterior[code].mean(axis=0) - shares) <= 5 * error + 1e-6).all()


def test_the_papers_dominant_schemes_dominate() -> None:
    """QPSK and BPSK for URLLC, BPSK and OOK for mMTC, 16QAM for eMBB (tab:classes)."""
    schemes = PAPER.modulation.schemes
    likeliest = [schemes[int(row.mean(axis=0).argmax())] for row in BANK.posterior]
    assert likeliest[URLLC] == "QPSK"
    assert likeliest[MMTC] == "BPSK"
    assert likeliest[EMBB] == "16QAM"


def test_entropy_tells_the_class_weakly() -> None:
    """Classes on air overlap widely, in the order URLLC, mMTC, eMBB; silence shows the most."""
    for lower, higher in [(URLLC, MMTC), (MMTC, EMBB), (URLLC, EMBB)]:
        assert 0.55 < separability(BANK.entropy[higher], BANK.entropy[lower]) < 0.80
    for code in (URLLC, MMTC, EMBB):
        assert separability(BANK.entropy[IDLE], BANK.entropy[code]) > 0.9


def test_mixing_all_in_leaves_uniform_posteriors() -> None:
    """The paper's flattening at rate 1: every entropy is 1, nothing is told."""
    flat = BANK.mixed(1.0)
    assert flat.posterior == pytest.approx(0.1)
    assert flat.entropy == pytest.approx(1.0)


def test_mixing_blends_the_posterior_and_not_the_entropy() -> None:
    """Half of certainty and half of uniform over two schemes is (3/4, 1/4): 0.8113 bits."""
    certain = np.array([[[1.0, 0.0]]], dtype=np.float32)
    mixed = replace(BANK, posterior=certain, entropy=np.zeros((1, 1), np.float32)).mixed(0.5)
    assert mixed.posterior.tolist() == [[[0.75, 0.25]]]
    assert mixed.entropy == pytest.approx(0.811278, abs=1e-6)


def test_a_mixed_world_is_the_same_world_with_other_reports() -> None:
    """Mixing later equals mixing by scenario, and touches nothing but the classifier's reports."""
    scenario = load_scenario("tiny")
    plain = draw_world(scenario, 3)
    mixed = plain.with_mixing(0.4)
    drawn = draw_world(scenario.changed({"modulation.uniform_mixing": 0.4}), 3)
    assert (mixed.entropy == drawn.entropy).all()
    assert (mixed.posterior(5) == drawn.posterior(5)).all()
    assert (mixed.emitter == plain.emitter).all()
    assert (mixed.pick == plain.pick).all()
    assert (mixed.entropy > plain.entropy).mean() > 0.95


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_that_cannot_be_is_refused(share: float) -> None:
    """Mixing is a share between 0 and 1."""
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        draw_world(load_scenario("tiny"), 1).with_mixing(share)


def test_the_reported_posterior_is_of_the_class_on_air() -> None:
    """A slot's posterior is one of its emitter's, and its entropy is that posterior's."""
    world = draw_world(PAPER, 2)
    slot = 50
    row = PAPER.history + slot
    posterior = world.posterior(slot)
    assert posterior.shape == (2, 20, 10)
    found = normalised_entropy(posterior.astype(np.float64))
    assert found == pytest.approx(world.entropy[:, row], abs=1e-6)
    for b, k in ((0, 3), (1, 19)):
        own = BANK.posterior[world.emitter[b, row, k]]
        assert (own == posterior[b, k]).all(axis=1).any()


@pytest.mark.parametrize("size", [2, 5, 4096])
def test_posteriors_are_picked_uniformly(size: int) -> None:
    """Every entry of the bank is as likely as any other; the first and last are reached."""
    scenario = load_scenario("tiny").changed({"modulation.bank_size": size})
    pick = draw_world(scenario, 1000).pick.ravel()
    assert pick.min() == 0
    assert pick.max() == size - 1
    mean, deviation = (size - 1) / 2, np.sqrt((size**2 - 1) / 12)
    assert abs(pick.mean() - mean) < 5 * deviation / np.sqrt(pick.size)


def test_a_tiny_concentration_still_gives_posteriors() -> None:
    """Where the gamma draws underflow, all weight goes to the likeliest scheme."""
    changes = {"modulation.templates.mmtc.concentration": 1e-12, "modulation.bank_size": 8}
    posterior = draw_bank(PAPER.changed(changes).modulation).posterior[MMTC]
    assert posterior.sum(axis=1) == pytest.approx(1.0)
    assert (posterior.max(axis=1) == 1.0).all()
