"""A report as plain values, as they stand in JSON, msgpack and traces (docs/sensor-protocol.md).

{"version": 1, "slot": 12, "time": 81.25,
 "occupancy": [0, 1, ..],                     K of 0 or 1
 "entropy": [0.31, ..],                       K from 0 to 1, or instead
 "posterior": [[0.9, ..], ..],                K rows over the modulation schemes
 "queue_class": [0, -1, ..],                  U of -1 (empty), 0 URLLC, 1 mMTC, 2 eMBB
 "queue_delay": [3, 0, ..],                   U, 0 where the queue is empty
 "restart": false}                            may be left out
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tacan.controller.messages import Report
from tacan.scenario import CLASSES, EMPTY, Scenario
from tacan.simulator.modulation import normalised_entropy

VERSION = 1
LARGEST_SLOT = 2**53
LARGEST_DELAY = 2**31 - 1
POSTERIOR_TOLERANCE = 1e-3
KEYS = {
    "version",
    "slot",
    "time",
    "occupancy",
    "entropy",
    "posterior",
    "queue_class",
    "queue_delay",
    "restart",
}


class MalformedReport(ValueError):  # noqa: N818 - the name says what it is
    """What arrived is not a report; the sentence says why."""


class ReportFormat:
    """Reads and writes the reports of one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._channels = scenario.channels
        self._users = scenario.users
        self._schemes = len(scenario.modulation.schemes)
        self._json = json.JSONDecoder(
            parse_constant=_refuse_constant, object_pairs_hook=_without_repetition
        )

    def read(self, content: Any) -> Report:
        """A report from plain values; MalformedReport says what is wrong with them."""
        if not isinstance(content, dict):
            raise MalformedReport("a report must be a map of keys")
        unknown = [key for key in content if key not in KEYS]
        if unknown:
            raise MalformedReport(f"key {unknown[0]!r:.40} is not known")
        version = content.get("version")
        if type(version) is not int or version != VERSION:
            raise MalformedReport(f"version must be {VERSION}")
        slot = _integer(content, "slot", -LARGEST_SLOT, LARGEST_SLOT)
        restart = content.get("restart", False)
        if not isinstance(restart, bool):
            raise MalformedReport("restart must be true or false")
        time = content.get("time")
        if not isinstance(time, int | float) or isinstance(time, bool) or not _finite(time):
            raise MalformedReport("time must be a number of seconds")
        report = Report(
            slot=slot,
            time=float(time),
            occupancy=_integers(content, "occupancy", self._channels, 0, 1).astype(np.uint8),
            entropy=self._entropy(content),
            queue_class=_integers(
                content, "queue_class", self._users, EMPTY, len(CLASSES) - 1
            ).astype(np.int8),
            queue_delay=_integers(content, "queue_delay", self._users, 0, LARGEST_DELAY).astype(
                np.int32
            ),
            restart=restart,
        )
        if (report.queue_delay[report.queue_class == EMPTY] != 0).any():
            raise MalformedReport("queue_delay must be 0 where queue_class is -1")
        return report

    def _entropy(self, content: dict[str, Any]) -> npt.NDArray[np.float32]:
        if ("entropy" in content) == ("posterior" in content):
            raise MalformedReport("there must be either entropy or posterior")
        if "entropy" in content:
            entropy = _numbers(content["entropy"], "entropy", self._channels)
            return entropy.astype(np.float32)
        rows = content["posterior"]
        if not isinstance(rows, list) or len(rows) != self._channels:
            raise MalformedReport(f"posterior must be a list of {self._channels} rows")
        table = np.stack([_numbers(row, "posterior", self._schemes) for row in rows])
        if (np.abs(table.sum(axis=1) - 1.0) > POSTERIOR_TOLERANCE).any():
            raise MalformedReport("every row of posterior must add up to 1")
        return normalised_entropy(table)

    def read_json(self, text: bytes) -> Report:
        """A report from one line of JSON."""
        try:
            content = self._json.decode(text.decode())
        except MalformedReport:
            raise
        except (ValueError, RecursionError) as error:
            raise MalformedReport(f"not JSON: {error}") from None
        return self.read(content)

    def read_msgpack(self, data: bytes) -> Report:
        """A report from one msgpack map."""
        import msgpack

        try:
            content = msgpack.unpackb(
                data, raw=False, strict_map_key=True, object_pairs_hook=_without_repetition
            )
        except MalformedReport:
            raise
        except (ValueError, RecursionError, msgpack.exceptions.UnpackException) as error:
            raise MalformedReport(f"not msgpack: {error}") from None
        return self.read(content)


def plain_report(report: Report) -> dict[str, Any]:
    """A report as plain values, which ``ReportFormat.read`` reads back bit by bit."""
    return {
        "version": VERSION,
        "slot": report.slot,
        "time": report.time,
        "occupancy": report.occupancy.tolist(),
        "entropy": report.entropy.tolist(),
        "queue_class": report.queue_class.tolist(),
        "queue_delay": report.queue_delay.tolist(),
        "restart": report.restart,
    }


def _without_repetition(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A map; a key that stands in it twice would otherwise mean whatever came last."""
    content = dict(pairs)
    if len(content) != len(pairs):
        raise MalformedReport("a key stands in it more than once")
    return content


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _integer(content: dict[str, Any], key: str, least: int, most: int) -> int:
    value = content.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise MalformedReport(f"{key} must be a whole number from {least} to {most}")
    return value


def _integers(
    content: dict[str, Any], key: str, length: int, least: int, most: int
) -> npt.NDArray[np.int64]:
    values = content.get(key)
    if not isinstance(values, list) or len(values) != length:
        raise MalformedReport(f"{key} must be a list of {length} whole numbers")
    if not all(type(value) is int and least <= value <= most for value in values):
        raise MalformedReport(f"{key} must hold whole numbers from {least} to {most}")
    return np.array(values, dtype=np.int64)


def _numbers(values: Any, key: str, length: int) -> npt.NDArray[np.float64]:
    if not isinstance(values, list) or len(values) != length:
        raise MalformedReport(f"{key} must be a list of {length} numbers")
    if not all(type(value) in {int, float} and 0.0 <= value <= 1.0 for value in values):
        raise MalformedReport(f"{key} must hold numbers from 0 to 1")
    return np.array(values, dtype=np.float64)
