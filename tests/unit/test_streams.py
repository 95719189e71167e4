"""Random streams: the generator is the published one, and a stream depends on its key alone."""

from __future__ import annotations

import numpy as np
import pytest

from tacan.simulator.streams import (
    WEYL,
    Domain,
    EpisodeKeys,
    RandomStream,
    Stream,
    mix,
    stream_start,
)


def test_the_generator_is_splitmix64() -> None:
    """The first five words from seed 1234567, as published with the reference code in C."""
    counter, words = np.uint64(1234567), []
    with np.errstate(over="ignore"):
        for _ in range(5):
            counter += WEYL
            words.append(int(mix(counter)))
    assert words == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_every_part_of_a_key_starts_another_stream() -> None:
    """Domain, seed, episode, stream and part each lead elsewhere, and so does swapping two."""
    key = (1, 2, 3, 4, 5)
    keys = [key, (2, 1, 3, 4, 5), (1, 3, 2, 4, 5)]
    keys += [tuple(n + (i == place) * 10 for i, n in enumerate(key)) for place in range(5)]
    with np.errstate(over="ignore"):
        starts = {int(stream_start(*key)) for key in keys}
    assert len(starts) == len(keys)


def test_draws_do_not_depend_on_the_batch() -> None:
    """Episode 3 draws the same numbers alone, and among others."""
    together = RandomStream(EpisodeKeys.of(Domain.TRAINING, 7, np.arange(5)))
    alone = RandomStream(EpisodeKeys.of(Domain.TRAINING, 7, 3))
    for width in (4, 1, 6):
        assert (together.uniform(width)[3] == alone.uniform(width)[0]).all()


def test_streams_are_uniform_and_independent() -> None:
    """200,000 draws of two streams: mean 1/2, variance 1/12 and no correlation, to 5 sigma."""
    keys = EpisodeKeys.of(Domain.EVALUATION, 1, np.arange(200))
    first, second = (
        RandomStream(keys, stream).uniform(1000).ravel()
        for stream in (Stream.POLICY, Stream.MODULATION)
    )
    assert first.min() >= 0.0
    assert first.max() < 1.0
    assert abs(first.mean() - 0.5) < 5 * np.sqrt(1 / 12 / first.size)
    assert abs(first.var() - 1 / 12) < 5 * np.sqrt(1 / 180 / first.size)
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(first.size)


def test_keys_are_broadcast() -> None:
    """One seed with many episodes, and many seeds with one episode, are written plainly."""
    keys = EpisodeKeys.of(Domain.TRAINING, [4, 5], 9)
    assert (keys.seeds.tolist(), keys.episodes.tolist(), len(keys)) == ([4, 5], [9, 9], 2)


@pytest.mark.parametrize("seeds", [[], -1, [[1, 2]]], ids=["none", "negative", "a table"])
def test_keys_that_cannot_be_are_refused(seeds: object) -> None:
    """No episode at all, a negative seed and a table of seeds each raise a ValueError."""
    with pytest.raises(ValueError, match="seeds and episodes must"):
        EpisodeKeys.of(Domain.TRAINING, seeds, 0)
