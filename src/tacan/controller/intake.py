"""Reports in, whole slots out: what happens to reports that are late, missing or at odds.

The rules, in the order in which a report meets them (docs/sensor-protocol.md repeats them):

1. *late*: its slot has been decided upon -> dropped. After silence nothing is late: the history
   restarts.
2. *implausible*: its slot lies more than ``MAX_JUMP`` ahead and it does not say ``restart`` ->
   dropped. After silence it is taken, and history restarts.
3. *duplicate*: the same slot said again, alike -> dropped.
4. *contradictory*: the same slot said again, differently, before it was decided upon -> a channel
   counts as busy if any of them says so, the higher entropy stands, the first one's queues stand.
5. *out of order*: put in order, if it comes before its slot is decided upon.
6. *missing*: a gap of up to H slots is filled with the spectrum of the slot before it; a longer gap
   makes the history worthless: it restarts.

How old a report is, is no matter here: only a live sensor can tell, and drops it by itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from tacan.controller.messages import Report

MAX_JUMP = 10_000
MAX_WAITING = 1_024


class Intake:
    """Sorts reports into an unbroken sequence of slots; counts what it had to put right."""

    def __init__(self, history: int) -> None:
        self._history = history
        self._waiting: dict[int, Report] = {}
        self._decided: int | None = None
        self._newest: Report | None = None
        self._silent = False
        self.counts: Counter[str] = Counter()

    def silence(self) -> None:
        """The loop gave up waiting: whatever comes next begins a new history."""
        self._silent = True

    def offer(self, report: Report) -> None:
        """One more report."""
        if self._decided is not None and not self._plausible(report, self._decided):
            return
        if report.restart or (self._silent and not self._waiting):
            self.counts["restarts"] += 1
            self._waiting = {  # what another sender says of the same slot is no history
                slot: replace(known, restart=True)
                for slot, known in self._waiting.items()
                if slot == report.slot
            }
            self._decided = report.slot - 1
            report = replace(report, restart=True)
        self._silent = False
        known = self._waiting.get(report.slot)
        if known is not None:
            self._again(known, report)
            return
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.pop(min(self._waiting))
            self.counts["overflow"] += 1
        if self._waiting and report.slot < max(self._waiting):
            self.counts["out_of_order"] += 1
        self._waiting[report.slot] = report

    def _plausible(self, report: Report, decided: int) -> bool:
        if report.restart or self._silent:
            return True
        if report.slot <= decided:
            self.counts["late"] += 1
            return False
        if report.slot > decided + MAX_JUMP:
            self.counts["implausible"] += 1
            return False
        return True

    def _again(self, known: Report, report: Report) -> None:
        if known.says_the_same(report):
            self.counts["duplicate"] += 1
            return
        self.counts["contradictory"] += 1
        self._waiting[report.slot] = replace(
            known,
            occupancy=np.maximum(known.occupancy, report.occupancy),
            entropy=np.maximum(known.entropy, report.entropy),
        )

    def take(self) -> list[Report]:
        """All slots up to the newest report, in order and without gaps."""
        slots: list[Report] = []
        for slot in sorted(self._waiting):
            report = self._waiting[slot]
            before = self._newest
            if before is not None and not report.restart:
                gap = slot - before.slot - 1
                if gap > self._history:
                    self.counts["restarts"] += 1
                    report = replace(report, restart=True)
                elif gap:
                    self.counts["missing"] += gap
                    slots += [
                        replace(before, slot=before.slot + 1 + n, restart=False) for n in range(gap)
                    ]
            slots.append(report)
            self._newest = report
            self._decided = slot
        self._waiting.clear()
        return slots
