"""What every policy in the catalogue promises, yardstick, oracle or learned."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from fakes import draw_world, play
from tacan.errors import UserError
from tacan.evaluation.replay import select_rows
from tacan.policies.catalogue import build_policy, list_policies
from tacan.policies.policy import Policy
from tacan.scenario import Scenario, load_scenario
from tacan.simulator.simulator import Privilege, Simulator
from tacan.simulator.world import World

ROWS = 5
LEARNED = [info.name for info in list_policies() if info.seeded]
YARDSTICKS = [info.name for info in list_policies() if not info.seeded]
OTHERS = ["window-bayes:3", "fakes:first_channels"]
PRIVILEGED = [info.name for info in list_policies() if info.privilege > Privilege.NONE]
SCENARIOS = {
    "tiny": load_scenario("tiny"),
    "paper": load_scenario("paper").changed({"episode_slots": 30}),
    "wide": load_scenario("wide").changed({"episode_slots": 12}),
}
CASES = [(name, "tiny") for name in [*YARDSTICKS, *OTHERS]]
CASES += [(name, "paper") for name in [*YARDSTICKS, *OTHERS, *LEARNED]]
WIDE = [(name, "wide") for name in YARDSTICKS]


@cache
def world_of(scenario: str) -> World:
    return draw_world(SCENARIOS[scenario], ROWS)


@cache
def policy_of(reference: str, scenario: str) -> Policy:
    return build_policy(reference, SCENARIOS[scenario], 0)


def played(policy: Policy, world: World) -> tuple[np.ndarray, np.ndarray]:
    """All scores [T, B, 1 or U, K] and channels [T, B, U] of a world."""
    slots = list(play(policy, world))
    return np.array([slot.scores for slot in slots]), np.array([slot.channels for slot in slots])


def with_another_future(world: World, slot: int) -> World:
    """The same world up to the slot before; from this slot on everything is turned upside down."""
    row = world.scenario.history + slot
    occupancy, entropy = world.occupancy.copy(), world.entropy.copy()
    emitter, pick = world.emitter.copy(), world.pick.copy()
    occupancy[:, row:] = 1 - occupancy[:, row:]
    entropy[:, row:] = 1 - entropy[:, row:]
    emitter[:, row:] = 3 - emitter[:, row:]
    pick[:, row:] = 0
    arrivals, remaining = world.arrivals.copy(), world.remaining.copy()
    arrivals[:, slot:] = np.where(arrivals[:, slot:] < 0, 0, -1)
    remaining[:, slot:] = np.where(remaining[:, slot:] > 0, 0, 2)
    return replace(
        world,
        occupancy=occupancy,
        entropy=entropy,
        emitter=emitter,
        pick=pick,
        arrivals=arrivals,
        remaining=remaining,
    )


@pytest.mark.parametrize(("reference", "scenario"), [*CASES, *WIDE])
def test_scores_rank_all_channels_and_assignments_are_distinct(
    reference: str, scenario: str
) -> None:
    """[B, 1 or U, K], finite, and never a channel twice in a slot."""
    world = world_of(scenario)
    scores, channels = played(policy_of(reference, scenario), world)
    users, width = world.scenario.users, world.scenario.channels
    assert scores.shape[1] == ROWS
    assert scores.shape[2] in (1, users)
    assert scores.shape[3] == width
    assert np.issubdtype(scores.dtype, np.floating)
    assert np.isfinite(scores).all()
    assert (np.diff(np.sort(channels, axis=2), axis=2) > 0).all()
    assert channels.min() >= 0
    assert channels.max() < width


@pytest.mark.parametrize(("reference", "scenario"), CASES)
def test_a_policy_starts_anew(reference: str, scenario: str) -> None:
    """The same episodes give the same scores again, whatever was played between, by any object."""
    world = world_of(scenario)
    policy = policy_of(reference, scenario)
    first, _ = played(policy, world)
    played(policy, draw_world(world.scenario, 2, seed=99))
    again, _ = played(policy, world)
    assert (again == first).all()
    other, _ = played(build_policy(reference, world.scenario, 0), world)
    assert (other == first).all()


@pytest.mark.parametrize(("reference", "scenario"), CASES)
def test_an_episode_does_not_depend_on_its_batch(reference: str, scenario: str) -> None:
    """Alone, or as the fourth of five: the same assignments in every slot."""
    world = world_of(scenario)
    policy = policy_of(reference, scenario)
    _, together = played(policy, world)
    _, alone = played(policy, select_rows(world, slice(3, 4)))
    assert (alone[:, 0] == together[:, 3]).all()


@pytest.mark.parametrize(
    ("reference", "scenario"), [case for case in CASES if case[0] != "oracle-next-slot"]
)
def test_what_is_still_to_come_changes_no_score(reference: str, scenario: str) -> None:
    """Up to its decision for slot 9 a policy cannot tell two worlds that differ from slot 9 on."""
    policy = policy_of(reference, scenario)
    slot = 9
    world = world_of(scenario)
    scores, _ = played(policy, world)
    others, _ = played(policy, with_another_future(world, slot))
    assert (others[: slot + 1] == scores[: slot + 1]).all()


@pytest.mark.parametrize(("reference", "scenario"), CASES)
def test_seen_slots_are_not_written_to(reference: str, scenario: str) -> None:
    """An observation is a view of the world; a policy leaves it as it is."""
    world = draw_world(SCENARIOS[scenario], 2)
    before = world.occupancy.copy(), world.entropy.copy()
    played(policy_of(reference, scenario), world)
    assert (world.occupancy == before[0]).all()
    assert (world.entropy == before[1]).all()


@pytest.mark.parametrize("reference", [*YARDSTICKS, *LEARNED])
def test_privilege_is_only_given_where_it_is_asked_for(reference: str) -> None:
    """Without privilege a policy is handed None and works; an oracle without secrets refuses."""
    world = world_of("paper")
    policy = policy_of(reference, "paper")
    simulator = Simulator(world)
    policy.start(world.keys)
    if reference not in PRIVILEGED:
        assert simulator.reveal(policy.privilege) is None
        assert np.isfinite(policy.score(simulator.observe(), None)).all()
        return
    assert simulator.reveal(policy.privilege) is not None
    with pytest.raises(UserError, match=f"policy '{reference}' ranks by"):
        policy.score(simulator.observe(), None)


@pytest.mark.parametrize("privilege", [0, np.int64(0), False])
def test_a_plain_nothing_is_no_privilege(privilege: Any) -> None:
    """Privilege is compared by value, so what equals NONE is handed nothing."""
    simulator = Simulator(world_of("tiny"))
    assert simulator.reveal(privilege) is None


@pytest.mark.parametrize("reference", YARDSTICKS)
def test_knowing_more_helps(reference: str) -> None:
    """Every yardstick beats chance, and the state oracle, the causal limit, beats all but one."""
    scenario: Scenario = load_scenario("paper").changed({"episode_slots": 100})
    world = draw_world(scenario, 40, seed=8)

    def success(name: str) -> float:
        slots = play(build_policy(name, scenario, 0), world)
        return float(np.mean([slot.facts.success.mean() for slot in slots]))

    if reference != "random":
        assert success(reference) > success("random") + 0.2
    if reference not in {"oracle-state", "oracle-next-slot"}:
        assert success(reference) < success("oracle-state")
