"""Every policy by name: what it may know, and how it is built.

A reference is one of

    greedy                      a name of ``list_policies``
    window-bayes:16             such a name with an argument, where it takes one
    folder/policy.onnx          a frozen policy's file, or a network of one's own (own_network.py)
    package.module:factory      a Python callable: factory(scenario, seed) returns a policy

A learned name stands for one frozen policy for each of its training seeds. Evaluation seed s takes
the policy of training seed s if it ships, else the one at position s modulo their number.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tacan.errors import UserError, placed
from tacan.policies.bayes_filter import BayesFilterPolicy
from tacan.policies.bayes_renewal import BayesRenewalPolicy
from tacan.policies.heuristics import GeniePolicy, GreedyMemoryPolicy, GreedyPolicy, RandomPolicy
from tacan.policies.oracles import NextSlotOracle, PlacementOracle, StateOracle
from tacan.policies.policy import Policy
from tacan.policies.window_bayes import WindowBayesPolicy, read_window
from tacan.scenario import Scenario
from tacan.simulator.simulator import Privilege

POLICY_FILE_SUFFIX = ".onnx"

Builder = Callable[[Scenario, str | None], Policy]
"""Builds a policy from the scenario and the reference's argument, None without one."""


@dataclass(frozen=True)
class PolicyInfo:
    """What can be said about a policy before it is built."""

    name: str
    knows: str
    """one line on what it is allowed to know"""
    memory: str
    """how far back it looks"""
    privilege: Privilege
    seeded: bool
    """whether it is another policy for every seed (learned), not only other draws"""


@dataclass(frozen=True)
class _Entry:
    info: PolicyInfo
    build: Builder


def _entry(
    name: str,
    build: Builder,
    knows: str,
    memory: str,
    privilege: Privilege = Privilege.NONE,
) -> _Entry:
    return _Entry(PolicyInfo(name, knows, memory, privilege, seeded=False), build)


def _plain(factory: Callable[[], Policy]) -> Builder:
    def build(_: Scenario, argument: str | None) -> Policy:
        policy = factory()
        _refuse_argument(policy.name, argument)
        return policy

    return build


def _of_scenario(factory: Callable[[Scenario], Policy]) -> Builder:
    def build(scenario: Scenario, argument: str | None) -> Policy:
        policy = factory(scenario)
        _refuse_argument(policy.name, argument)
        return policy

    return build


def _refuse_argument(name: str, argument: str | None) -> None:
    if argument is not None:
        raise UserError(f"policy '{name}:{argument}': {name} takes no argument")


def _window_bayes(scenario: Scenario, argument: str | None) -> Policy:
    return WindowBayesPolicy(scenario, read_window(argument, scenario))


ENTRIES: tuple[_Entry, ...] = (
    _entry("random", _plain(RandomPolicy), "nothing; its users never meet", "none"),
    _entry("greedy", _plain(GreedyPolicy), "occupancy in the history window", "H slots"),
    _entry("genie", _plain(GeniePolicy), "occupancy in the last slot", "1 slot"),
    _entry("greedy-memory", _plain(GreedyMemoryPolicy), "occupancy since reset", "whole episode"),
    _entry(
        "window-bayes",
        _window_bayes,
        "occupancy in the last H slots (window-bayes:16 for 16), and the scenario's statistics",
        "H slots",
    ),
    _entry(
        "bayes-filter",
        _of_scenario(BayesFilterPolicy),
        "busy onsets since reset, and the scenario's parameters",
        "whole episode",
    ),
    _entry(
        "bayes-renewal",
        _of_scenario(BayesRenewalPolicy),
        "busy onsets and burst lengths since reset, and the scenario's parameters",
        "whole episode",
    ),
    _entry(
        "oracle-placement",
        _of_scenario(PlacementOracle),
        "PRIVILEGED: the load, every device's class and channel, occupancy in the last slot",
        "1 slot",
        Privilege.PLACEMENT,
    ),
    _entry(
        "oracle-state",
        _of_scenario(StateOracle),
        "PRIVILEGED: the load, every device's class, channel and remaining busy time",
        "1 slot",
        Privilege.STATE,
    ),
    _entry(
        "oracle-next-slot",
        _plain(NextSlotOracle),
        "PRIVILEGED: the occupancy of the slot being decided",
        "none",
        Privilege.NEXT_SLOT,
    ),
)
TABLE: Mapping[str, _Entry] = {entry.info.name: entry for entry in ENTRIES}
LEARNED_KNOWS = "learned: occupancy and modulation entropy, its users' queues"


def _shipped() -> Mapping[str, Mapping[int, Path]]:
    """The learned policies that come with the package: name -> training seed -> file."""
    from tacan.policies import frozen

    return frozen.shipped()


def _load_frozen(path: Path, scenario: Scenario) -> Policy:
    from tacan.policies import frozen

    return frozen.load_policy(path, scenario)


def _load_file(path: Path, scenario: Scenario) -> Policy:
    from tacan.policies import frozen

    return frozen.load_file(path, scenario)


def list_policies() -> list[PolicyInfo]:
    """All policies that have a name, yardsticks first, then the learned ones that ship."""
    learned = [
        PolicyInfo(name, LEARNED_KNOWS, "as trained", Privilege.NONE, seeded=True)
        for name in _shipped()
    ]
    return [entry.info for entry in ENTRIES] + learned


def build_policy(reference: str, scenario: Scenario, seed: int) -> Policy:
    """The policy that a reference names, for a scenario; ``seed`` chooses among learned ones."""
    name, _, argument = reference.partition(":")
    if name in TABLE:
        return TABLE[name].build(scenario, argument if ":" in reference else None)
    if reference.endswith(POLICY_FILE_SUFFIX):
        return _load_file(Path(reference), scenario)
    shipped = _shipped()
    if reference in shipped:
        return _load_frozen(_of_seed(shipped[reference], seed), scenario)
    if name and argument and name not in shipped:
        return _from_python(name, argument, scenario, seed)
    raise _unknown(reference, [*TABLE, *shipped])


def is_seeded(reference: str) -> bool:
    """Whether ``build_policy`` gives another policy for another seed: build one for each then."""
    if reference.partition(":")[0] in TABLE or reference.endswith(POLICY_FILE_SUFFIX):
        return False
    return reference in _shipped() or ":" in reference


def _of_seed(files: Mapping[int, Path], seed: int) -> Path:
    if seed in files:
        return files[seed]
    trained = sorted(files)
    return files[trained[seed % len(trained)]]


def _unknown(reference: str, names: list[str]) -> UserError:
    close = difflib.get_close_matches(reference, names)
    hint = f"did you mean {' or '.join(close)}?" if close else f"choose one of {', '.join(names)}"
    return UserError(
        f"policy {reference!r} is not known: {hint} "
        f"(or name a {POLICY_FILE_SUFFIX} file, or module:factory)"
    )


def _from_python(module_name: str, factory_name: str, scenario: Scenario, seed: int) -> Policy:
    reference = f"{module_name}:{factory_name}"
    if str(Path.cwd()) not in sys.path:  # an installed command does not look where it is run
        sys.path.append(str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except (ImportError, TypeError) as error:
        raise UserError(
            f"policy {reference!r}: {module_name!r} is neither a policy's name "
            f"nor a module that can be imported: {error}"
        ) from error
    except (Exception, SystemExit) as error:  # sys.exit() in it would end us without a word
        raise UserError(
            f"policy {reference!r}: importing it raised {placed(error, __file__)}"
        ) from error
    factory = getattr(module, factory_name, None)
    if not callable(factory):
        raise UserError(
            f"policy {reference!r}: {module_name} has no callable {factory_name!r}; "
            "it must be a function of (scenario, seed) that returns a policy"
        )
    try:
        inspect.signature(factory).bind(scenario, seed)
    except (TypeError, ValueError) as error:
        raise UserError(
            f"policy {reference!r}: cannot be called with (scenario, seed): {error}"
        ) from error
    try:
        policy = factory(scenario, seed)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise UserError(
            f"policy {reference!r}: building it raised {placed(error, __file__)}"
        ) from error
    if isinstance(policy, type) or not isinstance(policy, Policy):
        raise UserError(
            f"policy {reference!r}: returned {policy!r}, which is not a policy: "
            "it needs name, privilege, start(keys) and score(observation, secrets)"
        )
    return policy
