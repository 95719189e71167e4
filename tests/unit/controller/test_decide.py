"""The policy in time, or Greedy."""

import asyncio
import threading
from collections.abc import Callable

import numpy as np
import pytest

from controller_fakes import TINY, ScriptedPolicy, make_decider, prefers
from tacan.controller.decide import Decider, Limits, Verdict
from tacan.controller.messages import Source
from tacan.errors import UserError
from tacan.observation import Observation, blank_observation
from tacan.policies.policy import Scores


def observed(slot: int = 0) -> Observation:
    """Channel 0 was always busy: Greedy ranks it last."""
    observation = blank_observation(TINY)
    observation.occupancy[:, :, 0] = 1
    observation.slot = slot
    return observation


def ask(decider: Decider, slot: int = 0, *, restart: bool = False) -> Verdict:
    return asyncio.run(decider.decide([observed(slot)], restart=restart, usable=4))


def started(answer: Callable[[Observation], Scores], limits: Limits | None = None) -> Decider:
    decider = make_decider(lambda: ScriptedPolicy(answer), limits)
    decider.start()
    return decider


def test_a_policy_in_time_decides() -> None:
    """Its scores come back unchanged."""
    decider = started(lambda _: prefers(3))
    verdict = ask(decider)
    assert verdict.source is Source.POLICY
    assert verdict.scores.argmax() == 3
    assert decider.stop(1.0)


def test_a_failing_policy_is_replaced_by_greedy_and_named() -> None:
    """The exception's text is in the detail; Greedy's scores rank the busy channel last."""
    failing = threading.Event()

    def answer(_: Observation) -> Scores:
        if failing.is_set():
            raise RuntimeError("broken weights")
        return prefers(0)

    decider = started(answer)
    failing.set()
    verdict = ask(decider)
    assert (verdict.source, verdict.detail) == (Source.FAILED, "RuntimeError: broken weights")
    assert verdict.scores.argmin() == 0
    assert decider.stop(1.0)


@pytest.mark.parametrize(
    ("scores", "source"),
    [
        (np.full((1, 1, 4), np.nan), Source.NOT_A_NUMBER),
        (np.array([[[np.inf, 0.0, 0.0, 0.0]]]), Source.NOT_A_NUMBER),
        (np.zeros((1, 4)), Source.FAILED),
        (np.array([[[0.0, -np.inf, -np.inf, -np.inf]]]), Source.UNUSABLE),
        (None, Source.FAILED),
        (np.zeros((1, 1, 4), dtype=np.complex128), Source.FAILED),
        (np.full((1, 1, 4), None, dtype=object), Source.FAILED),
        (np.full((1, 1, 4), "x"), Source.FAILED),
        (np.zeros((1, 1, 4), dtype="datetime64[s]"), Source.FAILED),
        ("nonsense", Source.FAILED),
    ],
)
def test_scores_that_cannot_be_used_are_not_used(scores: Scores, source: Source) -> None:
    """NaN, infinity, a wrong shape or type, too few channels, nothing at all: Greedy decides."""
    decider = started(lambda _: scores)
    verdict = ask(decider)
    assert verdict.source is source
    assert verdict.scores.shape == (1, 1, 4)
    assert decider.stop(1.0)


@pytest.mark.parametrize(
    "scores",
    [
        np.array([[[0, 0, 0, 7]]], dtype=np.float16),
        np.array([[[0, 0, 0, 7]]], dtype=">f4"),
        np.array([[[0, 0, 0, 7]]], dtype=np.longdouble),
        np.array([[[0, 0, 0, 7]]], dtype=np.int64),
        np.array([[[False, False, False, True]]]),
        np.array([[[0.0, 9.0, 0.0, 9.0, 0.0, 9.0, 7.0, 9.0]]])[:, :, ::2],
        np.broadcast_to(np.array([0.0, 0.0, 0.0, 7.0]), (1, 1, 4)),
    ],
    ids=["half", "big-endian", "long", "whole", "boolean", "strided", "read-only"],
)
def test_scores_of_any_real_type_arrive_as_the_one_that_is_compiled(scores: Scores) -> None:
    """Half precision, whole numbers, strided or read-only: nothing is compiled in the loop."""
    decider = started(lambda _: scores)
    verdict = ask(decider)
    assert verdict.source is Source.POLICY
    assert verdict.scores.dtype == np.float64
    assert verdict.scores.flags.c_contiguous
    assert verdict.scores.flags.writeable
    assert verdict.scores.argmax() == 3
    assert decider.stop(1.0)


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text either")


@pytest.mark.parametrize(
    ("raised", "detail"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt:"),
        (asyncio.CancelledError(), "CancelledError:"),
        (StopIteration(7), "StopIteration: 7"),
        (UnspeakableError(), "UnspeakableError"),
        (ValueError("two\nlines"), "ValueError: two lines"),
        (ValueError("x" * 10_000), f"ValueError: {'x' * 288} .."),
    ],
)
def test_nothing_that_a_policy_raises_ends_anything(raised: BaseException, detail: str) -> None:
    """Exits, interrupts and errors without a text: Greedy decides, and the next slot is asked."""
    fails = threading.Event()

    def answer(_: Observation) -> Scores:
        if fails.is_set():
            raise raised
        return prefers(3)

    decider = started(answer)
    fails.set()
    verdict = ask(decider)
    assert (verdict.source, verdict.detail) == (Source.FAILED, detail)
    fails.clear()
    assert ask(decider).source is Source.POLICY
    assert decider.stop(1.0)


def test_a_policy_that_writes_into_its_observation_changes_nobody_elses() -> None:
    """Greedy and the choice of channels see what was sensed, whatever the policy did to its own."""
    fails = threading.Event()

    def answer(observation: Observation) -> Scores:
        observation.occupancy[:] = 1 - observation.occupancy
        observation.queue_class = np.zeros(0, dtype=np.int8)
        if fails.is_set():
            raise ValueError("after all that")
        return prefers(3)

    decider = started(answer)
    fails.set()
    verdict = ask(decider)
    assert (verdict.source, verdict.detail) == (Source.FAILED, "ValueError: after all that")
    assert verdict.scores.argmin() == 0  # the channel that was busy
    assert decider.stop(1.0)


@pytest.mark.parametrize("where", ["start", "score"])
def test_a_policy_that_fails_from_the_start_is_refused(where: str) -> None:
    """In one sentence that names it, even if it calls sys.exit()."""

    def leave(*_: object) -> None:
        raise SystemExit

    policy = ScriptedPolicy(lambda _: prefers(3))
    setattr(policy, where, leave)
    decider = make_decider(lambda: policy)
    with pytest.raises(UserError, match=r"'scripted' fails on .* an idle spectrum: SystemExit"):
        decider.start()


def test_a_stalling_policy_is_late_then_busy_then_replaced() -> None:
    """Late at its deadline, busy as long as it may come back, then a new policy takes over."""
    stalls, release = threading.Event(), threading.Event()

    def answer(_: Observation) -> Scores:
        if stalls.is_set():
            release.wait()
        return prefers(3)

    decider = started(answer, Limits(deadline=0.02, abandon=0.1, replacements=1))
    stalls.set()
    assert ask(decider).source is Source.LATE
    assert ask(decider).source is Source.BUSY
    stalls.clear()
    threading.Event().wait(0.1)
    decider._limits = Limits(deadline=5.0, abandon=0.05, replacements=1)
    assert ask(decider).source is Source.POLICY
    assert decider.counts["abandoned"] == 1
    release.set()
    assert decider.stop(1.0)


def test_a_policy_that_always_stalls_is_given_up() -> None:
    """After the allowed replacements Greedy stays, and no more threads are made."""
    stalls, release = threading.Event(), threading.Event()

    def answer(_: Observation) -> Scores:
        if stalls.is_set():
            release.wait()
        return prefers(3)

    before = set(threading.enumerate())
    decider = started(answer, Limits(deadline=0.01, abandon=0.011, replacements=1))
    stalls.set()
    sources = []
    for _ in range(6):
        sources.append(ask(decider).source)
        threading.Event().wait(0.02)
    assert sources[-1] is Source.GONE
    assert len(set(threading.enumerate()) - before) == 2
    release.set()
    decider.stop(1.0)


def test_slots_missed_while_late_are_made_up_for() -> None:
    """The policy's memory sees every slot once, in order, though slot 1 was decided without it."""
    stalls, release = threading.Event(), threading.Event()
    made: list[ScriptedPolicy] = []

    def answer(_: Observation) -> Scores:
        if stalls.is_set():
            release.wait()
        return prefers(3)

    def factory() -> ScriptedPolicy:
        made.append(ScriptedPolicy(answer))
        return made[-1]

    decider = make_decider(factory, Limits(deadline=0.05, abandon=60.0, replacements=1))
    decider.start()
    stalls.set()
    assert ask(decider, 0, restart=True).source is Source.LATE
    assert ask(decider, 1).source is Source.BUSY
    stalls.clear()
    release.set()
    threading.Event().wait(0.05)
    decider._limits = Limits(deadline=5.0, abandon=60.0, replacements=1)
    assert ask(decider, 2).source is Source.POLICY
    assert made[0].slots == [0, 1, 2]
    assert decider.stop(1.0)
