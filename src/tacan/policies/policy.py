"""The policy protocol: how anything that ranks channels is asked, in simulation and live.

A policy scores channels; ``assignment.py`` turns scores into distinct channels in a service order.
Memory is the policy's own: an observation holds H slots, and a policy that wants more keeps it
between ``start`` and the end of the episodes.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tacan.observation import Observation
from tacan.simulator.simulator import Privilege, Secrets
from tacan.simulator.streams import EpisodeKeys

Scores = npt.NDArray[np.floating]
"""[B, 1, K] (the same for all users) or [B, U, K]: higher is better, -inf is never chosen."""


@runtime_checkable
class Policy(Protocol):
    """Anything that ranks channels.

    ``start`` is called once before slot 0 of a batch, then ``score`` once for every slot, in order.
    """

    name: str
    privilege: Privilege
    """what it is allowed to know beyond its observation"""

    def start(self, keys: EpisodeKeys) -> None:
        """Forget everything: B new episodes begin. Draws come from the keys' POLICY stream."""

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """Rank the channels for the coming slot. ``secrets`` is None without privilege."""
