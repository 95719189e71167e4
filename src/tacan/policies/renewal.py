"""How long a channel stays away from idleness, in closed form.

A device renews itself in its idle slots: from an idle slot it activates in the next one with
probability q = 1 - exp(-lambda l), is busy for tau slots and idle in the slot after them. With p(t)
the probability that it is idle t slots after an idle one,

    p(t) = (1 - q) p(t - 1) + q sum_tau P(tau) p(t - 1 - tau),   p(0) = 1.

A channel renews itself when all its devices are idle, which has probability u(t) = prod_n p_n(t).
Its law of the return time d (1: it stays idle; d: a busy period of d - 1 slots) is then the
solution of u(t) = sum_d f(d) u(t - d), whichever way its devices' busy times overlap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.kernels import njit
from tacan.scenario import CLASSES, Scenario, TrafficClass


def busy_law(settings: TrafficClass) -> npt.NDArray[np.float64]:
    """P(tau = n) for n = 0 .. longest_busy: the rounded, clipped Pareto of tab:classes."""
    shortest, longest = settings.shortest_busy, settings.longest_busy
    law = np.zeros(longest + 1)
    bounds = np.arange(shortest, longest) + 0.5
    beyond = (shortest / bounds) ** settings.pareto_shape
    law[shortest:] = -np.diff(beyond, prepend=1.0, append=0.0)
    return law


def idle_law(settings: TrafficClass, load: float, slots: int) -> npt.NDArray[np.float64]:
    """p(t) of a device for t = 0 .. slots."""
    activates = -np.expm1(-settings.rate * load)
    law = busy_law(settings)
    idle = np.empty(slots + 1)
    idle[0] = 1.0
    for t in range(1, slots + 1):
        ended = idle[t - 1 :: -1][: len(law)]  # tau = 0, 1, .. ended in the slot before
        idle[t] = (1.0 - activates) * idle[t - 1] + activates * (law[: len(ended)] @ ended)
    return idle


@njit(cache=True, nogil=True)
def _first_returns(renewal: Any, returns: Any) -> None:
    """Solve u(t) = sum_d f(d) u(t - d) for f, over the last axis; f(0) = 0."""
    for j in range(renewal.shape[0]):
        for t in range(1, renewal.shape[1]):
            rest = renewal[j, t]
            for d in range(1, t):
                rest -= returns[j, d] * renewal[j, t - d]
            returns[j, t] = max(rest, 0.0)


def return_law(
    scenario: Scenario, load: float, counts: npt.NDArray[np.int64], slots: int
) -> npt.NDArray[np.float64]:
    """f(d) of channels with these devices ``counts`` [J, C], for d = 0 .. slots: [J, slots + 1]."""
    idle = np.stack([idle_law(scenario.classes[name], load, slots) for name in CLASSES])
    renewal = np.exp(counts @ np.log(np.maximum(idle, np.finfo(np.float64).tiny)))
    returns = np.zeros_like(renewal)
    _first_returns(renewal, returns)
    return returns
