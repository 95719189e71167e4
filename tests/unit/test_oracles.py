"""What the oracles make of the hidden state, by hand and against what then happens."""

from __future__ import annotations

import numpy as np
import pytest

from fakes import draw_world, play, view
from tacan.errors import UserError
from tacan.policies.oracles import NextSlotOracle, PlacementOracle, StateOracle
from tacan.policies.policy import Policy
from tacan.scenario import load_scenario
from tacan.simulator.simulator import Secrets

# devices 0, 1: URLLC (1/8), 2, 3: mMTC (1/60), 4, 5: eMBB (1/12)
TINY = load_scenario("tiny")
CHANNEL = np.array([[0, 1, 1, 2, 2, 2]], dtype=np.int32)
HAZARD = [1 / 8, 1 / 8 + 1 / 60, 1 / 60 + 2 / 12, 0.0]
DOUBLE = np.array([2.0])


def test_placement_oracle_multiplies_the_chances_that_nobody_activates() -> None:
    """exp(-2 h) at load 2, a fifth of it on channel 2, which is busy now."""
    secrets = Secrets(load=DOUBLE, device_channel=CHANNEL)
    scores = PlacementOracle(TINY).score(view([[0, 0, 1, 0]]), secrets)[0, 0]
    factors = [1.0, 1.0, 0.2, 1.0]
    assert scores == pytest.approx(np.exp([-2 * h for h in HAZARD]) * factors)


def test_state_oracle_knows_who_is_done() -> None:
    """A device with one slot left will be idle for sure, one with two left will be busy.

    Channel 0: its only device has 1 left, so it is surely idle. Channel 1: one has 1 left, and the
    mMTC device may activate. Channel 2: one has 2 left, so it stays busy.
    """
    remaining = np.array([[1, 1, 0, 0, 2, 0]], dtype=np.uint16)
    secrets = Secrets(load=DOUBLE, device_channel=CHANNEL, remaining=remaining)
    scores = StateOracle(TINY).score(view([[1, 1, 1, 0]]), secrets)[0, 0]
    assert scores == pytest.approx([1.0, np.exp(-2 / 60), 0.0, 1.0])


def test_next_slot_oracle_is_clairvoyant() -> None:
    """1 where the coming slot is idle, whatever is seen now."""
    secrets = Secrets(next_occupancy=np.array([[1, 0, 0, 1]], dtype=np.uint8))
    assert NextSlotOracle().score(view([[1, 1, 0, 0]]), secrets).tolist() == [[[0, 1, 1, 0]]]


def test_state_oracles_probability_is_exact() -> None:
    """Where it says p, a share p of the coming slots is idle: 0 and 1 are never wrong."""
    world = draw_world(TINY.changed({"episode_slots": 100}), 300)
    said, found = [], []
    for slot in play(StateOracle(TINY), world):
        said.append(slot.scores[:, 0].copy())
        row = TINY.history + slot.observation.slot
        found.append(world.occupancy[:, row] == 0)
    probability, idle = np.concatenate(said).ravel(), np.concatenate(found).ravel()
    assert not idle[probability == 0.0].any()
    assert idle[probability == 1.0].all()
    assert (probability == 1.0).sum() > 1000
    order = np.argsort(probability, kind="stable")
    for part in np.array_split(order, 20):
        spread = np.sqrt((probability[part] * (1 - probability[part])).sum())
        assert abs(idle[part].sum() - probability[part].sum()) <= 5 * spread + 1e-9


@pytest.mark.parametrize(
    ("oracle", "secrets", "sentence"),
    [
        (PlacementOracle(TINY), None, "'oracle-placement' ranks by the devices' placement"),
        (PlacementOracle(TINY), Secrets(device_channel=CHANNEL), "ranks by the load"),
        (StateOracle(TINY), None, "'oracle-state' ranks by the devices' remaining busy times"),
        (
            StateOracle(TINY),
            Secrets(load=DOUBLE, device_channel=CHANNEL),
            "ranks by the devices' remaining busy times",
        ),
        (NextSlotOracle(), None, "'oracle-next-slot' ranks by the coming slot's occupancy"),
        (NextSlotOracle(), Secrets(load=DOUBLE), "ranks by the coming slot's occupancy"),
    ],
)
def test_an_oracle_without_its_secrets_refuses(
    oracle: Policy, secrets: Secrets | None, sentence: str
) -> None:
    """It says what it was not shown, instead of guessing."""
    with pytest.raises(UserError, match=sentence):
        oracle.score(view([[0, 0, 0, 0]]), secrets)
