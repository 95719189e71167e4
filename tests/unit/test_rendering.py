"""Pictures of the last slots, dot by dot."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tacan.environments.font import text_mask, text_width
from tacan.environments.rendering import (
    CELL_HEIGHT,
    DELIVERED,
    HIT_PRIMARY,
    HIT_SECONDARY,
    IDLE,
    LEFT,
    ON_AIR,
    PAPER,
    STANDBY,
    TOP,
    VISIBLE_SLOTS,
    Colour,
    outcome,
    waterfall,
)
from tacan.environments.single import DynamicSpectrumAccess
from tacan.scenario import load_scenario
from tacan.simulator.queues import FACT

URLLC, MMTC, EMBB = range(3)
TINY = load_scenario("tiny")


def facts(*users: dict[str, object]) -> np.ndarray:
    """The record of a slot [U], from what is not usual."""
    record = np.zeros(len(users), dtype=FACT)
    for place, user in enumerate(users):
        for name, value in user.items():
            record[place][name] = value
    return record


def luminance(colour: Colour) -> float:
    """How light a colour is, as WCAG 2 defines it: 0 black, 1 white."""
    parts = np.array(colour) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_letters_are_drawn_as_dots() -> None:
    """A capital T: a bar of five dots over a stem; two letters stand six dots apart."""
    rows = ["".join(".#"[dot] for dot in row) for row in text_mask("T").astype(int)]
    assert rows == ["#####", *["..#.."] * 6]
    assert text_mask("TT").shape == (7, 11)
    assert text_mask("T", scale=3).shape == (21, 15)
    assert text_width("TT", 2) == 22
    assert text_mask("").shape == (7, 0)


def test_an_unknown_character_is_a_box() -> None:
    """Text from a user's scenario may hold anything."""
    assert text_mask("ž").sum() == text_mask("漢").sum() == 20


def test_cells_have_the_colour_of_who_is_on_air() -> None:
    """Three channels, two slots: the newest is the lowest row, and above the first it is white."""
    image, width = waterfall(np.array([[0, 1, 2], [3, 0, 0]], dtype=np.uint8), [])
    assert image.shape == (VISIBLE_SLOTS * CELL_HEIGHT, 3 * width, 3)
    middle = width // 2
    newest, older, before = (-CELL_HEIGHT * n + CELL_HEIGHT // 2 for n in (1, 2, 3))
    for k, code in enumerate([3, 0, 0]):
        assert image[newest, k * width + middle].tolist() == ON_AIR[code].tolist()
    for k, code in enumerate([0, 1, 2]):
        assert image[older, k * width + middle].tolist() == ON_AIR[code].tolist()
    assert (image[before] == PAPER).all()


@pytest.mark.parametrize(
    ("users", "expected"),
    [
        ([{"success": True, "delivered": True}], DELIVERED),
        ([{"success": True}], STANDBY),
        ([{"primary_collision": True}], HIT_PRIMARY),
        ([{"secondary_collision": True}, {"secondary_collision": True}], HIT_SECONDARY),
        ([{"primary_collision": True, "secondary_collision": True}] * 2, HIT_PRIMARY),
    ],
)
def test_a_box_shows_what_came_of_a_user(
    users: list[dict[str, object]], expected: tuple[object, ...]
) -> None:
    """In the user's cell, with its fill; what is on air stays visible beside it."""
    users = [{"channel": 2} | user for user in users]
    assert outcome(facts(*users)) == expected
    on_air = np.full((1, 20), URLLC + 1, dtype=np.uint8)
    image, width = waterfall(on_air, [facts(*users)])
    cell = image[-CELL_HEIGHT:, 2 * width : 3 * width]
    fills = (cell == expected[0]).all(axis=2).sum()
    assert fills > cell[..., 0].size // 4
    assert cell[CELL_HEIGHT // 2, 0].tolist() == ON_AIR[URLLC + 1].tolist()
    others = np.delete(image[-CELL_HEIGHT:], np.s_[2 * width : 3 * width], axis=1)
    assert {tuple(dot) for dot in others.reshape(-1, 3).tolist()} == {
        tuple(ON_AIR[URLLC + 1].tolist()),
        PAPER,
    }


def test_a_box_holds_the_numbers_of_its_users() -> None:
    """User 1 alone looks different from user 0; narrow cells hold a box without a number."""
    cells = []
    for user in (0, 1):
        users = [{"channel": 3 if place == user else 0} for place in range(2)]
        image, width = waterfall(np.zeros((1, 20), dtype=np.uint8), [facts(*users)])
        cells.append(image[-CELL_HEIGHT:, 3 * width : 4 * width])
    assert not np.array_equal(*cells)
    image, width = waterfall(np.zeros((1, 600), dtype=np.uint8), [facts({"channel": 3})])
    assert width == 2
    assert image[-CELL_HEIGHT // 2, 3 * width].tolist() == list(STANDBY[1])


def test_outcomes_and_classes_can_be_told_apart_without_colours() -> None:
    """Fills of outcomes differ in lightness by a contrast of at least 1.5; so do idle and busy."""
    fills = [luminance(found[0]) + 0.05 for found in (DELIVERED, STANDBY, HIT_PRIMARY)]
    fills.append(luminance(HIT_SECONDARY[0]) + 0.05)
    assert min(max(pair) / min(pair) for pair in combinations(fills, 2)) > 1.5
    idle = luminance(IDLE) + 0.05
    assert all(idle / (luminance(tuple(busy)) + 0.05) > 1.5 for busy in ON_AIR[1:].tolist())


@pytest.mark.parametrize("scenario", ["tiny", "paper", "wide"])
def test_a_picture_is_an_image_of_a_sensible_even_size(scenario: str) -> None:
    """Any scenario, before and after the first slot: [height, width, 3] bytes, within a screen."""
    env = DynamicSpectrumAccess(scenario, render_mode="rgb_array")
    env.reset(seed=0)
    for _ in range(2):
        image = env.render()
        assert image is not None
        assert image.dtype == np.uint8
        assert image.shape[2] == 3
        assert all(400 <= size <= 1280 and size % 2 == 0 for size in image.shape[:2])
        env.step(np.arange(env.scenario.users))


def test_a_picture_shows_the_last_slots_and_nothing_of_the_next() -> None:
    """Changing the coming slot leaves the picture; changing the last one changes its row."""
    env = DynamicSpectrumAccess(TINY, render_mode="rgb_array")
    env.reset(seed=3)
    for _ in range(9):
        env.step(np.array([0, 1]))
    image = env.render()
    assert image is not None
    emitter = env._episodes.simulator.world.emitter
    emitter[:, TINY.history + 9 :] = EMBB + 1
    again = env.render()
    assert again is not None
    np.testing.assert_array_equal(image, again)
    emitter[:, TINY.history + 8] = (emitter[:, TINY.history + 8] + 1) % 4
    changed = np.argwhere((env.render() != image).any(axis=2))
    bottom = TOP + VISIBLE_SLOTS * CELL_HEIGHT
    assert changed[:, 0].min() >= bottom - CELL_HEIGHT
    assert changed[:, 0].max() < bottom
    assert changed[:, 1].min() >= LEFT


def test_only_the_newest_slots_are_shown() -> None:
    """After 60 slots the lowest row is slot 59: the window moves with the episode."""
    env = DynamicSpectrumAccess("paper", render_mode="rgb_array")
    env.reset(seed=3)
    for _ in range(60):
        env.step(np.arange(4))
    image = env.render()
    assert image is not None
    assert len(env._episodes._recent) == VISIBLE_SLOTS
    world = env._episodes.simulator.world
    row = TOP + VISIBLE_SLOTS * CELL_HEIGHT - CELL_HEIGHT // 2
    width = 560 // 20
    for k in range(4, 20):
        shown = image[row, LEFT + k * width + 1].tolist()
        assert shown == ON_AIR[world.emitter[0, env.scenario.history + 59, k]].tolist()


def test_a_new_episode_starts_with_a_clean_picture() -> None:
    """What the last episode showed is gone after a reset."""
    env = DynamicSpectrumAccess(TINY, render_mode="rgb_array")
    env.reset(seed=3)
    clean = env.render()
    env.step(np.array([0, 1]))
    assert not np.array_equal(env.render(), clean)
    env.reset(seed=3)
    np.testing.assert_array_equal(env.render(), clean)


def test_a_long_title_fits() -> None:
    """The longest seed widens a narrow picture instead of being cut off."""
    narrow = TINY.changed({"channels": 2})
    widths = []
    for seed in (1, 2**63 - 1):
        env = DynamicSpectrumAccess(narrow, render_mode="rgb_array")
        env.reset(seed=seed, options={"episode": 12345})
        image = env.render()
        assert image is not None
        widths.append(image.shape[1])
    assert widths[1] > widths[0]
