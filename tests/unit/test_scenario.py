"""Scenarios: the shipped ones hold, and what cannot be is refused by one clear sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacan.errors import UserError
from tacan.scenario import (
    CLASSES,
    Scenario,
    ScenarioError,
    load_scenario,
    scenario_toml,
    shipped_scenarios,
)

PAPER = load_scenario("paper")


def test_shipped_scenarios_start_with_the_default() -> None:
    """``paper`` comes first, the others by name."""
    assert shipped_scenarios() == ["paper", "persistent", "saturated", "tiny", "wide"]


@pytest.mark.parametrize("name", shipped_scenarios())
def test_every_shipped_scenario_loads_and_survives_a_round_trip(name: str, tmp_path: Path) -> None:
    """What ``scenario show`` prints is a file that means the same scenario."""
    scenario = load_scenario(name)
    copy = tmp_path / "copy.toml"
    copy.write_text(scenario_toml(scenario), encoding="utf-8")
    assert load_scenario(copy) == scenario
    assert scenario.name == name
    assert scenario.description


def test_any_description_survives_a_round_trip(tmp_path: Path) -> None:
    """Quotes, control characters and all: TOML forbids a bare U+007F, which JSON allows."""
    words = 'a "b" \\ \t \x00 \x1f \x7f \x80 \u2028 \U0001f4e1'
    copy = tmp_path / "copy.toml"
    copy.write_text(scenario_toml(PAPER.changed({"description": words})), encoding="utf-8")
    assert load_scenario(copy).description == words


def test_the_paper_has_its_numbers() -> None:
    """20 channels, 60 devices of 12 / 36 / 12, 4 users, 8 slots of history, 200 of an episode."""
    assert (PAPER.channels, PAPER.devices, PAPER.users) == (20, 60, 4)
    assert (PAPER.history, PAPER.episode_slots) == (8, 200)
    assert PAPER.by_class("devices").tolist() == [12, 36, 12]
    assert PAPER.device_class.tolist() == [0] * 12 + [1] * 36 + [2] * 12
    assert PAPER.by_class("success_weight").tolist() == [3.0, 1.0, 1.5]
    assert PAPER.load.multipliers == (1.0, 1.5, 2.5)


def test_extending_a_scenario_changes_only_what_is_said() -> None:
    """``saturated`` is ``paper`` but for its arrivals, its name and its description."""
    same = {"secondary.arrival_probability": 0.3, "name": "paper"}
    changed = load_scenario("saturated").changed(same | {"description": PAPER.description})
    assert changed == PAPER


def test_a_file_may_extend_a_file_beside_it(tmp_path: Path) -> None:
    """The base is looked for beside the file, wherever the command is run."""
    (tmp_path / "base.toml").write_text('extends = "tiny"\nname = "base"\nchannels = 9\n')
    (tmp_path / "more.toml").write_text('extends = "base.toml"\nname = "more"\nhistory = 2\n')
    scenario = load_scenario(tmp_path / "more.toml")
    assert (scenario.channels, scenario.history, scenario.users) == (9, 2, 2)


def test_a_file_that_extends_itself_by_another_name_is_refused(tmp_path: Path) -> None:
    """Through the folder above, and through a link: files are compared, not their names."""
    (tmp_path / "folder").mkdir()
    file = tmp_path / "folder" / "a.toml"
    (tmp_path / "folder" / "link.toml").symlink_to(file)
    for base in ("../folder/a.toml", "link.toml", str(file)):
        file.write_text(f'extends = "{base}"\nname = "a"\n')
        with pytest.raises(ScenarioError, match="extends itself through"):
            load_scenario(file)


def test_other_numbers_need_another_name(tmp_path: Path) -> None:
    """Results are told apart by name: a changed copy of a shipped scenario may not keep its."""
    file = tmp_path / "mine.toml"
    for text in ('extends = "paper"\nhistory = 9\n', 'extends = "wide"\nname = "tiny"\n'):
        file.write_text(text)
        with pytest.raises(ScenarioError, match="give this one a name of its own"):
            load_scenario(file)
    file.write_text('extends = "paper"\nhistory = 9\nname = "mine"\n')
    assert load_scenario(file).history == 9
    file.write_text('extends = "paper"\ndescription = "a copy with words of its own"\n')
    assert load_scenario(file).name == "paper"


def test_the_digest_hears_every_number_and_no_words() -> None:
    """Renaming keeps it, so results can be compared; any number changes it."""
    assert PAPER.changed({"name": "mine", "description": "x"}).digest() == PAPER.digest()
    for key in ("channels", "secondary.queue_capacity", "modulation.bank_seed"):
        assert PAPER.changed({key: 21}).digest() != PAPER.digest()
    assert PAPER.changed({"classes.embb.delay_weight": 0.51}).digest() != PAPER.digest()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"secondary.users": 21}, "users (21) must not exceed channels (20)"),
        ({"channels": 0}, "channels = 0: should be greater than or equal to 1"),
        ({"channels": 2.5}, "channels = 2.5: should be a valid integer"),
        ({"channels": "20"}, "channels = '20': should be a valid integer"),
        ({"history": 65}, "history = 65: should be less than or equal to 64"),
        (
            {"secondary.arrival_probability": 1.5},
            "secondary.arrival_probability = 1.5: should be less than or equal to 1",
        ),
        ({"placement": "moved"}, "placement = 'moved': should be 'redrawn' or 'persistent'"),
        (
            {"classes.embb.shortest_busy": 41},
            "shortest_busy (41) must not exceed longest_busy (40)",
        ),
        ({"classes.embb.mean_idle_slots": 0.0}, "classes.embb.mean_idle_slots = 0.0"),
        ({"classes.embb.mean_idle_slots": float("nan")}, "classes.embb.mean_idle_slots = nan"),
        ({"load.probabilities": [0.5, 0.3, 0.1]}, "probabilities must add up to 1, not 0.9"),
        ({"load.probabilities": [0.5, 0.5]}, "must be equally long"),
        ({"load.names": ["a", "b", "mixed"]}, "must differ from each other and from 'mixed'"),
        ({"load.names": ["a", "b", "b"]}, "must differ from each other"),
        ({"modulation.schemes": ["BPSK", "QPSK"]}, "must hold 2 numbers, one for each scheme"),
        ({"modulation.templates.idle.shares": [0.5] * 10}, "shares must add up to 1, not 5"),
        ({"load": 3}, "load = 3: must be a table of keys"),
        ({"load.names": 3}, "load.names = 3: must be a list"),
        ({"load.names": []}, "load.names holds 0 values: must hold at least 1"),
        (
            {f"load.{key}": [*range(1, 129)] for key in ("names", "multipliers", "probabilities")}
            | {"load.names": [str(n) for n in range(128)]},
            "load.names holds 128 values: must hold at most 100",
        ),
        (
            {"load.multipliers": [1e-300, 1.0, 2.0]},
            "multipliers.0 = 1e-300: should be greater",
        ),
        ({"classes.urllc.mean_idle_slots": 1e-320}, "mean_idle_slots = 1e-320: should be greater"),
        ({"classes.urllc.success_weight": 1e300}, "success_weight = 1e+300: should be less than"),
        (
            {"reward.deadline_slots": 10**20},
            "reward.deadline_slots = 100000000000000000000: ",
        ),
        ({"reward.delay_horizon": 10**20}, "reward.delay_horizon = 100000000000000000000: "),
        ({"reward.delay_horizon": 0}, "reward.delay_horizon = 0: should be greater"),
        ({"colour": "red"}, "colour is not a known key"),
        ({"secondary.colour": "red"}, "secondary.colour is not a known key"),
        ({"secondary.users.colour": "red"}, "secondary.users.colour is not a known key"),
    ],
)
def test_what_cannot_be_is_refused_by_a_sentence(changes: dict[str, object], sentence: str) -> None:
    """One line that names the key, the value and what would be right."""
    with pytest.raises(ScenarioError) as caught:
        PAPER.changed(changes)
    message = str(caught.value)
    assert sentence in message
    assert message.startswith("scenario 'paper'")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("channels = [", "not valid TOML"),
        (f"channels = {'9' * 5_000}", "not valid TOML"),
        ('name = "half"\n', "is missing"),
        ("extends = 3\n", "extends = 3: must be a name"),
        ('extends = "nowhere"\n', "neither a file nor one of paper"),
        ('extends = "broken.toml"\n', "extends itself"),
        ('extends = "tiny"\nname = "My Own"\n', "name = 'My Own'"),
    ],
)
def test_a_broken_file_is_refused_by_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    """The sentence says which file it is."""
    file = tmp_path / "broken.toml"
    file.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(file)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 are told as such."""
    file = tmp_path / "broken.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(file)


def test_a_load_is_found_by_its_name() -> None:
    """An unknown one lists those that can be chosen."""
    assert PAPER.load_index("extreme") == 2
    with pytest.raises(ScenarioError, match="choose mixed or one of normal, high, extreme"):
        PAPER.load_index("none")


def test_a_scenario_is_frozen() -> None:
    """Its numbers cannot change behind the back of what was made from them."""
    with pytest.raises(ValueError, match="frozen"):
        PAPER.channels = 3  # type: ignore[misc]


def test_scenario_errors_are_the_users_to_put_right() -> None:
    """The command line prints them without a traceback."""
    assert issubclass(ScenarioError, UserError)


def test_changing_a_copy_leaves_the_original() -> None:
    """``changed`` validates and returns another scenario."""
    other: Scenario = PAPER.changed({"secondary.users": 2})
    assert (other.users, PAPER.users) == (2, 4)
    assert [other.classes[name] for name in CLASSES] == [PAPER.classes[name] for name in CLASSES]
