"""How much longer than the fastest report one travelled, by two clocks that need not agree.

On arrival the sender's clock is behind ours by the delay of the report and by an unknown offset.
The smallest such lag of a connection stands for a report that did not have to wait: whatever is
above it is age. It may rise by ``DRIFT``, so that a sender's slow clock is followed.

One connection delivers in the order of sending, so no delay makes its times run backwards: if they
do, by more than half of what may be late, the sender's clock was set back and is learned anew. A
clock that is set forward lowers the smallest lag by itself. What no clock can tell apart is a
sender that slept and a path that was blocked: the reports after it count as old.
"""

from __future__ import annotations

from tacan.controller.messages import Report

DRIFT = 1e-3
"""Seconds a second; crystals are good to 1e-4, and a clock is slewed by 5e-4 at most."""


class Age:
    """The ages of one connection's reports; ``limit`` seconds are the most that is not stale."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._known = False
        self._least = self._then = self._newest = 0.0

    def of(self, report: Report, arrived: float) -> float:
        """Its age on arrival, in seconds."""
        lag = arrived - report.time
        least = min(lag, self._least + DRIFT * (arrived - self._then))
        set_back = lag - least > self._limit and report.time < self._newest - self._limit / 2
        if not self._known or report.restart or set_back:
            self._known, least, self._newest = True, lag, report.time
        self._least, self._then = least, arrived
        self._newest = max(self._newest, report.time)
        return lag - least
