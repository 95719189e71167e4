"""One thread that asks a policy, so that nothing a policy does can end or stall the controller.

What a policy returns becomes an array of our own here, and what it raises becomes a sentence here:
the loop never meets an object that a policy made, nor one that a policy could have changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tacan.errors import described
from tacan.observation import Observation
from tacan.policies.policy import Policy, Scores
from tacan.simulator.streams import EpisodeKeys

PolicyFactory = Callable[[], Policy]

REAL_KINDS = "fiub"
"""numpy's letters for what can be scores: floating, integers of both signs, boolean"""


class PolicyFailure(Exception):  # noqa: N818 - as the log says: the policy failed
    """In one sentence, what a policy raised or why its scores are none."""


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Slots to be scored in order; only the newest scores come back."""

    observations: Sequence[Observation]
    restart: bool
    answer: asyncio.Future[Scores]


class PolicyWorker:
    """Owns a policy and the thread that alone may touch it.

    A thread cannot be killed. One that never comes back is left alone (it is a daemon, and ends
    with the process), and another worker with a new policy takes its place.
    """

    def __init__(self, factory: PolicyFactory, keys: EpisodeKeys, policy: Policy | None) -> None:
        self._factory = factory
        self._keys = keys
        self._policy = policy
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._busy_since: float | None = None
        self._thread = threading.Thread(target=self._work, name="tacan-policy", daemon=True)
        self._thread.start()

    def busy_for(self) -> float:
        """Seconds since it was given what it has not finished; 0 when it is free."""
        since = self._busy_since
        return 0.0 if since is None else time.monotonic() - since

    def ask(self, observations: Sequence[Observation], *, restart: bool) -> asyncio.Future[Scores]:
        """Hand over a job; only when it is free."""
        self._busy_since = time.monotonic()
        answer: asyncio.Future[Scores] = asyncio.get_running_loop().create_future()
        self._jobs.put(Job(observations, restart, answer))
        return answer

    def leave(self) -> None:
        """Let the thread end when it gets to it."""
        self._jobs.put(None)

    def join(self, patience: float) -> bool:
        """Wait for its end; whether it came."""
        self._thread.join(patience)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            scores: Scores | None = None
            failure: PolicyFailure | None = None
            try:
                scores = _own_floats(self._score(job))
            except BaseException as error:  # noqa: BLE001 - even sys.exit() of a policy ends nothing
                failure = PolicyFailure(described(error))
            self._busy_since = None
            _deliver(job.answer, scores, failure)

    def _score(self, job: Job) -> object:
        fresh = self._policy is None
        if self._policy is None:
            self._policy = self._factory()
        if job.restart or fresh:
            self._policy.start(self._keys)
        scores: object = None
        for observation in job.observations:
            scores = self._policy.score(_copied(observation))
        return scores


def _copied(observation: Observation) -> Observation:
    """One for the policy alone: Greedy and the choice of channels read the other."""
    return Observation(
        occupancy=observation.occupancy.copy(),
        entropy=observation.entropy.copy(),
        queue_class=observation.queue_class.copy(),
        queue_delay=observation.queue_delay.copy(),
        slot=observation.slot,
    )


def _own_floats(scores: object) -> Scores:
    """The scores as a contiguous array of 64-bit floats, for which everything is compiled.

    A copy, so that a policy that writes into its answer later does not change a decision.
    """
    if scores is None:
        raise TypeError("the policy returned None, not scores")
    kind = np.asarray(scores).dtype
    if kind.kind not in REAL_KINDS:
        raise TypeError(f"scores of type {kind}, not real numbers")
    return np.array(scores, dtype=np.float64, order="C")


def _deliver(
    answer: asyncio.Future[Scores], scores: Scores | None, failure: PolicyFailure | None
) -> None:
    def settle() -> None:
        if answer.done():
            return
        if failure is not None:
            answer.set_exception(failure)
        elif scores is not None:
            answer.set_result(scores)

    with contextlib.suppress(RuntimeError):  # the loop has been closed: nobody waits any more
        answer.get_loop().call_soon_threadsafe(settle)
