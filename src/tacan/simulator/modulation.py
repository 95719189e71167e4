"""Synthetic automatic modulation classification (AMC): a posterior per channel and slot.

The posterior of a channel with class c on air is drawn from Dirichlet(concentration_c * shares_c);
an idle channel shows noise. Posteriors are drawn beforehand into a bank of ``bank_size`` per
class, and a slot picks one of them uniformly: the whole posterior stays available by its index, and
its normalised entropy (eq:modent) costs one look-up. Blending in a uniform posterior is exact: the
bank is mixed and its entropies computed anew.

How much the entropy tells about the class is a property of the shares and concentrations, shown in
docs/modulation.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit
from tacan.scenario import Modulation
from tacan.simulator.streams import WEYL, WHOLE, Stream, mix, stream_start

MODULATION = np.uint64(Stream.MODULATION)
PICKS_PER_WORD = 4
PICK_BITS = np.uint64(16)
PICK_MASK = np.uint64(0xFFFF)


def normalised_entropy(posterior: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    """eq:modent over the last axis: 0 for certainty, 1 for a uniform posterior."""
    logs = np.log(posterior, out=np.zeros_like(posterior), where=posterior > 0)
    entropy = -(posterior * logs).sum(axis=-1) / np.log(posterior.shape[-1])
    bounded: npt.NDArray[np.float32] = np.clip(entropy, 0.0, 1.0).astype(np.float32)
    return bounded


@dataclass(frozen=True)
class PosteriorBank:
    """Posteriors of every emitter code (0 idle, then the classes) and their entropies."""

    posterior: npt.NDArray[np.float32]
    """[1 + C, bank, M], each row adding up to 1"""
    entropy: npt.NDArray[np.float32]
    """[1 + C, bank]"""

    def mixed(self, share: float) -> PosteriorBank:
        """The bank with a uniform posterior blended in (the paper's flattening)."""
        schemes = self.posterior.shape[-1]
        posterior = (1.0 - share) * self.posterior.astype(np.float64) + share / schemes
        return PosteriorBank(posterior.astype(np.float32), normalised_entropy(posterior))


def draw_bank(modulation: Modulation) -> PosteriorBank:
    """The bank of a scenario: the same numbers whenever and wherever it is drawn."""
    rows = modulation.templates.rows()
    generator = np.random.Generator(np.random.PCG64(modulation.bank_seed))
    size = (modulation.bank_size, len(modulation.schemes))
    posterior = np.empty((len(rows), *size), dtype=np.float64)
    for code, row in enumerate(rows):
        alpha = row.concentration * np.asarray(row.shares)
        weights = generator.standard_gamma(np.broadcast_to(alpha, size))
        # a Dirichlet of tiny concentration can round to no weight at all: then it is all on one
        weights[weights.sum(axis=1) == 0.0, int(np.argmax(alpha))] = 1.0
        posterior[code] = weights / weights.sum(axis=1, keepdims=True)
    bank = PosteriorBank(posterior.astype(np.float32), normalised_entropy(posterior))
    return bank.mixed(modulation.uniform_mixing) if modulation.uniform_mixing else bank


@njit(cache=True)
def pick_posteriors(
    domain: Any, seed: Any, episode: Any, bank: Any, emitter: Any, pick: Any, entropy: Any
) -> None:
    """Choose a posterior for every slot and channel of one episode, and look up its entropy.

    ``emitter``, ``pick`` and ``entropy`` are [slots, K]; ``bank`` holds entropies [1 + C, size].
    Four 16-bit picks come from one word; a bank of 2^n posteriors is picked without bias.
    """
    size = np.uint64(bank.shape[1])
    counter = stream_start(domain, seed, episode, MODULATION, WHOLE)
    word = np.uint64(0)
    for t in range(emitter.shape[0]):
        for k in range(emitter.shape[1]):
            if k % PICKS_PER_WORD == 0:
                counter += WEYL
                word = mix(counter)
            index = ((word & PICK_MASK) * size) >> PICK_BITS
            word >>= PICK_BITS
            pick[t, k] = index
            entropy[t, k] = bank[emitter[t, k], index]
