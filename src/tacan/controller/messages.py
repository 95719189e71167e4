"""What the controller's parts say to each other: typed, and frozen once said.

Axes as everywhere: K channels, U secondary users, H slots of history.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

NO_CHANNEL = -1
"""In place of a channel: the user must not transmit."""

FIRST_DECISION = -1
"""After the report of this slot comes the decision for slot 0; earlier reports are only history."""


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What a sensor saw of one slot: spectrum during the slot, queues at its end."""

    slot: int
    time: float
    """when the slot ended, in seconds of the source's own clock"""
    occupancy: npt.NDArray[np.uint8]
    """[K]: 1 where a primary user was on"""
    entropy: npt.NDArray[np.float32]
    """[K]: normalised entropy of the modulation posterior (eq:modent)"""
    queue_class: npt.NDArray[np.int8]
    """[U]: class code of the head-of-line packet, -1 for an empty queue"""
    queue_delay: npt.NDArray[np.int32]
    """[U]: slots that packet has waited, 0 for an empty queue"""
    restart: bool = False
    """what came before this slot does not belong to it: history and memory begin anew"""

    def says_the_same(self, other: Report) -> bool:
        """Whether both describe the slot alike, whenever they were sent."""
        return (
            np.array_equal(self.occupancy, other.occupancy)
            and np.array_equal(self.entropy, other.entropy)
            and np.array_equal(self.queue_class, other.queue_class)
            and np.array_equal(self.queue_delay, other.queue_delay)
        )


class Source(StrEnum):
    """Whose decision it was, and if not the policy's, why not."""

    POLICY = "policy"
    LATE = "fallback: policy late"
    BUSY = "fallback: policy still busy"
    FAILED = "fallback: policy failed"
    NOT_A_NUMBER = "fallback: scores not numbers"
    UNUSABLE = "fallback: too few channels scored"
    GONE = "fallback: policy given up"
    HELD = "held: no new report"
    HELD_SILENT = "held: sensor silent"
    SILENT = "withdrawn: sensor silent"
    STOPPED = "withdrawn: controller stops"


@dataclass(frozen=True, slots=True)
class Choice:
    """Why a user got its channel."""

    user: int
    channel: int
    """-1: no channel was left for it"""
    probability: float | None
    """softmax of its scores over the allowed channels"""
    runner_up: int
    """the best of the other channels that were free when it chose, -1: none"""
    runner_up_probability: float | None


@dataclass(frozen=True, slots=True)
class Rule:
    """Steer what enters at a user's port out of its channel's port."""

    user: int
    channel: int
    in_port: int
    output: int

    def describe(self, priority: int, lease_seconds: int, cookie: int) -> dict[str, object]:
        """The rule with OpenFlow's field names, as the paper builds it."""
        return {
            "match": {"in_port": self.in_port},
            "actions": [{"type": "OUTPUT", "port": self.output}],
            "priority": priority,
            "hard_timeout": lease_seconds,
            "cookie": cookie,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole assignment that is to hold from now on; a user without a rule is silent."""

    slot: int
    channels: tuple[int, ...]
    """[U]"""
    rules: tuple[Rule, ...]
    """one for each user that has a channel, by user"""


@dataclass(frozen=True, slots=True)
class Applied:
    """What an actuator made of a plan."""

    changed: int
    """rules added, moved or removed"""
    renewed: int
    """rules sent again unchanged, to extend their lease"""
    encode_ns: int
    """spent on making messages"""
    confirm_ns: int
    """from sending them until all were confirmed"""
    transmit_at_ns: int
    """monotonic time from which users may transmit: confirmation plus guard time"""


class ActuatorError(Exception):
    """A plan could not be carried out; what the switch holds is unknown until the next one."""


class SensorEnded(Exception):  # noqa: N818 - not an error: a recording has an end
    """The source has nothing more to report, ever."""
