"""Every number of an experiment, in one frozen, validated object.

Axes, named once for the whole package: B episodes side by side, T slots of an episode, K channels,
N primary devices, U secondary users, H slots of history, M modulation schemes, C packet classes.

A scenario is a TOML file; those that ship lie in ``scenarios/``. A file may start from another one
with ``extends = "NAME"`` and state only what differs.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tacan.errors import UserError
from tacan.settings_files import error_sentence, read_toml

Probability = Annotated[float, Field(ge=0.0, le=1.0)]
Weight = Annotated[float, Field(ge=0.0, le=1e12, allow_inf_nan=False)]
Positive = Annotated[float, Field(ge=1e-12, le=1e12, allow_inf_nan=False)]
"""Bounded, so that quotients, sums and products of two stay finite and above zero."""

SUM_TOLERANCE = 1e-6
MOST_LOADS = 100
"""A load's index is kept in eight bits."""


class ScenarioError(UserError):
    """A scenario that cannot be: one sentence that names the key, the value and what is allowed."""


class PacketClass(StrEnum):
    """The three service classes; their position is their code in every array (-1: no packet)."""

    URLLC = "urllc"
    MMTC = "mmtc"
    EMBB = "embb"


CLASSES: tuple[PacketClass, ...] = tuple(PacketClass)
EMPTY = -1


class Settings(BaseModel):
    """What all parts of a scenario share: frozen, strict, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _check_distribution(values: tuple[float, ...], what: str) -> None:
    total = math.fsum(values)
    if abs(total - 1.0) > SUM_TOLERANCE:
        msg = f"{what} must add up to 1, not {total:g}"
        raise ValueError(msg)


class Load(Settings):
    """The multiplier on every device's activation rate, drawn once an episode."""

    names: tuple[str, ...] = Field(min_length=1, max_length=MOST_LOADS, strict=False)
    multipliers: tuple[Positive, ...] = Field(min_length=1, strict=False)
    probabilities: tuple[Probability, ...] = Field(min_length=1, strict=False)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not len(self.names) == len(self.multipliers) == len(self.probabilities):
            raise ValueError("names, multipliers and probabilities must be equally long")
        if len(set(self.names)) != len(self.names) or "mixed" in self.names or "all" in self.names:
            raise ValueError("names must differ from each other and from 'mixed' and 'all'")
        _check_distribution(self.probabilities, "probabilities")
        return self


class TrafficClass(Settings):
    """One service class: its primary devices, and what serving its packets is worth."""

    devices: int = Field(ge=0, le=100_000)
    priority: int = Field(ge=1, le=100)
    mean_idle_slots: Positive
    pareto_shape: Positive
    shortest_busy: int = Field(ge=1)
    longest_busy: int = Field(ge=1, le=10_000)
    success_weight: Weight
    delay_weight: Weight

    @model_validator(mode="after")
    def _range(self) -> Self:
        if self.shortest_busy > self.longest_busy:
            raise ValueError(
                f"shortest_busy ({self.shortest_busy}) must not exceed "
                f"longest_busy ({self.longest_busy})"
            )
        return self

    @property
    def rate(self) -> float:
        """Lambda of tab:classes: activations per idle slot at load 1."""
        return 1.0 / self.mean_idle_slots


class TrafficClasses(Settings):
    """The three classes of tab:classes."""

    urllc: TrafficClass
    mmtc: TrafficClass
    embb: TrafficClass

    def __getitem__(self, name: PacketClass) -> TrafficClass:
        found: TrafficClass = getattr(self, name.value)
        return found


class Secondary(Settings):
    """The secondary users and their queues."""

    users: int = Field(ge=1, le=1_000)
    arrival_probability: Probability
    initial_packet_probability: Probability
    queue_capacity: int = Field(ge=1, le=10_000)


class Reward(Settings):
    """The constants of eq:reward."""

    collision_penalty: Weight
    deadline_penalty: Weight
    deadline_slots: int = Field(ge=0, le=1_000_000)
    delay_horizon: int = Field(ge=1, le=1_000_000)
    packet_gated: bool


class Template(Settings):
    """The Dirichlet of one class's modulation posteriors."""

    concentration: Positive
    shares: tuple[Probability, ...] = Field(strict=False)

    @model_validator(mode="after")
    def _sums_to_one(self) -> Self:
        _check_distribution(self.shares, "shares")
        return self


class Templates(Settings):
    """A template for each class, and one for a channel with nobody on air."""

    idle: Template
    urllc: Template
    mmtc: Template
    embb: Template

    def rows(self) -> tuple[Template, ...]:
        """The templates by emitter code: 0 idle, then the classes in their order."""
        return (self.idle, *(getattr(self, name.value) for name in CLASSES))


class Modulation(Settings):
    """The synthetic modulation classifier."""

    schemes: tuple[str, ...] = Field(min_length=2, max_length=64, strict=False)
    uniform_mixing: Probability
    bank_size: int = Field(ge=2, le=65_536)
    bank_seed: int = Field(ge=0)
    templates: Templates

    @model_validator(mode="after")
    def _one_share_per_scheme(self) -> Self:
        for row, name in zip(self.templates.rows(), ("idle", *CLASSES), strict=True):
            if len(row.shares) != len(self.schemes):
                raise ValueError(
                    f"templates.{name}.shares must hold {len(self.schemes)} numbers, "
                    f"one for each scheme, not {len(row.shares)}"
                )
        return self


class Scenario(Settings):
    """One experiment: the spectrum, who uses it, and what counts as good."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    description: str
    channels: int = Field(ge=1, le=10_000)
    history: int = Field(ge=1, le=64)
    episode_slots: int = Field(ge=1, le=30_000)
    placement: Literal["redrawn", "persistent"]
    load: Load
    classes: TrafficClasses
    secondary: Secondary
    reward: Reward
    modulation: Modulation

    @field_validator("secondary")
    @classmethod
    def _enough_channels(cls, secondary: Secondary, info: ValidationInfo) -> Secondary:
        channels = info.data.get("channels")
        if channels is not None and secondary.users > channels:
            raise ValueError(
                f"users ({secondary.users}) must not exceed channels ({channels}): "
                "every user gets a channel of its own"
            )
        return secondary

    @property
    def users(self) -> int:
        """U, the number of secondary users."""
        return self.secondary.users

    @property
    def devices(self) -> int:
        """N, the number of primary devices of all classes."""
        return sum(self.classes[name].devices for name in CLASSES)

    @property
    def device_class(self) -> npt.NDArray[np.int8]:
        """The class code of every device [N]: URLLC devices first, then mMTC, then eMBB."""
        counts = [self.classes[name].devices for name in CLASSES]
        return np.repeat(np.arange(len(CLASSES), dtype=np.int8), counts)

    def by_class(self, field: str) -> npt.NDArray[np.float64]:
        """One number of every class [C], in the order of their codes."""
        return np.array([getattr(self.classes[name], field) for name in CLASSES], dtype=np.float64)

    def load_index(self, name: str, besides: str = "mixed") -> int:
        """The position of a load regime by its name; ``besides`` is what else could be chosen."""
        if name not in self.load.names:
            raise ScenarioError(
                f"load {name!r} is not in scenario {self.name!r}: "
                f"choose {besides} or one of {', '.join(self.load.names)}"
            )
        return self.load.names.index(name)

    def digest(self) -> str:
        """A hash of every number in it (not of its name or description)."""
        content = self.model_dump(mode="json", exclude={"name", "description"})
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    def changed(self, changes: Mapping[str, Any]) -> Scenario:
        """A copy with some keys replaced, by dotted name: {"secondary.users": 2}. Validated."""
        content = self.model_dump()
        for key, value in changes.items():
            place = content
            *path, last = key.split(".")
            for part in path:
                if not isinstance(place.get(part), dict):
                    raise ScenarioError(f"scenario {self.name!r}: {key} is not a known key")
                place = place[part]
            place[last] = value
        return validate_scenario(content, f"scenario {self.name!r}")


def validate_scenario(content: Mapping[str, Any], where: str) -> Scenario:
    """A scenario from plain values, or a ScenarioError that says what is wrong with them."""
    try:
        return Scenario.model_validate(content)
    except ValidationError as error:
        raise ScenarioError(error_sentence(error, where)) from None


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in changes.items():
        nested = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = _merged(result[key], value) if nested else value
    return result


def shipped_scenarios() -> list[str]:
    """The names of the scenarios that come with the package, the default first."""
    folder = resources.files("tacan") / "scenarios"
    names = sorted(Path(entry.name).stem for entry in folder.iterdir() if ".toml" in entry.name)
    return sorted(names, key=lambda name: name != "paper")


def _read(reference: str, visited: tuple[str, ...] = ()) -> dict[str, Any]:
    """The merged content of a scenario given by name or by file; ``visited`` files extend it."""
    shipped = resources.files("tacan") / "scenarios" / f"{reference}.toml"
    if reference in shipped_scenarios():
        content = tomllib.loads(shipped.read_text(encoding="utf-8"))
    else:
        path = Path(reference)
        if not path.is_file():
            known = ", ".join(shipped_scenarios())
            raise ScenarioError(f"scenario {reference!r}: neither a file nor one of {known}")
        real = str(path.resolve())  # one file has many names: ../here/a.toml, a link
        if real in visited:
            chain = " -> ".join((*visited, real))
            raise ScenarioError(f"scenario {reference}: extends itself through {chain}")
        visited = (*visited, real)
        content = read_toml(path, "scenario file", ScenarioError)
    base = content.pop("extends", None)
    if base is None:
        return content
    if not isinstance(base, str):
        raise ScenarioError(f"scenario file {reference}: extends = {base!r}: must be a name")
    nearby = Path(reference).parent / base
    target = str(nearby) if nearby.is_file() else base
    return _merged(_read(target, visited), content)


def load_scenario(reference: str | Path = "paper") -> Scenario:
    """The scenario of a shipped name (``paper``) or of a TOML file."""
    found = validate_scenario(_read(str(reference)), f"scenario {str(reference)!r}")
    if found.name in shipped_scenarios() and str(reference) != found.name:
        _check_unchanged(found, str(reference))
    return found


def _check_unchanged(found: Scenario, reference: str) -> None:
    """Refuse other numbers under a shipped name, which stands for its numbers wherever it is read.

    A whole copy, as ``tacan scenario show`` prints it, may keep the name.
    """
    if found.digest() != load_scenario(found.name).digest():
        raise ScenarioError(
            f"scenario {reference!r}: name = {found.name!r} is the name of a shipped scenario, "
            "whose numbers differ: give this one a name of its own"
        )


def scenario_toml(scenario: Scenario) -> str:
    """A scenario as a complete TOML file, which ``load_scenario`` reads back."""
    lines: list[str] = []

    def plain(value: object) -> str:
        # the two formats write lists, numbers and strings alike, but for one character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

    def write(content: Mapping[str, Any], prefix: str) -> None:
        for key, value in content.items():
            if not isinstance(value, Mapping):
                lines.append(f"{key} = {plain(value)}")
        for key, value in content.items():
            if isinstance(value, Mapping):
                lines.extend(["", f"[{prefix}{key}]"])
                write(value, f"{prefix}{key}.")

    write(scenario.model_dump(mode="json"), "")
    return "\n".join(lines) + "\n"
