"""Everything ``tacan control`` can be told: one frozen, validated TOML file.

docs/controller.md describes it. Paths are relative to the file's folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, field_validator
from pydantic import model_validator as validated

from tacan.controller.address import Address
from tacan.controller.rules import Layout
from tacan.errors import UserError
from tacan.policies.assignment import ServiceOrder
from tacan.scenario import Scenario, Settings, load_scenario
from tacan.settings_files import error_sentence, read_toml

MOST_MILLISECONDS = 3_600_000.0
Milliseconds = Annotated[float, Field(ge=0.1, le=MOST_MILLISECONDS)]
Seed = Annotated[int, Field(ge=0, lt=2**64)]
"""a word of the random streams' keys"""
Port = Annotated[int, Field(ge=1, le=65_279)]
Ports = Annotated[tuple[Port, ...], Field(strict=False)]
Value = TypeVar("Value", int, str)
MOST_NAME_BYTES = 255


def _nameable(text: str) -> str:
    """What no file or socket could be called is refused before anything asks the system for it."""
    if "\0" in text:
        raise ValueError("must not hold a NUL character")
    if any(len(part.encode()) > MOST_NAME_BYTES for part in text.split("/")):
        raise ValueError(f"must not hold a name longer than {MOST_NAME_BYTES} bytes")
    return text


Name = Annotated[str, AfterValidator(_nameable)]
"""A path, an address, or what may be one"""


class Pace(Settings):
    """When decisions are made, and how long each part may take."""

    mode: Literal["interval", "slot"] = "interval"
    interval_ms: Milliseconds = 500.0
    deadline_ms: Milliseconds = 100.0
    abandon_ms: Milliseconds = 5_000.0
    replacements: int = Field(default=3, ge=0, le=100)

    @validated(mode="after")
    def _ordered(self) -> Self:
        if self.deadline_ms > self.abandon_ms:
            raise ValueError(
                f"deadline_ms ({self.deadline_ms:g}) must not exceed "
                f"abandon_ms ({self.abandon_ms:g})"
            )
        return self


class Safety(Settings):
    """What the controller must not do."""

    masked_channels: tuple[Annotated[int, Field(ge=0)], ...] = Field(default=(), strict=False)
    hysteresis: float = Field(default=0.0, ge=0.0, le=1.0)
    shadow: bool = False
    silence_ms: Milliseconds = 2_000.0
    on_silence: Literal["withdraw", "hold"] = "withdraw"
    max_age_ms: Milliseconds = 1_000.0
    on_audit_failure: Literal["stop", "continue"] = "stop"


class Audit(Settings):
    """The append-only log; without a path none is kept."""

    path: Name | None = None
    fsync: Literal["always", "second", "never"] = "second"


class Http(Settings):
    """Metrics and health; without ``listen`` they are not served."""

    listen: Name | None = None
    allow_remote: bool = False

    @field_validator("listen")
    @classmethod
    def _address(cls, text: str | None) -> str | None:
        if text is not None and Address.parse(text).kind != "tcp":
            raise ValueError("must be tcp:HOST:PORT")
        return text

    @validated(mode="after")
    def _bound(self) -> Self:
        _stay_local(self.listen, self.allow_remote)
        return self


def _stay_local(listen: str | None, allow_remote: bool) -> None:
    if listen is not None and not allow_remote and not Address.parse(listen).local:
        raise ValueError(
            f"listen = {listen!r} is open to other machines: "
            "use a loopback address, or say allow_remote = true"
        )


class SimulatorSource(Settings):
    """The simulator as the radio: its queues are served by what the loop decides."""

    kind: Literal["simulator"]
    seed: Seed = 42
    episode: int = Field(default=0, ge=0, lt=2**63)
    load: str = "mixed"
    slots: int = Field(default=0, ge=0)
    slot_ms: float = Field(default=0.0, ge=0.0, le=MOST_MILLISECONDS)


class TraceSource(Settings):
    """A recorded trace, .jsonl or .npz."""

    kind: Literal["trace"]
    path: Name
    speed: float = Field(default=0.0, ge=0.0, le=1e6)


class NetworkSource(Settings):
    """Reports over TCP or a unix socket (docs/sensor-protocol.md)."""

    kind: Literal["network"]
    listen: Name
    format: Literal["json", "msgpack"] = "json"
    allow_remote: bool = False
    max_message_bytes: int = Field(default=65_536, ge=256, le=16_777_216)
    max_rate: float = Field(default=1_000.0, gt=0.0, le=1e9)
    max_connections: int = Field(default=4, ge=1, le=1_000)
    idle_ms: Milliseconds = 5_000.0
    gather_ms: float = Field(default=10.0, ge=0.0, le=1_000.0)

    @field_validator("listen")
    @classmethod
    def _address(cls, text: str) -> str:
        if Address.parse(text).kind == "tls":
            raise ValueError("must be unix:PATH or tcp:HOST:PORT")
        return text

    @validated(mode="after")
    def _bound(self) -> Self:
        _stay_local(self.listen, self.allow_remote)
        return self


class DryRunTarget(Settings):
    """Print the rules instead of sending them."""

    kind: Literal["dry-run"]
    print_rules: bool = True


class OpenFlowTarget(Settings):
    """A switch that connects to us and speaks OpenFlow 1.3."""

    kind: Literal["openflow"]
    listen: Name
    allow_remote: bool = False
    certificate: Name | None = None
    private_key: Name | None = None
    authority: Name | None = None
    datapath_id: Annotated[int, Field(ge=0, lt=2**64)] | None = None
    user_ports: Ports | None = None
    channel_ports: Ports | None = None
    priority: int = Field(default=100, ge=1, le=65_535)
    lease_seconds: int = Field(default=2, ge=1, le=3_600)
    guard_ms: float = Field(default=6.0, ge=0.0, le=1_000.0)
    request_ms: Milliseconds = 300.0
    echo_ms: Milliseconds = 2_000.0
    connect_ms: Milliseconds = 30_000.0

    @field_validator("listen")
    @classmethod
    def _address(cls, text: str) -> str:
        Address.parse(text)
        return text

    @validated(mode="after")
    def _consistent(self) -> Self:
        _stay_local(self.listen, self.allow_remote)
        files = (self.certificate, self.private_key, self.authority)
        if Address.parse(self.listen).kind == "tls" and None in files:
            raise ValueError("tls needs certificate, private_key and authority")
        return self


def _distinct(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Two users on one radio, or two channels on one frequency, would collide by design."""
    twice = {value for value in values if values.count(value) > 1}
    if twice:
        raise ValueError(f"must all differ, and {min(twice)!r} stands there twice")
    return values


class WifiTarget(Settings):
    """Radios whose channel ``iw`` sets: one interface a user, one frequency a channel."""

    kind: Literal["wifi"]
    interfaces: tuple[str, ...] = Field(min_length=1, strict=False)
    frequencies_mhz: tuple[Annotated[int, Field(ge=1, le=100_000)], ...] = Field(
        min_length=1, strict=False
    )
    timeout_ms: Milliseconds = 1_000.0
    guard_ms: float = Field(default=25.0, ge=0.0, le=1_000.0)
    ssid: str = Field(default="tacan", min_length=1, max_length=32)
    bssid: str = Field(
        default="02:54:41:43:41:4e", pattern=r"^[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}$"
    )

    @field_validator("interfaces")
    @classmethod
    def _names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not name or len(name) > 15 or not name.replace("-", "").replace("_", "").isalnum():
                raise ValueError(f"{name!r} is not the name of a network interface")
        return _distinct(names)

    @field_validator("frequencies_mhz")
    @classmethod
    def _frequencies(cls, frequencies: tuple[int, ...]) -> tuple[int, ...]:
        return _distinct(frequencies)


Source = Annotated[
    SimulatorSource | TraceSource | NetworkSource,
    Field(discriminator="kind"),
]
Target = Annotated[DryRunTarget | OpenFlowTarget | WifiTarget, Field(discriminator="kind")]


class ControlSettings(Settings):
    """The whole file."""

    scenario: Name = "paper"
    policy: Name
    policy_seed: Seed = 42
    order: Annotated[ServiceOrder, Field(strict=False)] = ServiceOrder.FIXED
    pace: Pace = Pace()
    safety: Safety = Safety()
    sensor: Source
    actuator: Target
    audit: Audit = Audit()
    http: Http = Http()

    @field_validator("actuator")
    @classmethod
    def _renewed_in_time(cls, target: Target, info: ValidationInfo) -> Target:
        """A renewal is due at half of the lease, and travels with the next plan that is applied.

        Plans are applied an interval apart (or a request, if the one before took longer), and a
        deadline more if the policy is late only this time. The switch must have it one request
        later, before the other half is over.
        """
        pace = info.data.get("pace")
        if isinstance(target, OpenFlowTarget) and isinstance(pace, Pace):
            longest = max(pace.interval_ms, target.request_ms) + pace.deadline_ms
            half = target.lease_seconds * 500.0
            if longest + target.request_ms >= half:
                raise ValueError(
                    f"half of lease_seconds ({half:g} ms) must exceed the longest time from one "
                    f"renewal to the next ({longest + target.request_ms:g} ms: the longer of "
                    f"pace.interval_ms, {pace.interval_ms:g}, and request_ms, "
                    f"{target.request_ms:g}; plus pace.deadline_ms, {pace.deadline_ms:g}; plus "
                    "request_ms), or rules die between decisions"
                )
        return target


def port_layout(target: OpenFlowTarget, scenario: Scenario) -> Layout:
    """The switch's ports, checked against the scenario."""
    usual = Layout.numbered(scenario.users, scenario.channels)
    users = usual.user_ports if target.user_ports is None else target.user_ports
    channels = usual.channel_ports if target.channel_ports is None else target.channel_ports
    for name, ports, wanted in (
        ("user_ports", users, scenario.users),
        ("channel_ports", channels, scenario.channels),
    ):
        if len(ports) != wanted:
            raise UserError(
                f"actuator.{name} holds {len(ports)} ports, "
                f"but scenario {scenario.name!r} needs {wanted}"
            )
    if len({*users, *channels}) != len(users) + len(channels):
        raise UserError("actuator.user_ports and actuator.channel_ports must all differ")
    return Layout(users, channels)


KINDS = ("simulator", "trace", "network", "dry-run", "openflow", "wifi")
"""The sensors and actuators there are, as a file names them."""


def validate_settings(content: dict[str, Any], where: str) -> ControlSettings:
    """Settings from plain values, or a UserError that says what is wrong with them."""
    try:
        return ControlSettings.model_validate(content)
    except ValidationError as error:
        raise UserError(error_sentence(error, where, KINDS)) from None


def load_settings(path: Path) -> ControlSettings:
    """The settings of a TOML file."""
    content = read_toml(path, "control file")
    return validate_settings(content, f"control file {path}")


def scenario_of(settings: ControlSettings, folder: Path) -> Scenario:
    """The scenario it names: one that ships, or a file beside the control file."""
    nearby = folder / settings.scenario
    return load_scenario(nearby if nearby.is_file() else settings.scenario)
