"""What the environments promise, and what judges from outside say of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.test import parallel_api_test, parallel_seed_test

from strategies import scenarios
from tacan.environments.parallel import ParallelDynamicSpectrumAccess
from tacan.environments.single import DynamicSpectrumAccess
from tacan.environments.vector import VectorDynamicSpectrumAccess
from tacan.errors import UserError
from tacan.observation import controller_vectors, user_vectors
from tacan.scenario import Scenario, load_scenario
from tacan.simulator.simulator import Simulator
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import WorldGenerator

ID = "tacan/DynamicSpectrumAccess-v0"
TINY = load_scenario("tiny")
FACTS = [
    "success",
    "primary_collision",
    "secondary_collision",
    "delivered",
    "packet_class",
    "packet_delay",
    "arrived",
    "dropped",
    "reward",
]


def simulator_of(
    scenario: Scenario, seed: int, episode: int = 0, domain: Domain = Domain.TRAINING
) -> Simulator:
    return Simulator(WorldGenerator(scenario).draw(EpisodeKeys.of(domain, seed, episode)))


def assert_same(first: Any, second: Any) -> None:
    """Nested dictionaries of arrays hold the same keys, types and bits."""
    assert type(first) is type(second)
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for key in first:
            assert_same(first[key], second[key])
    elif first.dtype == object:
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(one, other, strict=isinstance(one, np.ndarray))
    else:
        np.testing.assert_array_equal(first, second, strict=True)


# judges from outside


@pytest.mark.parametrize("scenario", ["paper", "tiny", "wide", "persistent"])
def test_gymnasium_finds_nothing_to_say(scenario: str) -> None:
    """check_env passes, pictures included; its warnings are errors here."""
    check_env(gymnasium.make(ID, scenario=scenario, render_mode="rgb_array").unwrapped)


def test_pettingzoo_finds_nothing_to_say(capsys: pytest.CaptureFixture[str]) -> None:
    """The parallel API test passes beyond the end of episodes."""
    parallel_api_test(ParallelDynamicSpectrumAccess("tiny"), num_cycles=50)
    assert "Passed" in capsys.readouterr().out


def test_pettingzoo_finds_seeds_obeyed() -> None:
    """Two environments of one seed and the same actions agree."""
    parallel_seed_test(lambda: ParallelDynamicSpectrumAccess("tiny"))


def in_a_fresh_interpreter(script: str) -> str:
    """What a script prints where nothing is imported yet, and warnings are errors."""
    command = [sys.executable, "-W", "error", "-c", script]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.stderr == ""
    return found.stdout


def test_a_name_with_its_module_needs_no_import_of_tacan() -> None:
    """``tacan:tacan/..`` imports what registers it."""
    script = f"import gymnasium; print(gymnasium.make('tacan:{ID}', scenario='tiny').action_space)"
    assert in_a_fresh_interpreter(script) == "MultiDiscrete([4 4])\n"


def test_registering_loads_no_kernels() -> None:
    """``import tacan`` stays quick: it makes the name known, and no more."""
    script = (
        "import sys, tacan, gymnasium\n"
        f"print(gymnasium.spec('{ID}').id, [m for m in ('numba', 'pydantic') if m in sys.modules])"
    )
    assert in_a_fresh_interpreter(script) == f"{ID} []\n"


# spaces, time and seeds


def test_the_papers_spaces_have_the_papers_sizes() -> None:
    """336 numbers and 20 channels for each of 4 users; 328 for an agent: 2*8*20 + 3 + 1 + 4."""
    env = gymnasium.make(ID)
    assert env.observation_space == gymnasium.spaces.Box(0.0, 1.0, (336,), np.float32)
    assert env.action_space == gymnasium.spaces.MultiDiscrete([20, 20, 20, 20])
    parallel = ParallelDynamicSpectrumAccess()
    assert parallel.possible_agents == ["su_0", "su_1", "su_2", "su_3"]
    assert parallel.observation_space("su_2").shape == (328,)
    assert parallel.action_space("su_2") == gymnasium.spaces.Discrete(20)


@settings(max_examples=40, deadline=None)
@given(scenario=scenarios(), seed=st.integers(0, 2**63 - 1))
def test_observations_stay_in_their_finite_spaces(scenario: Scenario, seed: int) -> None:
    """In any scenario, over an episode of random actions, for the controller and every agent."""
    env, parallel = DynamicSpectrumAccess(scenario), ParallelDynamicSpectrumAccess(scenario)
    observation, _ = env.reset(seed=seed)
    views, _ = parallel.reset(seed=seed)
    env.action_space.seed(seed % 2**32)
    truncated = False
    while not truncated:
        assert observation in env.observation_space
        assert parallel.state() in parallel.state_space
        assert all(views[agent] in parallel.observation_space(agent) for agent in views)
        action = env.action_space.sample()
        observation, reward, _, truncated, _ = env.step(action)
        views, *_ = parallel.step(dict(zip(parallel.agents, action.tolist(), strict=True)))
        assert np.isfinite(reward)
    assert observation in env.observation_space
    assert env.observation_space.is_bounded()


def test_the_time_limit_truncates_and_nothing_terminates() -> None:
    """All 20 slots of a tiny episode can be played; only the last one says truncated."""
    env = gymnasium.make(ID, scenario="tiny")
    env.reset(seed=0)
    ends = [env.step([0, 1])[2:4] for _ in range(20)]
    assert ends == [(False, False)] * 19 + [(False, True)]


def test_agents_are_truncated_together() -> None:
    """All agents live for 20 slots and are gone after the last."""
    env = ParallelDynamicSpectrumAccess("tiny")
    env.reset(seed=0)
    for slot in range(20):
        assert env.agents == ["su_0", "su_1"]
        _, _, terminated, truncated, _ = env.step({"su_0": 0, "su_1": 1})
        assert terminated == {"su_0": False, "su_1": False}
        assert truncated == {"su_0": slot == 19, "su_1": slot == 19}
    assert env.agents == []


def test_a_seed_begins_at_its_first_episode_and_resets_go_on_from_there() -> None:
    """reset(seed=7), reset(), reset(): episodes 0, 1, 2 of seed 7, and again when seeded again."""
    env = DynamicSpectrumAccess(TINY)
    first, info = env.reset(seed=7)
    assert (info["seed"], info["episode_number"]) == (7, 0)
    later = [env.reset() for _ in range(2)]
    assert [info["episode_number"] for _, info in later] == [1, 2]
    assert {info["seed"] for _, info in later} == {7}
    np.testing.assert_array_equal(env.reset(seed=7)[0], first)
    for expected, _ in later:
        np.testing.assert_array_equal(env.reset()[0], expected)
    assert not np.array_equal(first, later[0][0])


def test_without_any_seed_every_environment_draws_its_own() -> None:
    """Two unseeded environments differ; each keeps its seed over its episodes."""
    one, other = DynamicSpectrumAccess(TINY), DynamicSpectrumAccess(TINY)
    seeds = [env.reset()[1]["seed"] for env in (one, other)]
    assert seeds[0] != seeds[1]
    assert one.reset()[1] | {"load": ""} == {"seed": seeds[0], "episode_number": 1, "load": ""}


def test_the_drawn_seed_comes_from_np_random() -> None:
    """Whoever sets np_random decides what an unseeded reset draws."""
    envs = [DynamicSpectrumAccess(TINY) for _ in range(2)]
    for env in envs:
        env.np_random = np.random.default_rng(3)
    assert envs[0].reset()[1] == envs[1].reset()[1]


def test_an_episode_can_be_asked_for_by_its_number_and_load() -> None:
    """Options choose one episode; the next one goes on from its number with its own load."""
    env = DynamicSpectrumAccess(TINY)
    _, info = env.reset(seed=1, options={"episode": 7, "load": "extreme"})
    assert info == {"seed": 1, "episode_number": 7, "load": "extreme"}
    _, info = env.reset()
    assert info["episode_number"] == 8
    loads = [env.reset(options={"episode": n})[1]["load"] for n in range(60)]
    assert set(loads) == {"normal", "high", "extreme"}


def test_a_load_can_be_kept_for_all_episodes() -> None:
    """``load`` given to the environment holds until an option says otherwise."""
    env = gymnasium.make(ID, scenario="tiny", load="high")
    assert {env.reset(seed=seed)[1]["load"] for seed in range(20)} == {"high"}
    assert env.reset(options={"load": "normal"})[1]["load"] == "normal"
    assert env.reset()[1]["load"] == "high"


def test_training_and_evaluation_seeds_are_different_episodes() -> None:
    """Seed 0 of one domain is not seed 0 of the other."""
    domains = ["training", "evaluation"]
    played = [DynamicSpectrumAccess(TINY, domain=name).reset(seed=0)[0] for name in domains]
    assert not np.array_equal(*played)
    expected = simulator_of(TINY, 0, domain=Domain.EVALUATION).controller_vectors()[0]
    np.testing.assert_array_equal(played[1], expected)


def test_the_scenario_is_a_name_a_file_or_an_object(tmp_path: Path) -> None:
    """All three reach the environment, the agents and the vector environment."""
    file = tmp_path / "three.toml"
    file.write_text('extends = "tiny"\nname = "three"\nchannels = 3\n', encoding="utf-8")
    for scenario, channels in (("tiny", 4), (file, 3), (str(file), 3), (TINY, 4)):
        env = gymnasium.make(ID, scenario=scenario)
        assert env.action_space.nvec.tolist() == [channels, channels]
        assert ParallelDynamicSpectrumAccess(scenario).action_space("su_0").n == channels
        vector = gymnasium.make_vec(ID, num_envs=2, scenario=scenario)
        assert vector.single_action_space.nvec.tolist() == [channels, channels]


# what is played


@settings(max_examples=25, deadline=None)
@given(scenario=scenarios(), seed=st.integers(0, 2**40))
def test_an_environment_adds_nothing_to_the_simulator(scenario: Scenario, seed: int) -> None:
    """Observations, rewards and facts are the simulator's, bit by bit, slot by slot."""
    env, simulator = DynamicSpectrumAccess(scenario), simulator_of(scenario, seed)
    observation, _ = env.reset(seed=seed)
    generator = np.random.default_rng(seed)
    horizon = scenario.reward.delay_horizon
    for _ in range(scenario.episode_slots):
        expected = controller_vectors(simulator.observe(), horizon)[0]
        np.testing.assert_array_equal(observation, expected, strict=True)
        channels = generator.integers(0, scenario.channels, (1, scenario.users))
        facts = simulator.step(channels)
        observation, reward, *_, info = env.step(channels[0])
        assert list(info) == FACTS
        for name in FACTS:
            np.testing.assert_array_equal(info[name], getattr(facts, name)[0], strict=True)
        with_packet = info["packet_class"] >= 0
        assert info["delivered"].tolist() == (info["success"] & with_packet).tolist()
        assert reward == pytest.approx(info["reward"].sum(), abs=1e-12)


def test_an_agent_has_its_own_view_and_its_own_reward() -> None:
    """Rows of user_vectors and single rewards; their sum is what the controller is paid."""
    parallel, env = ParallelDynamicSpectrumAccess(TINY), DynamicSpectrumAccess(TINY)
    simulator = simulator_of(TINY, 11)
    views, infos = parallel.reset(seed=11)
    _, info = env.reset(seed=11)
    assert infos == {"su_0": info, "su_1": info}
    generator = np.random.default_rng(0)
    while parallel.agents:
        vectors = user_vectors(simulator.observe(), TINY.reward.delay_horizon)[0]
        np.testing.assert_array_equal(np.stack([views["su_0"], views["su_1"]]), vectors)
        np.testing.assert_array_equal(parallel.state(), simulator.controller_vectors()[0])
        channels = generator.integers(0, 4, 2)
        simulator.step(channels[None])
        views, rewards, _, _, infos = parallel.step({"su_0": channels[0], "su_1": channels[1]})
        _, total, _, _, info = env.step(channels)
        assert sum(rewards.values()) == pytest.approx(total, abs=1e-12)
        for place, agent in enumerate(views):
            assert infos[agent] == {name: info[name][place].item() for name in FACTS}
            assert rewards[agent] == info["reward"][place]


def test_an_observation_knows_the_last_slot_and_nothing_of_the_slot_being_decided() -> None:
    """Turning slot 9 and all later ones over changes nothing of slot 9's view; turning 8 does."""
    env = DynamicSpectrumAccess(TINY)
    env.reset(seed=2)
    for _ in range(9):
        observation, *_ = env.step([0, 1])
    world = env._episodes.simulator.world
    row = TINY.history + 9
    world.occupancy[:, row:] ^= 1
    world.entropy[:, row:] = 0.5
    again = env._episodes.simulator.controller_vectors()[0]
    np.testing.assert_array_equal(again, observation)
    world.occupancy[:, row - 1] ^= 1
    changed = np.flatnonzero(env._episodes.simulator.controller_vectors()[0] != observation)
    assert changed.tolist() == [12, 13, 14, 15]  # the newest of 4 slots of 4 channels


def test_an_action_is_judged_on_the_slot_after_its_observation() -> None:
    """With only slot 9 turned fully busy, the slots beside it stay free for the same action."""
    quiet = TINY.changed({f"classes.{name}.devices": 0 for name in ("urllc", "mmtc", "embb")})
    env = DynamicSpectrumAccess(quiet)
    env.reset(seed=0)
    env._episodes.simulator.world.occupancy[:, TINY.history + 9] = 1
    hits = [env.step([0, 1])[4]["primary_collision"].tolist() for _ in range(20)]
    assert hits == [[slot == 9, slot == 9] for slot in range(20)]


def test_users_on_one_channel_collide() -> None:
    """The environment lets users choose alike, and says what comes of it."""
    quiet = TINY.changed({f"classes.{name}.devices": 0 for name in ("urllc", "mmtc", "embb")})
    env = DynamicSpectrumAccess(quiet)
    env.reset(seed=0)
    assert env.step([2, 2])[4]["secondary_collision"].tolist() == [True, True]
    assert env.step([2, 3])[4]["success"].tolist() == [True, True]


def test_what_was_returned_is_never_changed_afterwards() -> None:
    """Observations and infos kept from earlier slots stay as they were."""
    env = DynamicSpectrumAccess(TINY)
    env.reset(seed=5)
    kept = [env.step([0, 1]) for _ in range(20)]
    env.reset(seed=5)
    for before in kept:
        again = env.step([0, 1])
        np.testing.assert_array_equal(before[0], again[0])
        assert_same(before[4], again[4])


def test_what_a_vector_environment_returned_is_never_changed_afterwards() -> None:
    """Nothing that 25 steps return, over the end of an episode, shares memory with another."""
    env = VectorDynamicSpectrumAccess(2, TINY)
    env.reset(seed=5)
    kept = [array for _ in range(25) for array in arrays_in(env.step(np.array([[0, 1], [2, 3]])))]
    buffers = {array.__array_interface__["data"][0] for array in kept}
    assert len(buffers) == len(kept) > 25 * 20


def arrays_in(value: Any) -> list[np.ndarray]:
    """All arrays of a nested result."""
    if isinstance(value, np.ndarray):
        return [value]
    inner = value.values() if isinstance(value, dict) else value
    return [array for part in inner for array in arrays_in(part)]


# the vector environment


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("scenario", ["tiny", "wide"])
@pytest.mark.parametrize("seed", [40, [3, 99, 2**62]])
def test_rows_play_what_single_environments_play(
    mode: AutoresetMode, scenario: str, seed: int | list[int]
) -> None:
    """Gymnasium's own SyncVectorEnv of three single ones agrees in every bit and every info key.

    Episodes are cut to 9 slots, so that 30 steps cross three ends.
    """
    short = load_scenario(scenario).changed({"episode_slots": 9})
    native = VectorDynamicSpectrumAccess(3, short, autoreset_mode=mode, threads=2)
    reference = SyncVectorEnv(
        [lambda: DynamicSpectrumAccess(short) for _ in range(3)], autoreset_mode=mode
    )
    assert native.metadata["autoreset_mode"] is mode
    for name in ("observation", "action", "single_observation", "single_action"):
        assert getattr(native, f"{name}_space") == getattr(reference, f"{name}_space")
    native.action_space.seed(0)
    for options in ({"load": "high"}, {"episode": 4}):
        pair = [env.reset(seed=seed, options=options) for env in (native, reference)]
        for one, other in zip(*pair, strict=True):
            assert_same(one, other)
        for _ in range(30):
            actions = native.action_space.sample()
            pair = [env.step(actions) for env in (native, reference)]
            for one, other in zip(*pair, strict=True):
                assert_same(one, other)


def test_make_vec_gives_the_native_vector_environment() -> None:
    """By default and by name; the autoreset mode is declared either way."""
    for arguments in ({}, {"vectorization_mode": "vector_entry_point"}):
        env = gymnasium.make_vec(ID, num_envs=5, scenario="tiny", **arguments)
        assert isinstance(env, VectorDynamicSpectrumAccess)
        assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    env = gymnasium.make_vec(ID, num_envs=5, scenario="tiny", autoreset_mode="SameStep")
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert VectorDynamicSpectrumAccess.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


def test_seeds_of_rows_can_be_given_one_by_one() -> None:
    """A row given None goes on with its own seed, as in Gymnasium's vector environments."""
    env = VectorDynamicSpectrumAccess(3, TINY)
    assert env.reset(seed=5)[1]["seed"].tolist() == [5, 6, 7]
    _, infos = env.reset(seed=[1, None, 2])
    assert infos["seed"].tolist() == [1, 6, 2]
    assert infos["episode_number"].tolist() == [0, 1, 0]


def test_unseeded_rows_differ() -> None:
    """Every row of an unseeded vector environment draws a seed of its own."""
    _, infos = VectorDynamicSpectrumAccess(4, TINY).reset()
    assert len(set(infos["seed"].tolist())) == 4


def test_gymnasiums_statistics_wrappers_fit() -> None:
    """Their info key is not taken, in both kinds of environment, at the end of an episode."""
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(ID, scenario="tiny"))
    env.reset(seed=0)
    total, truncated = 0.0, False
    while not truncated:
        _, reward, _, truncated, info = env.step([0, 1])
        total += reward
    assert info["episode"]["r"] == pytest.approx(total)
    vector = gymnasium.wrappers.vector.RecordEpisodeStatistics(
        gymnasium.make_vec(ID, num_envs=2, scenario="tiny", autoreset_mode="SameStep")
    )
    vector.reset(seed=0)
    for _ in range(20):
        *_, infos = vector.step([[0, 1], [0, 1]])
    assert infos["episode"]["r"][0] == pytest.approx(total)
    assert infos["episode"]["l"].tolist() == [20, 20]


# what is refused, and pictures


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        ([0, 4], "channel 4 for user 1: lies outside 0 to 3"),
        ([-1, 0], "channel -1 for user 0: lies outside 0 to 3"),
        ([0, 1, 2], r"action of shape \(3,\): must be \(2,\)"),
        (2, r"action of shape \(\): must be \(2,\)"),
        ([0.0, 1.0], "channels must be whole numbers"),
        ([True, False], "channels must be whole numbers"),
        (None, "channels must be whole numbers"),
        ([[0], [1, 2]], r"its rows differ in length; must be of shape \(2,\)"),
    ],
)
def test_bad_actions_are_refused_and_change_nothing(action: Any, sentence: str) -> None:
    """One sentence says what is wrong; the slot can then be played as if nothing had happened."""
    env, other = DynamicSpectrumAccess(TINY), DynamicSpectrumAccess(TINY)
    for each in (env, other):
        each.reset(seed=0)
    with pytest.raises(UserError, match=sentence):
        env.step(action)
    np.testing.assert_array_equal(env.step([0, 1])[0], other.step([0, 1])[0])


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.uint64])
def test_any_whole_numbers_do_as_channels(dtype: type) -> None:
    """Networks hand over whatever integers they like."""
    env = DynamicSpectrumAccess(TINY)
    env.reset(seed=0)
    env.step(np.array([3, 0], dtype=dtype))
    assert env._episodes.simulator.facts.channel.tolist() == [[3, 0]]


def test_agents_must_all_choose() -> None:
    """A missing agent and a channel out of range are named."""
    env = ParallelDynamicSpectrumAccess(TINY)
    env.reset(seed=0)
    with pytest.raises(UserError, match="no action for su_1"):
        env.step({"su_0": 1})
    with pytest.raises(UserError, match="channel 9 for user 1"):
        env.step({"su_0": 1, "su_1": 9})


@pytest.mark.parametrize("kind", [DynamicSpectrumAccess, ParallelDynamicSpectrumAccess])
def test_there_is_no_slot_before_the_first_and_after_the_last(kind: type) -> None:
    """Both are refused with what to do about it."""
    env = kind(TINY)
    action: Any = [0, 1] if kind is DynamicSpectrumAccess else {"su_0": 0, "su_1": 1}
    with pytest.raises(UserError, match="no episode yet: call reset"):
        env.step(action)
    env.reset(seed=0)
    for _ in range(20):
        env.step(action)
    with pytest.raises(UserError, match="over after 20 slots: call reset"):
        env.step(action)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"scenario": "nowhere"}, "'nowhere': neither a file nor one of paper"),
        ({"load": "calm"}, "load 'calm' is not in scenario 'tiny'"),
        ({"load": "all"}, "load 'all' is not in scenario 'tiny': choose mixed or one of normal"),
        ({"domain": "live"}, "domain 'live': must be one of training, evaluation"),
        ({"render_mode": "human"}, "render_mode 'human': must be 'rgb_array'"),
    ],
)
@pytest.mark.parametrize(
    "kind", [DynamicSpectrumAccess, VectorDynamicSpectrumAccess, ParallelDynamicSpectrumAccess]
)
def test_bad_arguments_are_refused(kind: type, arguments: dict[str, str], sentence: str) -> None:
    """One sentence names the argument, its value and what would be right."""
    with pytest.raises(UserError, match=sentence):
        kind(**({"scenario": "tiny"} | arguments))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"seed": -1}, "seed -1: must be a whole number from 0 to"),
        ({"seed": 2**63}, "must be a whole number from 0 to"),
        ({"seed": 1.5}, "seed 1.5: must be a whole number"),
        ({"options": {"laod": "high"}}, "option 'laod': must be one of load, episode"),
        ({"options": {"load": "calm"}}, "load 'calm' is not in scenario"),
        ({"options": {"episode": -2}}, "option episode = -2: must be a whole number"),
        ({"options": {"episode": 2**64}}, "option episode = 18446744073709551616: must be a whole"),
        ({"options": {"episode": True}}, "option episode = True: must be a whole number"),
    ],
)
def test_bad_resets_are_refused(arguments: dict[str, Any], sentence: str) -> None:
    """The single and the vector environment refuse alike, and go on from where they were."""
    for env in (DynamicSpectrumAccess(TINY), VectorDynamicSpectrumAccess(1, TINY)):
        env.reset(seed=4)
        with pytest.raises(UserError, match=sentence):
            env.reset(**arguments)
        assert np.ravel(env.reset()[1]["episode_number"]).tolist() == [1]


def test_a_vector_environment_refuses_what_it_cannot_be() -> None:
    """Rows, modes and seeds that do not fit."""
    with pytest.raises(UserError, match="num_envs = 0: must be at least 1"):
        VectorDynamicSpectrumAccess(0)
    with pytest.raises(UserError, match="autoreset_mode 'Disabled': must be NextStep or SameStep"):
        VectorDynamicSpectrumAccess(1, autoreset_mode="Disabled")
    env = VectorDynamicSpectrumAccess(3, TINY)
    with pytest.raises(UserError, match="2 seeds: must be 3"):
        env.reset(seed=[1, 2])
    env.reset(seed=0)
    with pytest.raises(UserError, match=r"action of shape \(2,\): must be \(3, 2\)"):
        env.step(np.array([0, 1]))


def test_all_three_show_the_same_picture() -> None:
    """The vector environment shows a picture for every row, the first as the others show it."""
    single = gymnasium.make(ID, scenario="tiny", render_mode="rgb_array")
    vector = gymnasium.make_vec(ID, num_envs=2, scenario="tiny", render_mode="rgb_array")
    parallel = ParallelDynamicSpectrumAccess("tiny", render_mode="rgb_array")
    for env in (single, vector, parallel):
        env.reset(seed=8)
    for _ in range(7):
        single.step([0, 2])
        vector.step(np.array([[0, 2], [0, 2]]))
        parallel.step({"su_0": 0, "su_1": 2})
    shown = vector.render()
    assert len(shown) == 2
    np.testing.assert_array_equal(single.render(), shown[0])
    np.testing.assert_array_equal(single.render(), parallel.render())
    assert not np.array_equal(shown[0], shown[1])


@pytest.mark.parametrize(
    "kind", [DynamicSpectrumAccess, VectorDynamicSpectrumAccess, ParallelDynamicSpectrumAccess]
)
def test_without_a_render_mode_nothing_is_shown(kind: type) -> None:
    """render() says how to get a picture, and returns none."""
    env = kind(scenario=TINY)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode='rgb_array'"):
        assert env.render() is None


@pytest.mark.parametrize(
    "kind", [DynamicSpectrumAccess, VectorDynamicSpectrumAccess, ParallelDynamicSpectrumAccess]
)
def test_closing_twice_does_no_harm(kind: type) -> None:
    """Nothing waits, and nothing is raised."""
    env = kind(scenario=TINY)
    env.reset(seed=0)
    env.close()
    env.close()
