"""Primary users: an ON/OFF semi-Markov process per device (tab:classes).

An idle device activates in a slot with probability p_act = 1 - exp(-lambda l). The number of idle
slots before it does is therefore geometric, and is drawn at once as floor(E / (lambda l)) with E a
unit exponential, which has exactly that law. Its busy time is

    tau = round(min(H, max(L, x_m (1 + Y)))),   Y ~ Lomax(alpha),   x_m = L,

so x_m (1 + Y) = L u^(-1/alpha) for a uniform u. It occupies exactly tau slots, is idle in the slot
after them, and may activate again from the next slot on. All devices are idle before slot 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacan.kernels import njit
from tacan.simulator.streams import WEYL, Stream, mix, stream_start, to_unit

PLACEMENT = np.uint64(Stream.PLACEMENT)
TRAFFIC = np.uint64(Stream.TRAFFIC)
PERSISTENT_PART, LOAD_PART, PLACEMENT_PART = (np.uint64(part) for part in (1, 2, 3))
FIRST_EPISODE = np.uint64(0)


@njit(cache=True)
def draw_load(domain: Any, seed: Any, episode: Any, cumulative: Any) -> Any:
    """The load regime of an episode: an index into the cumulative probabilities."""
    draw = to_unit(mix(stream_start(domain, seed, episode, PLACEMENT, LOAD_PART) + WEYL))
    for index in range(cumulative.shape[0] - 1):
        if draw < cumulative[index]:
            return index
    return cumulative.shape[0] - 1


@njit(cache=True)
def place_devices(
    domain: Any, seed: Any, episode: Any, persistent: Any, channels: Any, device_channel: Any
) -> None:
    """Put every device on a channel, uniformly at random: per episode, or once for the seed."""
    if persistent:
        counter = stream_start(domain, seed, FIRST_EPISODE, PLACEMENT, PERSISTENT_PART)
    else:
        counter = stream_start(domain, seed, episode, PLACEMENT, PLACEMENT_PART)
    for n in range(device_channel.shape[0]):
        counter += WEYL
        device_channel[n] = int(to_unit(mix(counter)) * channels)


@njit(cache=True, inline="always")
def busy_slots(draw: Any, shape: Any, shortest: Any, longest: Any) -> Any:
    """The busy time of one activation from a uniform draw in [0, 1)."""
    # 1 - draw lies in (0, 1]; the draws that exceed the clip are caught before the power overflows
    length = shortest * (1.0 - draw) ** (-1.0 / shape)
    return int(np.floor(min(longest, max(shortest, length)) + 0.5))


@njit(cache=True)
def run_devices(
    domain: Any,
    seed: Any,
    episode: Any,
    load: Any,
    device_class: Any,
    device_channel: Any,
    rates: Any,
    shapes: Any,
    shortest: Any,
    longest: Any,
    ranks: Any,
    by_rank: Any,
    emitter: Any,
    remaining: Any,
) -> None:
    """Play all devices of one episode.

    ``emitter`` [T, K] becomes the code of the class on air (0: none, else class + 1), the one of
    the highest priority where several devices share a channel. ``remaining`` [T, N] becomes the
    busy slots that a device still has, this one included; pass it with no rows to skip it.
    """
    slots = emitter.shape[0]
    record = remaining.shape[0] > 0
    for n in range(device_class.shape[0]):
        code = device_class[n]
        channel = device_channel[n]
        rank = ranks[code]
        rate = rates[code] * load
        counter = stream_start(domain, seed, episode, TRAFFIC, np.uint64(n))
        earliest = 0
        while True:
            counter += WEYL
            idle = -np.log(1.0 - to_unit(mix(counter))) / rate
            counter += WEYL
            length = busy_slots(to_unit(mix(counter)), shapes[code], shortest[code], longest[code])
            if idle >= slots - earliest:
                break
            start = earliest + int(idle)
            end = start + length
            for t in range(start, min(end, slots)):
                emitter[t, channel] = max(emitter[t, channel], rank)
                if record:
                    remaining[t, n] = end - t
            earliest = end + 1
            if earliest >= slots:
                break
    for t in range(slots):
        for k in range(emitter.shape[1]):
            emitter[t, k] = by_rank[emitter[t, k]]
