"""What could be reached by knowing more: hidden state as an explicit argument.

A device idle in slot t - 1 activates in slot t with probability 1 - exp(-lambda l). One whose busy
time ends in slot t - 1 is idle in slot t for sure. Any other busy device stays busy.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tacan.errors import UserError
from tacan.kernels import njit
from tacan.observation import Observation
from tacan.policies.policy import Scores
from tacan.scenario import Scenario
from tacan.simulator.simulator import Privilege, Secrets
from tacan.simulator.streams import EpisodeKeys

Value = TypeVar("Value")

BUSY_NOW_FACTOR = 0.2
"""CALIBRATION's weight of a channel that is busy now: its devices' busy times are not known."""


def _granted(value: Value | None, name: str, what: str) -> Value:
    if value is None:
        raise UserError(
            f"policy {name!r} ranks by {what}, which was not revealed to it: "
            "it can only be asked in simulation, with the secrets of its privilege"
        )
    return value


def _device_rates(scenario: Scenario) -> npt.NDArray[np.float64]:
    """Lambda of every device [N], at load 1."""
    rates: npt.NDArray[np.float64] = 1.0 / scenario.by_class("mean_idle_slots")
    return rates[scenario.device_class]


class PlacementOracle:
    """Knows the load and which devices sit on every channel, but not what they are doing."""

    name = "oracle-placement"
    privilege = Privilege.PLACEMENT

    def __init__(self, scenario: Scenario) -> None:
        self._rates = _device_rates(scenario)

    def start(self, keys: EpisodeKeys) -> None:
        """Nothing to forget."""

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """The probability that no device of the channel activates, times 0.2 if it is busy now."""
        secrets = _granted(secrets, self.name, "the devices' placement")
        load = _granted(secrets.load, self.name, "the load")
        device_channel = _granted(secrets.device_channel, self.name, "the devices' placement")
        last = observation.occupancy[:, -1]
        stays_idle = _idle_probability(device_channel, None, load, self._rates, last.shape[1])
        return (stays_idle * np.where(last, BUSY_NOW_FACTOR, 1.0))[:, None, :]


class StateOracle:
    """Knows the load and every device's channel and remaining busy time: the causal limit."""

    name = "oracle-state"
    privilege = Privilege.STATE

    def __init__(self, scenario: Scenario) -> None:
        self._rates = _device_rates(scenario)

    def start(self, keys: EpisodeKeys) -> None:
        """Nothing to forget."""

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """The exact probability that the channel is idle in the coming slot."""
        secrets = _granted(secrets, self.name, "the devices' remaining busy times")
        load = _granted(secrets.load, self.name, "the load")
        device_channel = _granted(secrets.device_channel, self.name, "the devices' placement")
        remaining = _granted(secrets.remaining, self.name, "the devices' remaining busy times")
        channels = observation.occupancy.shape[2]
        return _idle_probability(device_channel, remaining, load, self._rates, channels)[:, None, :]


class NextSlotOracle:
    """Clairvoyant: knows the occupancy of the slot being decided."""

    name = "oracle-next-slot"
    privilege = Privilege.NEXT_SLOT

    def start(self, keys: EpisodeKeys) -> None:
        """Nothing to forget."""

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        """1 for a channel that will be idle, 0 for one that will be busy."""
        del observation
        secrets = _granted(secrets, self.name, "the coming slot's occupancy")
        coming = _granted(secrets.next_occupancy, self.name, "the coming slot's occupancy")
        return (1.0 - coming)[:, None, :]


@njit(cache=True, nogil=True)
def _add_hazards(device_channel: Any, remaining: Any, load: Any, rates: Any, hazard: Any) -> None:
    for b in range(device_channel.shape[0]):
        for n in range(device_channel.shape[1]):
            left = remaining[b, n]
            if left == 0:
                hazard[b, device_channel[b, n]] += load[b] * rates[n]
            elif left >= 2:
                hazard[b, device_channel[b, n]] = np.inf


def _idle_probability(
    device_channel: npt.NDArray[np.int32],
    remaining: npt.NDArray[np.uint16] | None,
    load: npt.NDArray[np.float64],
    rates: npt.NDArray[np.float64],
    channels: int,
) -> npt.NDArray[np.float64]:
    """P(nobody is on air in the coming slot) [B, K]; without ``remaining`` as if all were idle."""
    if remaining is None:
        remaining = np.zeros(device_channel.shape, dtype=np.uint16)
    hazard = np.zeros((device_channel.shape[0], channels))
    _add_hazards(device_channel, remaining, load, rates, hazard)
    probability: npt.NDArray[np.float64] = np.exp(-hazard)
    return probability
