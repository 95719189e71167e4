"""Replays are matched, complete, and independent of how they are batched."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from tacan.errors import UserError
from tacan.evaluation import protocol as protocols
from tacan.evaluation.perturbations import SINGLE_FRAME, ZERO_ENTROPY, uniform_mixing
from tacan.evaluation.protocol import Protocol, evaluation_seeds, load_names, service_orders
from tacan.evaluation.replay import Contender, Replay, chunk_rows, replay, slots_to_play
from tacan.evaluation.results import Result
from tacan.observation import Observation
from tacan.policies.assignment import ServiceOrder
from tacan.policies.policy import Scores
from tacan.scenario import load_scenario
from tacan.simulator.simulator import Privilege, Secrets
from tacan.simulator.streams import Domain, EpisodeKeys

TINY = load_scenario("tiny")
FIXED = ServiceOrder.FIXED
TWO_ROWS = 4000
"""Bytes that two episodes of TINY fit into, and three do not."""


class Witness:
    """Prefers channel 0, then 1, ..., and keeps what it was shown."""

    name = "witness"

    def __init__(self, privilege: Privilege = Privilege.NONE) -> None:
        self.privilege = privilege
        self.keys: list[EpisodeKeys] = []
        self.seen: list[Observation] = []
        self.secrets: list[Secrets | None] = []

    def start(self, keys: EpisodeKeys) -> None:
        self.keys.append(keys)

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        self.seen.append(observation)
        self.secrets.append(secrets)
        rows, _, channels = observation.occupancy.shape
        return np.broadcast_to(-np.arange(channels, dtype=float), (rows, 1, channels))


def contender(policy: Witness, plan: Protocol) -> Contender:
    return Contender("witness", FIXED, dict.fromkeys(plan.seeds, policy))


def named(reference: str, plan: Protocol, order: ServiceOrder = FIXED) -> Contender:
    return Contender.build(reference, order, TINY, plan.seeds)


def books(found: Replay) -> list[object]:
    """Everything a ledger holds, as plain numbers."""
    ledger = found.ledger
    return [
        getattr(ledger, name).tolist()
        for name in ("slots", "successes", "arrived", "censored", "delay_sum", "reward", "delays")
    ]


def test_seeds_are_the_papers_and_then_count_on() -> None:
    """42, 123, 7, 2024, 314 of the paper; the sixth and later are the same in every run."""
    assert evaluation_seeds(3) == (42, 123, 7)
    assert evaluation_seeds(5) == (42, 123, 7, 2024, 314)
    assert evaluation_seeds(7) == (42, 123, 7, 2024, 314, 10001, 10002)
    assert len(set(evaluation_seeds(10_000))) == 10_000


def test_steps_are_whole_episodes_and_a_cut_one() -> None:
    """50 slots are two episodes of 20 slots and 10 slots of a third, for each seed."""
    plan = Protocol((42, 7), 50)
    assert plan.lengths(TINY).tolist() == [20, 20, 10, 20, 20, 10]
    assert plan.keys(TINY).seeds.tolist() == [42, 42, 42, 7, 7, 7]
    assert plan.keys(TINY).episodes.tolist() == [0, 1, 2, 0, 1, 2]
    assert plan.keys(TINY).domain is Domain.EVALUATION
    assert Protocol((1,), 40).lengths(TINY).tolist() == [20, 20]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: evaluation_seeds(0), "seeds = 0: must lie between 1 and 10000"),
        (lambda: Protocol((1, 1), 10), r"seeds = \[1, 1\]: must be different"),
        (lambda: Protocol((), 10), r"seeds = \[\]: must be different"),
        (lambda: Protocol((1,), 0), "steps = 0: must lie between 1 and"),
        (lambda: service_orders("random"), "order 'random' is not known: choose all or one of"),
        (lambda: load_names(TINY, "low"), "load 'low' is not in scenario 'tiny'"),
    ],
)
def test_an_impossible_protocol_is_refused(make: object, sentence: str) -> None:
    """One sentence, before anything is drawn."""
    with pytest.raises(UserError, match=sentence):
        make()


def test_all_means_mixed_and_every_regime() -> None:
    """Mixed load first, then the scenario's own regimes."""
    assert load_names(TINY, "all") == ("mixed", "normal", "high", "extreme")
    assert load_names(TINY, "high") == ("high",)
    assert protocols.fixed_load(TINY, "mixed") is None
    assert protocols.fixed_load(TINY, "high") == 1


def test_policies_meet_the_same_trajectories() -> None:
    """Two policies and an order later, the occupancy that a witness sees is the same bits."""
    plan = Protocol((42, 7), 60)
    first, second = Witness(), Witness()
    replay([contender(first, plan), named("random", plan)], TINY, plan, "mixed")
    replay([named("greedy", plan), contender(second, plan)], TINY, plan, "mixed")
    for one, other in zip(first.seen, second.seen, strict=True):
        assert (one.occupancy == other.occupancy).all()
        assert (one.entropy == other.entropy).all()


@pytest.mark.parametrize("policy", ["random", "greedy-memory", "oracle-state"])
def test_results_do_not_depend_on_chunks_or_threads(policy: str) -> None:
    """Six rows in one batch, one by one, or on two threads: every number is the same."""
    plan = Protocol((42, 7), 50)
    whole = replay([named(policy, plan)], TINY, plan, "mixed")
    single = replay([named(policy, plan)], TINY, plan, "mixed", memory_bound=1)
    both = [named(policy, plan), named(policy, plan, ServiceOrder.QUEUED_FIRST)]
    threaded = replay(both, TINY, plan, "mixed", threads=2, memory_bound=TWO_ROWS)
    assert books(single[0]) == books(whole[0])
    assert books(threaded[0]) == books(whole[0])


def test_a_seed_gives_the_same_alone_and_in_company() -> None:
    """Adding seeds never changes the ones that were there."""
    plan, alone = Protocol((42, 7), 50), Protocol((7,), 50)
    (both,) = replay([named("random", plan)], TINY, plan, "high")
    (one,) = replay([named("random", alone)], TINY, alone, "high")
    assert Result.of(both).seeds[1] == Result.of(one).seeds[0]


def test_a_cut_episode_is_the_beginning_of_the_whole_one() -> None:
    """Rewards and deliveries of 30 slots are those of 20 and of the 10 after; the rest waits."""
    long, short = Protocol((42,), 40), Protocol((42,), 30)
    (cut,) = replay([named("greedy", short)], TINY, short, "mixed")
    (whole,) = replay([named("greedy", long)], TINY, long, "mixed")
    assert cut.ledger.slots.sum(axis=(1, 2)).tolist() == [40, 20]
    assert (cut.ledger.slots[0] == whole.ledger.slots[0]).all()
    assert (cut.ledger.successes[1] <= whole.ledger.successes[1]).all()
    assert cut.ledger.successes[1].sum() < whole.ledger.successes[1].sum()


def test_a_short_run_plays_no_slot_too_many() -> None:
    """Steps below an episode's length: the policy is asked once for each of them."""
    plan = Protocol((42, 7), 5)
    witness = Witness()
    replay([contender(witness, plan)], TINY, plan, "mixed")
    assert len(witness.seen) == 5


def test_seeded_policies_play_their_own_seeds() -> None:
    """Another policy for every seed gets the rows of that seed, in each chunk, and no others."""
    plan = Protocol((42, 7), 60)
    policies = {42: Witness(), 7: Witness()}
    own = Contender("own", FIXED, policies)
    (found,) = replay([own], TINY, plan, "mixed", threads=2, memory_bound=TWO_ROWS)
    # batches of two rows: 42 42, 42 7, 7 7
    assert [keys.seeds.tolist() for keys in policies[42].keys] == [[42, 42], [42]]
    assert [keys.seeds.tolist() for keys in policies[7].keys] == [[7], [7, 7]]
    same = replay([contender(Witness(), plan)], TINY, plan, "mixed")[0]
    assert books(found) == books(same)


def test_a_fixed_load_is_the_same_in_every_episode() -> None:
    """The load that an oracle is told is the regime's own; mixed load has several."""
    plan = Protocol((42,), 20 * 40)
    for load, expected in (("extreme", {2.5}), ("mixed", {1.0, 1.5, 2.5})):
        oracle = Witness(Privilege.PLACEMENT)
        replay([contender(oracle, plan)], TINY, plan, load)
        assert oracle.secrets[0] is not None
        assert oracle.secrets[0].load is not None
        assert set(oracle.secrets[0].load.tolist()) == expected


def test_only_privileged_policies_are_told_secrets() -> None:
    """Beside an oracle that sees devices, a policy without privilege is still told nothing."""
    plan = Protocol((42,), 20)
    plain, oracle = Witness(), Witness(Privilege.STATE)
    replay([contender(plain, plan), contender(oracle, plan)], TINY, plan, "mixed")
    assert plain.secrets == [None] * 20
    assert all(secrets is not None for secrets in oracle.secrets)
    assert oracle.secrets[3].remaining is not None
    assert oracle.secrets[3].next_occupancy is None


def test_a_perturbation_reaches_the_policy_and_not_the_world() -> None:
    """The witness ignores what it sees, so that its books are the same under any perturbation."""
    plan = Protocol((42,), 40)
    plain = replay([contender(Witness(), plan)], TINY, plan, "mixed")[0]
    for perturbation in (ZERO_ENTROPY, SINGLE_FRAME, uniform_mixing(1.0)):
        witness = Witness()
        (found,) = replay(
            [contender(witness, plan)], TINY, plan, "mixed", perturbation=perturbation
        )
        assert books(found) == books(plain)
        assert found.perturbation == perturbation.name
    assert witness.seen[5].entropy == pytest.approx(1.0, abs=1e-6)


def test_a_single_frame_takes_greedy_to_the_last_slot() -> None:
    """Greedy on one frame ranks as an H = 1 window does: idle channels first, lowest index."""
    plan = Protocol((42, 7), 400)
    short = TINY.changed({"history": 1})
    (perturbed,) = replay([named("greedy", plan)], TINY, plan, "mixed", perturbation=SINGLE_FRAME)
    (window,) = replay([Contender.build("greedy", FIXED, short, plan.seeds)], short, plan, "mixed")
    assert books(perturbed) == books(window)


def test_progress_adds_up_to_what_was_announced() -> None:
    """Cut episodes, chunks and two contenders: the bar ends at its end."""
    plan = Protocol((42, 7), 50)
    told: list[int] = []
    replay(
        [named("greedy", plan), named("random", plan)],
        TINY,
        plan,
        "mixed",
        progress=told.append,
        memory_bound=TWO_ROWS,
    )
    assert sum(told) == slots_to_play(2, plan) == 200


def test_a_failing_policy_stops_the_others() -> None:
    """Its error comes out at once, named; a policy on another thread is not asked to the end."""
    failed = threading.Event()

    class Failing(Witness):
        def start(self, keys: EpisodeKeys) -> None:
            super().start(keys)
            failed.set()
            raise ArithmeticError("the policy failed")

    class Slow(Witness):
        def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
            failed.wait(10.0)
            time.sleep(0.05)
            return super().score(observation, secrets)

    plan, slow = Protocol((42,), 20), Slow()
    with pytest.raises(UserError, match="'witness': start failed with ArithmeticError: the policy"):
        replay([contender(slow, plan), contender(Failing(), plan)], TINY, plan, "mixed", threads=2)
    assert len(slow.seen) < 20


def test_chunks_shrink_with_the_scenario_and_never_vanish() -> None:
    """The wide scenario's episodes take about five times the memory of the paper's."""
    paper, wide = load_scenario("paper"), load_scenario("wide")
    assert chunk_rows(paper, keep_devices=False, bound=2**28) > 1000
    ratio = chunk_rows(paper, keep_devices=False) / chunk_rows(wide, keep_devices=False)
    assert ratio == pytest.approx(5.0, rel=0.2)
    assert chunk_rows(wide, keep_devices=True) < chunk_rows(wide, keep_devices=False)
    assert chunk_rows(wide, keep_devices=True, bound=1) == 1
    assert chunk_rows(TINY, keep_devices=False, bound=TWO_ROWS) == 2
    assert chunk_rows(TINY, keep_devices=True, bound=TWO_ROWS) == 2


class Answering(Witness):
    """Answers whatever it was told to, whatever it is asked."""

    def __init__(self, change: Callable[[Scores], object]) -> None:
        super().__init__()
        self.change = change

    def score(self, observation: Observation, secrets: Secrets | None = None) -> Scores:
        return self.change(super().score(observation, secrets))  # type: ignore[return-value]


def nothing_usable(scores: Scores) -> Scores:
    return np.full(scores.shape, np.nan)


# TINY has 2 users and 4 channels; three rows are played
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda s: np.repeat(s, 3, axis=1), r"shape \(3, 3, 4\); it must be \(3, 1, 4\) if .*"),
        (lambda s: s[:1], r"shape \(1, 1, 4\); it must be .*, or \(3, 2, 4\)"),
        (lambda s: s[..., :2], r"shape \(3, 1, 2\); it must be"),
        (lambda s: np.concatenate([s, s], axis=2), r"shape \(3, 1, 8\); it must be"),
        (lambda s: s[:, 0], r"shape \(3, 4\); it must be"),
        (lambda s: s.astype(complex), r"complex128 of shape \(3, 1, 4\); it must be real numbers"),
        (lambda s: s.astype(str), r"<U\d+ of shape \(3, 1, 4\); it must be real numbers"),
        (lambda _: None, "score returned None; it must be real numbers"),
        (lambda _: [[1.0], [2.0, 3.0]], "score failed with ValueError: setting an array element"),
        (nothing_usable, "slot 0, row 0: fewer usable channels than users"),
        (lambda s: s[9], r"score failed with IndexError: .* \(test_replay.py, line \d+\)"),
    ],
)
def test_an_answer_that_is_no_scores_is_one_sentence(
    change: Callable[[Scores], object], sentence: str
) -> None:
    """It names the policy and what came and what would be right; it never becomes a result."""
    plan = Protocol((42,), 50)
    with pytest.raises(UserError, match=f"policy 'witness'[:,] .*{sentence}"):
        replay([contender(Answering(change), plan)], TINY, plan, "mixed")


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int64, np.bool_])
def test_scores_of_any_real_type_are_taken(kind: type) -> None:
    """Ranks as integers serve as well as logits, and a plain list of them too."""
    plan = Protocol((42,), 50)
    (whole,) = replay([contender(Witness(), plan)], TINY, plan, "mixed")
    for change in (lambda s: (s > -2).astype(kind), lambda s: (s > -2).astype(kind).tolist()):
        (found,) = replay([contender(Answering(change), plan)], TINY, plan, "mixed")
        assert books(found) == books(whole)


def test_a_privilege_that_is_none_is_refused() -> None:
    """Before anything is played: compared as it stands it would be told secrets, or fail."""
    with pytest.raises(
        UserError,
        match=r"policy 'fakes:privileged_in_words': its privilege is 'none'; it must be one of",
    ):
        Contender.build("fakes:privileged_in_words", FIXED, TINY, (42,))
