"""Window-Bayes: the table, the window that the policy keeps, and the cache."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fakes import one_device, see
from tacan.cache_folder import cache_folder
from tacan.errors import UserError
from tacan.policies import window_table
from tacan.policies.window_bayes import WindowBayesPolicy, read_window
from tacan.policies.window_table import push_slot, shrink
from tacan.scenario import PacketClass, Scenario, load_scenario
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import World, WorldGenerator

TINY = load_scenario("tiny")


class Trap:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def always_sending() -> Scenario:
    """On air for 3 slots and idle for 1, for ever."""
    return one_device(
        PacketClass.EMBB,
        classes__embb__mean_idle_slots=0.001,
        classes__embb__shortest_busy=3,
        classes__embb__longest_busy=3,
        episode_slots=40,
    )


def test_a_pattern_holds_the_newest_slot_in_its_lowest_bit() -> None:
    """Windows 011 and 100 of three slots see 1 and 0: 111 and 000, one busy slot more, one less."""
    patterns = np.array([0b011, 0b100], dtype=np.uint64)
    change = push_slot(patterns, np.array([1, 0], dtype=np.uint8), 3)
    assert patterns.tolist() == [0b111, 0b000]
    assert change == 1 - 1


def test_rare_patterns_borrow_from_shorter_ones() -> None:
    """m = 2; idle in 6 of 6 slots after 0 and in none of 2 after 1.

    Overall (6 + 0.5) / (8 + 1) = 0.72222, by bin (6 + 2 x 0.72222) / (8 + 2) = 0.74444, and by
    pattern (6 + 2 x 0.74444) / (6 + 2) = 0.93611 and (0 + 2 x 0.74444) / (2 + 2) = 0.37222.
    """
    seen, idle = np.array([[6, 2]]), np.array([[6, 0]])
    assert shrink(seen, idle, 2.0) == pytest.approx(np.array([[0.93611, 0.37222]]), abs=1e-5)


def test_a_pattern_never_seen_takes_the_estimate_without_its_oldest_slot() -> None:
    """Pattern 10 never occurred: it is judged as pattern 0 alone."""
    seen, idle = np.array([[40, 8, 0, 9]]), np.array([[30, 1, 0, 2]])
    long = shrink(seen, idle, 4.0)[0]
    short = shrink(np.array([[40, 17]]), np.array([[30, 3]]), 4.0)[0]
    assert long[0b10] == pytest.approx(short[0])


def test_bins_hold_about_equally_many_slots() -> None:
    """Of 1,200 slots spread evenly over totals 0 to 23, each of the 12 bins gets two totals."""
    assert window_table.quantile_bins(np.full(24, 50)).tolist() == [n // 2 for n in range(24)]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[EpisodeKeys]:
    """The keys that a world is drawn with, draw by draw."""
    keys: list[EpisodeKeys] = []
    draw = WorldGenerator.draw

    def recorded(generator: WorldGenerator, of: EpisodeKeys) -> World:
        keys.append(of)
        return draw(generator, of)

    monkeypatch.setattr(WorldGenerator, "draw", recorded)
    monkeypatch.setattr(window_table, "EPISODES", 130)
    return keys


def test_a_table_is_made_from_training_episodes_each_of_a_seed_of_its_own(
    drawn: list[EpisodeKeys],
) -> None:
    """No evaluation's episodes, and no placement that persists for a seed learned by heart."""
    window_table.estimate(TINY, 2)
    for keys in drawn:
        assert keys.domain is Domain.TRAINING
        assert len(np.unique(keys.seeds)) == 130


def test_bins_come_from_many_episodes_however_few_fit_into_memory(
    drawn: list[EpisodeKeys], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One at a time: the first 100 for the bins, which all would be of one load, then all 130."""
    whole = window_table.estimate(TINY, 2)
    drawn.clear()
    monkeypatch.setattr(window_table, "CHUNK_CELLS", 1)
    found = window_table.estimate(TINY, 2)
    seeds = [int(keys.seeds[0]) - window_table.FIRST_SEED for keys in drawn]
    assert seeds == [*range(100), *range(130)]
    assert np.abs(found.idle_probability - whole.idle_probability).max() < 0.05


def test_the_policy_sees_through_a_regular_pattern() -> None:
    """After 1 1 1 comes idleness, after anything else a busy slot; a window of 4 is enough."""
    policy = WindowBayesPolicy(always_sending(), 4)
    slots = [[1], [1], [1], [0]] * 4
    scores = np.array(see(policy, slots))[4:, 0]
    assert (scores[3::4] > 0.9).all()
    assert (np.delete(scores, np.s_[3::4]) < 0.1).all()


def test_a_window_may_be_longer_than_the_observations() -> None:
    """A window of one slot cannot tell the third busy slot from the first; one of three can."""
    slots = [[1], [1], [1], [0]] * 3
    short = see(WindowBayesPolicy(always_sending(), 1), slots, history=1)
    long = see(WindowBayesPolicy(always_sending(), 3), slots, history=1)
    assert short[9] == short[10] == short[11]
    assert long[9] < long[11]


def test_padding_before_slot_0_is_not_a_slot() -> None:
    """With a longer history shown, the scores are the same: the policy looks at the last slot."""
    slots = [[0, 1, 0, 1], [1, 1, 0, 0], [1, 0, 0, 0]]
    policy = WindowBayesPolicy(TINY, 6)
    assert np.array_equal(see(policy, slots, history=1), see(policy, slots, history=8))


@pytest.mark.parametrize(
    ("argument", "window"), [(None, 4), ("1", 1), ("20", 20)], ids=["none", "shortest", "longest"]
)
def test_the_window_is_the_scenarios_history_or_what_is_asked_for(
    argument: str | None, window: int
) -> None:
    """``tiny`` has a history of 4 slots."""
    assert read_window(argument, TINY) == window


@pytest.mark.parametrize("argument", ["", "0", "21", "-3", "four", "4.0", "٤"])
def test_a_window_that_cannot_be_is_refused(argument: str) -> None:
    """The sentence says which can."""
    with pytest.raises(UserError, match="1 to 20, as in window-bayes:16"):
        read_window(argument, TINY)


def test_a_long_history_needs_a_window_to_be_named() -> None:
    """A table of 2^24 patterns is not made by accident."""
    with pytest.raises(UserError, match="24 slots: must be 1 to 20"):
        read_window(None, TINY.changed({"history": 24}))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TACAN_CACHE", str(tmp_path / "tables"))
    return tmp_path / "tables"


def test_a_table_is_made_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second policy reads it; a changed scenario and another window get files of their own."""
    first = see(WindowBayesPolicy(TINY, 3), [[0, 1, 0, 1]])
    assert len(list(cache.iterdir())) == 1
    monkeypatch.setattr(window_table, "estimate", None)  # a second estimate would fail
    assert np.array_equal(see(WindowBayesPolicy(TINY, 3), [[0, 1, 0, 1]]), first)
    monkeypatch.undo()
    monkeypatch.setenv("TACAN_CACHE", str(cache))
    WindowBayesPolicy(TINY, 2)
    WindowBayesPolicy(TINY.changed({"classes.urllc.mean_idle_slots": 9.0}), 3)
    assert len(list(cache.iterdir())) == 3


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-60])


def _turn_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _lone_array(file: Path) -> None:
    with file.open("wb") as out:
        np.save(out, np.zeros(3))


def _with(**arrays: object) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        with np.load(file) as found:
            np.savez(file, **{**found, **arrays})

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        _cut,
        _turn_a_bit,
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"not an archive"),
        lambda file: file.write_bytes(pickle.dumps({"idle_probability": 1})),
        _lone_array,
        _with(idle_probability=np.full((12, 8), 2.0)),
        _with(idle_probability=np.full((12, 8), np.nan)),
        _with(idle_probability=np.zeros((12, 4))),
        _with(bin_of_total=np.full(13, 12)),
        _with(more=np.zeros(1)),
        _with(idle_probability=np.array([None], dtype=object)),
    ],
)
def test_a_damaged_table_is_made_anew_and_said_so(
    damage: Callable[[Path], object], cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Cut short, altered, another file, impossible numbers: never trusted, never run."""
    right = see(WindowBayesPolicy(TINY, 3), [[0, 1, 0, 1]])
    (file,) = cache.iterdir()
    intact = file.read_bytes()
    damage(file)
    with caplog.at_level(logging.WARNING, "tacan"):
        found = see(WindowBayesPolicy(TINY, 3), [[0, 1, 0, 1]])
    assert np.array_equal(found, right)
    assert "made anew" in caplog.text
    assert str(file) in caplog.text
    assert len(file.read_bytes()) == len(intact)
    assert list(cache.iterdir()) == [file]


def test_a_table_is_never_read_as_code(cache: Path, tmp_path: Path) -> None:
    """A pickle that would run on loading, in an archive of the right name, does not run."""
    see(WindowBayesPolicy(TINY, 3), [[0, 1, 0, 1]])
    (file,) = cache.iterdir()
    _with(idle_probability=np.array([Trap(tmp_path / "sprung")], dtype=object))(file)
    see(WindowBayesPolicy(TINY, 3), [[0, 1, 0, 1]])
    assert not (tmp_path / "sprung").exists()


def test_a_cache_that_cannot_be_written_costs_only_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A file stands where the folder should be: the table is made, and the line says why again."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TACAN_CACHE", str(tmp_path / "file"))
    assert np.isfinite(see(WindowBayesPolicy(TINY, 2), [[0, 1, 0, 1]])).all()
    assert "cannot be written" in caplog.text


def test_tables_lie_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """$TACAN_CACHE, else tacan in $XDG_CACHE_HOME, else in ~/.cache."""
    monkeypatch.setenv("TACAN_CACHE", "/a")
    assert cache_folder() == Path("/a")
    monkeypatch.delenv("TACAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/b")
    assert cache_folder() == Path("/b/tacan")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/c")
    assert cache_folder() == Path("/c/.cache/tacan")
