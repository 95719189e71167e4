"""Policies by name: what a reference means, and the sentence for one that means nothing."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fakes import FixedPolicy
from tacan.cli import app
from tacan.errors import UserError
from tacan.policies import catalogue, frozen
from tacan.policies.catalogue import build_policy, is_seeded, list_policies
from tacan.policies.policy import Policy
from tacan.scenario import Scenario, load_scenario
from tacan.simulator.simulator import Privilege

TINY = load_scenario("tiny")
YARDSTICKS = [
    "random",
    "greedy",
    "genie",
    "greedy-memory",
    "window-bayes",
    "bayes-filter",
    "bayes-renewal",
    "oracle-placement",
    "oracle-state",
    "oracle-next-slot",
]


@dataclass
class Learned:
    """Stands for a frozen policy: remembers its file."""

    path: Path
    name: str = "learned"
    privilege: Privilege = Privilege.NONE

    def start(self, keys: object) -> None: ...

    def score(self, observation: object, secrets: object = None) -> object: ...


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method ``mind`` that ships for training seeds 42, 7 and 43."""
    files = {seed: Path(f"mind-{seed}.onnx") for seed in (42, 7, 43)}
    monkeypatch.setattr(frozen, "shipped", lambda: {"mind": files})
    monkeypatch.setattr(frozen, "load_policy", lambda path, _: Learned(path))
    monkeypatch.setattr(frozen, "load_file", lambda path, _: Learned(path))


def path_of(policy: Policy) -> str:
    assert isinstance(policy, Learned)
    return policy.path.name


def test_all_yardsticks_are_listed_before_the_learned_policies(learned: None) -> None:
    """In the order of what they know."""
    assert [info.name for info in list_policies()] == [*YARDSTICKS, "mind"]


@pytest.mark.parametrize("name", YARDSTICKS)
def test_a_listed_policy_is_what_its_line_says(name: str) -> None:
    """Built by its name it asks for the privilege that the list admits, loudly where it has one."""
    info = {info.name: info for info in list_policies()}[name]
    policy = build_policy(name, TINY, 0)
    assert isinstance(policy, Policy)
    assert policy.name.partition(":")[0] == name
    assert policy.privilege is info.privilege
    assert info.knows.startswith("PRIVILEGED") == (info.privilege > Privilege.NONE)
    assert not info.seeded
    assert not is_seeded(name)


def test_an_argument_chooses_the_window() -> None:
    """Without one it is the scenario's history, 4 slots in ``tiny``."""
    assert build_policy("window-bayes:3", TINY, 0).name == "window-bayes:3"
    assert build_policy("window-bayes", TINY, 0).name == "window-bayes:4"
    assert not is_seeded("window-bayes:3")


@pytest.mark.parametrize(
    ("seed", "file"),
    # 7 has a policy of its own; others take positions 0, 1, 2 of 7, 42, 43 by seed modulo 3
    [(7, "mind-7"), (42, "mind-42"), (0, "mind-7"), (1, "mind-42"), (2, "mind-43"), (3, "mind-7")],
)
def test_a_learned_name_means_the_policy_of_the_seed(learned: None, seed: int, file: str) -> None:
    """Its own training seed's if it ships, else by position in turn."""
    assert is_seeded("mind")
    assert path_of(build_policy("mind", TINY, seed)) == f"{file}.onnx"


def test_a_file_is_one_policy_whatever_the_seed(learned: None) -> None:
    """Named by its path."""
    assert path_of(build_policy("some/where.onnx", TINY, 9)) == "where.onnx"
    assert not is_seeded("some/where.onnx")


def test_a_python_callable_is_a_policy() -> None:
    """module:factory is called with the scenario and the seed, and may differ by seed."""
    policy = build_policy("fakes:first_channels", TINY, 1)
    assert isinstance(policy, FixedPolicy)
    assert is_seeded("fakes:first_channels")


def test_a_callable_is_found_where_the_command_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed command does not have the current folder on Python's path by itself."""
    (tmp_path / "my_own_policy.py").write_text(
        "from fakes import FixedPolicy\ndef make(scenario, seed):\n    return FixedPolicy([1, 0])\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert build_policy("my_own_policy:make", TINY, 0).name == "fixed-channels"


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("gredy", "policy 'gredy' is not known: did you mean greedy"),
        ("bayes-fliter", "did you mean bayes-filter"),
        ("xyz", "choose one of random, greedy, genie"),
        ("", "policy '' is not known"),
        (":", "policy ':' is not known"),
        ("greedy:3", "policy 'greedy:3': greedy takes no argument"),
        ("oracle-state:3", "oracle-state takes no argument"),
        ("window-bayes:many", "must be a number of slots, 1 to 20"),
        ("no/such/file.onnx", "policy no/such/file.onnx"),
        ("no_such_module:make", "neither a policy's name nor a module that can be imported"),
        ("..:make", "neither a policy's name nor a module that can be imported"),
        ("fakes:missing", "fakes has no callable 'missing'"),
        ("fakes:annotations", "fakes has no callable 'annotations'"),
        ("fakes:run_lengths", "cannot be called with (scenario, seed)"),
        ("fakes:not_a_policy", "returned 'nonsense', which is not a policy"),
        ("json:dumps", "cannot be called with (scenario, seed)"),
    ],
)
def test_a_reference_that_means_nothing_gets_one_sentence(reference: str, sentence: str) -> None:
    """It names the reference and says what would be right."""
    with pytest.raises(UserError) as caught:
        build_policy(reference, TINY, 0)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("def x(:\n", "importing it raised SyntaxError: invalid syntax (MODULE.py, line 1)"),
        ("\nraise RuntimeError('no GPU')\n", "RuntimeError: no GPU (MODULE.py, line 2)"),
        ("import sys; sys.exit(0)\n", "importing it raised SystemExit: 0 (MODULE.py, line 1)"),
        (
            "def make(scenario, seed):\n    raise KeyError('weights\\nare gone')\n",
            "building it raised KeyError: 'weights\\nare gone' (MODULE.py, line 2)",
        ),
        ("def make(scenario, seed):\n    raise SystemExit\n", "building it raised SystemExit"),
        (
            "import tacan\ndef make(scenario, seed):\n    raise tacan.errors.UserError('no')\n",
            "no",
        ),
    ],
    ids=["syntax", "raises", "exits", "factory-raises", "factory-exits", "factory-explains"],
)
def test_a_module_that_fails_gets_one_sentence(
    content: str,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """Whatever its code raises, even an exit that would look like success."""
    module = "failing_" + request.node.callspec.id.replace("-", "_")
    (tmp_path / f"{module}.py").write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(UserError) as caught:
        build_policy(f"{module}:make", TINY, 0)
    assert sentence.replace("MODULE", module) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_class_instead_of_a_policy_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A factory that returns the class itself has all the methods and still is no policy."""

    def factory(scenario: Scenario, seed: int) -> type[FixedPolicy]:
        return FixedPolicy

    monkeypatch.setattr(catalogue, "a_factory", factory, raising=False)
    with pytest.raises(UserError, match="which is not a policy"):
        build_policy("tacan.policies.catalogue:a_factory", TINY, 0)


def test_the_command_lists_what_can_be_named() -> None:
    """As a table, and as JSON with one object a policy."""
    table = CliRunner().invoke(app, ["policies"])
    assert table.exit_code == 0
    answer = CliRunner().invoke(app, ["policies", "--json"])
    rows = {row["name"]: row for row in json.loads(answer.output)}
    for name in YARDSTICKS:
        assert name in table.output
        assert rows[name]["knows"]
    assert rows["oracle-state"]["privilege"] == "state"
    assert rows["greedy"]["privilege"] == "none"
