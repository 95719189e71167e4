"""Asking a policy that anybody may have written: scores come back, or a sentence that blames it.

Whatever a policy raises or returns is its author's to put right, so it is said as bad input is: the
policy by the reference that was named, what it did, and what would be right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.errors import UserError, placed
from tacan.observation import Observation
from tacan.policies.policy import Policy
from tacan.simulator.simulator import Privilege, Secrets
from tacan.simulator.streams import EpisodeKeys

REAL_NUMBERS = "fiub"
"""kinds of numpy's types; complex numbers, texts and objects have no order that is meant"""


def check_privilege(policy: Policy, reference: str) -> None:
    """Refuse what is no ``Privilege``: a number in its place would be told secrets."""
    if not isinstance(policy.privilege, Privilege):
        known = ", ".join(f"Privilege.{found.name}" for found in Privilege)
        raise UserError(
            f"policy {reference!r}: its privilege is {policy.privilege!r}; it must be one of "
            f"{known}"
        )


def start(policy: Policy, reference: str, keys: EpisodeKeys) -> None:
    """Tell a policy that episodes begin."""
    with blaming(reference, "start"):
        policy.start(keys)


def scores_of(
    policy: Policy, reference: str, observation: Observation, secrets: Secrets | None
) -> npt.NDArray[np.float64]:
    """A policy's scores [B, 1 or U, K], of one type and layout whatever it answers with."""
    with blaming(reference, "score"):
        answer: Any = policy.score(observation, secrets)
        scores = np.asarray(answer)
    rows, users = observation.queue_class.shape
    channels = observation.occupancy.shape[2]
    allowed = ((rows, 1, channels), (rows, users, channels))
    if scores.dtype.kind not in REAL_NUMBERS:
        what = "None" if answer is None else f"{scores.dtype} of shape {scores.shape}"
        raise UserError(
            f"policy {reference!r}: score returned {what}; it must be real numbers of shape "
            f"{allowed[0]} or {allowed[1]}"
        )
    if scores.shape not in allowed:
        raise UserError(
            f"policy {reference!r}: score returned shape {scores.shape}; it must be {allowed[0]} "
            f"if all users share their scores, or {allowed[1]}"
        )
    return np.ascontiguousarray(scores, dtype=np.float64)


@contextmanager
def blaming(reference: str, method: str) -> Iterator[None]:
    """Whatever a policy's method raises becomes a sentence that says where."""
    try:
        yield
    except UserError:
        raise  # it names the thing already
    except Exception as error:
        raise UserError(
            f"policy {reference!r}: {method} failed with {placed(error, __file__)}"
        ) from error
