"""The paper's set of experiments, stage by stage: what is replayed, and the rows that come of it.

Every stage is a list of batches; a batch is a set of contenders on the same trajectories. A policy
that does not ship is left out and named, so that whoever reads the records knows what is missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import polars as pl

import tacan
from tacan.evaluation.metrics import metric_names
from tacan.evaluation.perturbations import SINGLE_FRAME, ZERO_ENTROPY, Perturbation, uniform_mixing
from tacan.evaluation.protocol import MIXED, Protocol
from tacan.evaluation.records import COLUMNS, frame_of
from tacan.evaluation.replay import Contender, Progress, replay, slots_to_play
from tacan.evaluation.results import Result
from tacan.policies import frozen
from tacan.policies.assignment import ServiceOrder
from tacan.policies.catalogue import POLICY_FILE_SUFFIX, list_policies
from tacan.scenario import Scenario

TACAN, MLP, MATCHED = "tacan", "mlp", "mlp-matched"
METHODS = ("random", "greedy", MLP, TACAN, "genie")
"""The five rows of tab:packet_main."""
MIXING_SHARES = (0.25, 0.5, 0.75, 1.0)
LADDER = (
    "random",
    "genie",
    "greedy",
    "window-bayes:8",
    "greedy-memory",
    "bayes-filter",
    "bayes-renewal",
    "oracle-placement",
    "oracle-state",
    "oracle-next-slot",
)
"""What can be known, from nothing to everything."""


@dataclass(frozen=True)
class Batch:
    """Contenders that play the same trajectories."""

    contenders: tuple[tuple[str, ServiceOrder], ...]
    load: str
    perturbation: Perturbation | None = None


@dataclass(frozen=True)
class Plan:
    """The replays of a stage."""

    stage: str
    about: str
    batches: tuple[Batch, ...]

    def policies(self) -> tuple[str, ...]:
        """Every policy of the stage, once."""
        names = (name for batch in self.batches for name, _ in batch.contenders)
        return tuple(dict.fromkeys(names))

    def steps(self, protocol: Protocol) -> int:
        """What progress will have been told in the end."""
        return sum(slots_to_play(len(b.contenders), protocol) for b in self.batches)

    def described(self) -> list[Any]:
        """The plan as plain values, for a digest of inputs."""
        return [
            [
                [f"{name} {order}" for name, order in batch.contenders],
                batch.load,
                batch.perturbation.name if batch.perturbation else None,
            ]
            for batch in self.batches
        ]


def _in_order(names: Iterable[str], *orders: ServiceOrder) -> tuple[tuple[str, ServiceOrder], ...]:
    return tuple((name, order) for order in orders for name in names)


def paper_plans(scenario: Scenario) -> tuple[Plan, ...]:
    """The stages that replay policies, in the order in which they run."""
    loads = (MIXED, *scenario.load.names)
    fixed, queued, rotating = (
        ServiceOrder.FIXED,
        ServiceOrder.QUEUED_FIRST,
        ServiceOrder.ROTATING,
    )
    learned = (TACAN, MLP, MATCHED)
    beyond = tuple(name for name in LADDER if name not in METHODS)
    perturbed = [(TACAN, fixed)]
    return (
        Plan(
            "main",
            "the paper's methods under every load",
            tuple(Batch(_in_order((*METHODS, MATCHED), fixed), load) for load in loads),
        ),
        Plan(
            "ablation",
            "TACAN with an input suppressed",
            tuple(Batch(tuple(perturbed), MIXED, kind) for kind in (ZERO_ENTROPY, SINGLE_FRAME)),
        ),
        Plan(
            "mixing",
            "TACAN with flattened modulation posteriors",
            tuple(Batch(tuple(perturbed), MIXED, uniform_mixing(share)) for share in MIXING_SHARES),
        ),
        Plan(
            "orders",
            "the learned policies under other service orders",
            (Batch(_in_order(learned, queued, rotating), MIXED),),
        ),
        Plan(
            "ladder",
            "what can be known: the limits of information",
            tuple(
                Batch(
                    (
                        *_in_order(beyond, fixed),
                        *_in_order(LADDER, queued),
                        *_in_order(LADDER if load == MIXED else (), rotating),
                    ),
                    load,
                )
                for load in loads
            ),
        ),
    )


def comparison_plan(references: Sequence[str], orders: Sequence[ServiceOrder],
                    loads: Sequence[str]) -> Plan:  # fmt: skip
    """Any policies under the same protocol."""
    batches = tuple(Batch(_in_order(references, *orders), load) for load in loads)
    return Plan("compare", "the policies to compare", batches)


def available(names: Iterable[str], protocol: Protocol) -> tuple[set[str], list[str]]:
    """Which of these names can be built, and a sentence on whatever is missing of them.

    A learned policy may ship for fewer training seeds than are evaluated. It still plays, but seeds
    then share a network and are no longer independent, which has to be said.
    """
    known = {info.name for info in list_policies()}
    found, sentences = set(), []
    for name in dict.fromkeys(names):
        if name.partition(":")[0] not in known:
            sentences.append(f"policy {name!r} does not ship with this version of tacan")
            continue
        found.add(name)
        trained = frozen.shipped().get(name)
        absent = [seed for seed in protocol.seeds if trained and seed not in trained]
        if absent:
            listed = ", ".join(map(str, absent))
            sentences.append(
                f"policy {name!r} ships for training seeds {', '.join(map(str, trained or ()))} "
                f"only: seeds {listed} replay one of these, so they are not independent"
            )
    return found, sentences


def run_plan(
    plan: Plan,
    scenario: Scenario,
    protocol: Protocol,
    *,
    command: str,
    threads: int,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Play all of a plan: one row for every policy, order, perturbation, load and seed."""
    built: dict[tuple[str, ServiceOrder], Contender] = {}
    for batch in plan.batches:
        for name, order in batch.contenders:
            if (name, order) not in built:
                built[name, order] = Contender.build(name, order, scenario, protocol.seeds)
    frames = [empty_frame(scenario)]
    for batch in plan.batches:
        found = replay(
            [built[key] for key in batch.contenders],
            scenario,
            protocol,
            batch.load,
            perturbation=batch.perturbation,
            threads=threads,
            progress=progress,
        )
        frames += [frame_of(Result.of(part), command) for part in found]
    return pl.concat(frames)


def empty_frame(scenario: Scenario) -> pl.DataFrame:
    """No rows, with every column."""
    metrics = dict.fromkeys(metric_names(scenario.users), pl.Float64)
    return pl.DataFrame(schema={**COLUMNS, **metrics})


def only_available(plan: Plan, protocol: Protocol) -> tuple[Plan, tuple[str, ...]]:
    """The plan without the policies that do not ship, and a sentence on each of them."""
    known, sentences = available(plan.policies(), protocol)
    kept = []
    for batch in plan.batches:
        contenders = tuple(pair for pair in batch.contenders if pair[0] in known)
        if contenders:
            kept.append(Batch(contenders, batch.load, batch.perturbation))
    return Plan(plan.stage, plan.about, tuple(kept)), tuple(sentences)


def plan_inputs(plan: Plan, scenario: Scenario, protocol: Protocol) -> dict[str, Any]:
    """Everything that the rows of a plan depend on."""
    return stage_inputs(scenario, protocol, plan.policies()) | {"plan": plan.described()}


def stage_inputs(scenario: Scenario, protocol: Protocol, policies: Sequence[str]) -> dict[str, Any]:
    """The inputs that every stage has: scenario, protocol, policies and the code that plays."""
    return {
        "scenario": scenario.digest(),
        "seeds": list(protocol.seeds),
        "steps": protocol.steps,
        "version": tacan.__version__,
        "code": code_digest(),
        "policies": {name: policy_digest(name) for name in policies},
    }


@cache
def code_digest(rooms: tuple[str, ...] = ("simulator", "policies", "evaluation")) -> str:
    """A hash of the code that an experiment runs: other code may give other numbers.

    The rooms are packages of tacan, with what lies below them.
    """
    package = resources.files("tacan")
    files = [package / "observation.py", package / "scenario.py"]
    for room in rooms:
        files += _code_below(package / room)
    found = hashlib.sha256()
    for file in sorted(files, key=str):
        if file.name not in {"statistics.py", "store.py"}:  # they make no rows
            found.update(file.name.encode() + file.read_bytes())
    return found.hexdigest()[:16]


def _code_below(folder: Traversable) -> Iterator[Traversable]:
    for found in folder.iterdir():
        if found.is_dir():
            yield from _code_below(found)
        elif found.name.endswith(".py"):
            yield found


def policy_digest(reference: str) -> str:
    """A hash of a policy's files; what has no file is part of the code."""
    if reference.endswith(POLICY_FILE_SUFFIX):
        path = Path(reference)
        return _of_bytes(path.read_bytes()) if path.is_file() else "missing"
    files = frozen.shipped().get(reference)
    if files is None:
        return "code"
    return _of_bytes(b"".join(files[seed].read_bytes() for seed in sorted(files)))


def _of_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
