"""The decision: the policy's scores in time, or Greedy's.

Greedy needs nothing but the observation at hand, so it can step in at any slot. What the policy
missed while it was late is kept for it: its memory sees every slot once, in order.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacan.controller.messages import Source
from tacan.controller.worker import PolicyFactory, PolicyWorker
from tacan.errors import UserError
from tacan.observation import Observation, blank_observation
from tacan.policies.policy import Policy, Scores
from tacan.scenario import Scenario
from tacan.simulator.streams import EpisodeKeys

MOST_UNSEEN = 256
"""Slots kept for a policy that is late; beyond that its memory begins anew."""

SWITCH_INTERVAL = 1e-4
"""Seconds after which Python takes turns between the policy's thread and the loop (usual: 5 ms)"""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a policy may take."""

    deadline: float
    """seconds for one decision, then Greedy decides"""
    abandon: float
    """seconds until a policy that does not come back is replaced by a new one"""
    replacements: int
    """how many times; then Greedy stays"""


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """Scores, whose they are, and what was wrong with the policy if not its own."""

    scores: Scores
    source: Source
    detail: str = ""


class Decider:
    """Asks the policy within its deadline; falls back to Greedy for the slot, and says so."""

    def __init__(
        self,
        scenario: Scenario,
        factory: PolicyFactory,
        fallback: Policy,
        keys: EpisodeKeys,
        limits: Limits,
    ) -> None:
        self._scenario = scenario
        self._factory = factory
        self._fallback = fallback
        self._keys = keys
        self._limits = limits
        self._worker: PolicyWorker | None = None
        self._unseen: list[Observation] = []
        self._restart = True
        self.counts: Counter[str] = Counter()

    def start(self) -> None:
        """Build the first policy here, so that its faults are named before anything runs."""
        policy = self._factory()
        for asked in (policy, self._fallback):  # compilation must not cost the first decision
            _try(asked, self._keys, blank_observation(self._scenario))
        self._worker = PolicyWorker(self._factory, self._keys, policy)
        self._fallback.start(self._keys)
        self._switch_interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)

    def stop(self, patience: float) -> bool:
        """Let the worker end; whether it did within ``patience`` seconds."""
        if self._worker is None:
            return True
        sys.setswitchinterval(self._switch_interval)
        self._worker.leave()
        ended = self._worker.join(patience)
        self._worker = None
        return ended

    async def decide(
        self, observations: Sequence[Observation], *, restart: bool, usable: int
    ) -> Verdict:
        """Scores for the newest observation; ``usable`` channels must be scored at least."""
        if restart:
            self._unseen.clear()
            self._restart = True
        self._unseen += observations
        if len(self._unseen) > MOST_UNSEEN:
            self.counts["forgotten"] += len(self._unseen) - 1
            del self._unseen[:-1]
            self._restart = True
        newest = observations[-1]
        worker = self._free_worker()
        if worker is None:
            gone = self.counts["abandoned"] > self._limits.replacements
            return self._greedy(newest, Source.GONE if gone else Source.BUSY, "")
        answer = worker.ask(tuple(self._unseen), restart=self._restart)
        self._unseen.clear()
        self._restart = False
        done, _ = await asyncio.wait((answer,), timeout=self._limits.deadline)
        if not done:
            answer.cancel()
            return self._greedy(newest, Source.LATE, f"no scores in {self._limits.deadline:g} s")
        failure = answer.exception()
        if failure is not None:
            return self._greedy(newest, Source.FAILED, str(failure))
        return self._checked(answer.result(), newest, usable)

    def _free_worker(self) -> PolicyWorker | None:
        worker = self._worker
        if worker is None or self.counts["abandoned"] > self._limits.replacements:
            return None
        busy = worker.busy_for()
        if busy == 0.0:
            return worker
        if busy < self._limits.abandon:
            return None
        worker.leave()
        self.counts["abandoned"] += 1
        if self.counts["abandoned"] > self._limits.replacements:
            return None
        self._worker = PolicyWorker(self._factory, self._keys, None)
        self._restart = True
        del self._unseen[:-1]
        return self._worker

    def _checked(self, scores: Scores, newest: Observation, usable: int) -> Verdict:
        rows, users = newest.queue_class.shape
        channels = newest.occupancy.shape[2]
        if scores.shape not in {(rows, 1, channels), (rows, users, channels)}:
            return self._greedy(newest, Source.FAILED, f"scores of shape {scores.shape}")
        if np.isnan(scores).any() or (scores == np.inf).any():
            return self._greedy(newest, Source.NOT_A_NUMBER, "")
        scored = int(np.isfinite(scores).all(axis=1).sum())
        if scored < min(users, usable):
            return self._greedy(newest, Source.UNUSABLE, f"{scored} channels scored")
        return Verdict(scores, Source.POLICY)

    def _greedy(self, newest: Observation, source: Source, detail: str) -> Verdict:
        return Verdict(self._fallback.score(newest), source, detail)


def _try(policy: Policy, keys: EpisodeKeys, blank: Observation) -> None:
    try:
        policy.start(keys)
        policy.score(blank)
    except UserError:
        raise
    except (Exception, SystemExit) as error:  # sys.exit() would end us without a word
        raise UserError(
            f"policy {policy.name!r} fails on the observation of an idle spectrum: {error!r}"
        ) from error
