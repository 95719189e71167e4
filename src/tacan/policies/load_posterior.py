"""The posterior of the load, which all channels of an episode share."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacan.kernels import njit


@njit(cache=True)
def to_shares(log_weights: Any) -> None:
    """Turn log weights [loads] into probabilities that add up to 1, in place."""
    top = -np.inf
    for load in range(log_weights.shape[0]):
        top = max(top, log_weights[load])
    total = 0.0
    for load in range(log_weights.shape[0]):
        log_weights[load] = np.exp(log_weights[load] - top)
        total += log_weights[load]
    for load in range(log_weights.shape[0]):
        log_weights[load] /= total
