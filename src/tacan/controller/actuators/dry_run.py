"""The dry run: the rules are described, nothing is sent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping

from tacan.controller.messages import Applied, Plan, Rule
from tacan.controller.ports import Clock

PRIORITY = 100
LEASE_SECONDS = 2
COOKIE = 0


class DryRun:
    """An Actuator that hands each changed rule's description to ``show``, as one JSON line."""

    def __init__(self, clock: Clock, show: Callable[[str], None] | None) -> None:
        self._clock = clock
        self._show = show
        self._rules: dict[int, Rule] = {}
        self._counts: Counter[str] = Counter()

    async def start(self) -> None:
        """Nothing to open."""

    async def apply(self, plan: Plan) -> Applied:
        """Describe what is new, and name what is withdrawn."""
        wanted = {rule.user: rule for rule in plan.rules}
        changed = [rule for user, rule in wanted.items() if self._rules.get(user) != rule]
        gone = [rule for user, rule in self._rules.items() if user not in wanted]
        if self._show is not None:
            for rule in changed:
                description = rule.describe(PRIORITY, LEASE_SECONDS, COOKIE)
                self._show(json.dumps({"slot": plan.slot, "add": description}))
            for rule in gone:
                self._show(
                    json.dumps({"slot": plan.slot, "delete": {"match": {"in_port": rule.in_port}}})
                )
        self._rules = wanted
        self._counts["rules"] += len(changed)
        now = self._clock.monotonic_ns()
        return Applied(len(changed) + len(gone), 0, 0, 0, now)

    def down(self) -> frozenset[int]:
        """None ever is."""
        return frozenset()

    def healthy(self) -> bool:
        """Always."""
        return True

    def counts(self) -> Mapping[str, int]:
        """Rules described."""
        return self._counts

    async def stop(self) -> None:
        """Nothing to close."""
