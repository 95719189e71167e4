"""Settings into parts: the one place that knows every adapter."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tacan.controller.actuators.dry_run import DryRun
from tacan.controller.address import Address
from tacan.controller.audit import AuditLog
from tacan.controller.choice import Chooser
from tacan.controller.decide import Decider, Limits
from tacan.controller.health import HealthServer
from tacan.controller.history import History
from tacan.controller.intake import Intake
from tacan.controller.loop import ControlLoop, Manner, Parts
from tacan.controller.messages import Source
from tacan.controller.metrics import Metrics
from tacan.controller.ports import NANOSECONDS, Actuator, Clock, Sensor, SystemClock
from tacan.controller.rules import Layout
from tacan.controller.sensors.network import Limits as SenderLimits
from tacan.controller.sensors.network import NetworkSensor
from tacan.controller.sensors.simulator import PlayedActuator, SimulatedRadio
from tacan.controller.sensors.trace import TraceSensor
from tacan.controller.settings import (
    ControlSettings,
    DryRunTarget,
    NetworkSource,
    OpenFlowTarget,
    SimulatorSource,
    TraceSource,
    WifiTarget,
    port_layout,
    scenario_of,
)
from tacan.errors import UserError
from tacan.policies.catalogue import build_policy
from tacan.policies.heuristics import GreedyPolicy
from tacan.policies.own_network import OwnNetwork
from tacan.policies.policy import Policy
from tacan.scenario import Scenario
from tacan.simulator.simulator import Privilege
from tacan.simulator.streams import Domain, EpisodeKeys

logger = logging.getLogger("tacan.controller")

MILLI = 1e-3
ALIVE_INTERVALS = 3


@dataclass(frozen=True)
class Controller:
    """A loop with its pages."""

    loop: ControlLoop
    health: HealthServer | None


def live_policy(reference: str, scenario: Scenario, seed: int) -> Policy:
    """A policy that can be run live: one that needs nothing but its observation."""
    policy = build_policy(reference, scenario, seed)
    if policy.privilege is not Privilege.NONE:
        raise UserError(
            f"policy {reference!r} needs to know hidden state: it can be evaluated in simulation, "
            "but no radio could tell it"
        )
    if isinstance(policy, OwnNetwork):
        raise UserError(
            f"policy {reference!r} was not frozen by 'tacan export': it carries no digest, so that "
            "damage to it would go unnoticed; load it in a factory of your own and name that as "
            "module:factory"
        )
    return policy


def policy_of(settings: ControlSettings, folder: Path, scenario: Scenario) -> Policy:
    """The policy it names: a known one, or a file beside the control file."""
    nearby = folder / settings.policy
    reference = str(nearby) if nearby.is_file() else settings.policy
    return live_policy(reference, scenario, settings.policy_seed)


def build_controller(
    settings: ControlSettings,
    folder: Path,
    show: Callable[[str], None],
    *,
    clock: Clock | None = None,
    wrap_sensor: Callable[[Sensor], Sensor] | None = None,
    policy: Callable[[], Policy] | None = None,
) -> Controller:
    """All parts, nothing started; ``show`` takes what the dry run prints.

    ``policy`` builds another policy than the one that the settings name.
    """
    clock = clock or SystemClock()
    scenario = scenario_of(settings, folder)
    pace, safety = settings.pace, settings.safety
    _check_masks(safety.masked_channels, scenario)
    sensor = _sensor(settings, scenario, folder, clock)
    actuator, layout = _actuator(settings, scenario, folder, clock, show)
    if isinstance(sensor, SimulatedRadio):
        actuator = PlayedActuator(actuator, sensor, clock)
    limits = Limits(pace.deadline_ms * MILLI, pace.abandon_ms * MILLI, pace.replacements)
    audit_path = None if settings.audit.path is None else folder / settings.audit.path
    audit = AuditLog(audit_path, settings.audit.fsync)
    audit.examine()
    parts = Parts(
        sensor=wrap_sensor(sensor) if wrap_sensor else sensor,
        actuator=actuator,
        clock=clock,
        intake=Intake(scenario.history),
        history=History(scenario),
        decider=Decider(
            scenario,
            policy or (lambda: policy_of(settings, folder, scenario)),
            GreedyPolicy(),
            EpisodeKeys.of(Domain.EVALUATION, settings.policy_seed, 0),
            limits,
        ),
        chooser=Chooser(
            scenario.users,
            scenario.channels,
            settings.order,
            frozenset(safety.masked_channels),
            safety.hysteresis,
        ),
        layout=layout,
        audit=audit,
        metrics=Metrics(),
    )
    manner = Manner(
        interval=pace.interval_ms * MILLI if pace.mode == "interval" else None,
        silence=safety.silence_ms * MILLI,
        withdraw_on_silence=safety.on_silence == "withdraw",
        shadow=safety.shadow,
        stop_without_audit=safety.on_audit_failure == "stop",
        run=secrets.token_hex(8),
        hold=pace.interval_ms * MILLI,
    )
    loop = ControlLoop(parts, manner)
    return Controller(loop, _health(settings, loop))


def _check_masks(masked: tuple[int, ...], scenario: Scenario) -> None:
    for channel in masked:
        if channel >= scenario.channels:
            raise UserError(
                f"safety.masked_channels: {channel} is not a channel of scenario "
                f"{scenario.name!r}, which has 0 to {scenario.channels - 1}"
            )


def _sensor(
    settings: ControlSettings, scenario: Scenario, folder: Path, clock: Clock
) -> SimulatedRadio | TraceSensor | NetworkSensor:
    match settings.sensor:
        case SimulatorSource() as source:
            return SimulatedRadio(
                scenario,
                clock,
                seed=source.seed,
                episode=source.episode,
                load=source.load,
                slots=source.slots,
                slot_seconds=source.slot_ms * MILLI,
            )
        case TraceSource() as source:
            path = folder / source.path
            if not path.is_file():
                raise UserError(f"sensor.path = {source.path!r}: there is no such file")
            return TraceSensor(path, scenario, clock, source.speed)
        case NetworkSource() as source:
            limits = SenderLimits(
                source.max_message_bytes,
                source.max_rate,
                source.max_connections,
                max_age=settings.safety.max_age_ms * MILLI,
                idle=source.idle_ms * MILLI,
                gather=source.gather_ms * MILLI,
            )
            address = _placed(Address.parse(source.listen), folder)
            return NetworkSensor(address, scenario, clock, source.format, limits)


def _placed(address: Address, folder: Path) -> Address:
    if address.kind == "unix":
        return Address("unix", str(folder / address.host), 0)
    return address


def _actuator(
    settings: ControlSettings,
    scenario: Scenario,
    folder: Path,
    clock: Clock,
    show: Callable[[str], None],
) -> tuple[Actuator, Layout]:
    usual = Layout.numbered(scenario.users, scenario.channels)
    match settings.actuator:
        case DryRunTarget() as target:
            return DryRun(clock, show if target.print_rules else None), usual
        case WifiTarget() as target:
            from tacan.controller.actuators.wifi import build_wifi

            return build_wifi(target, scenario, clock), usual
        case OpenFlowTarget() as target:
            from tacan.controller.actuators.openflow import build_openflow

            layout = port_layout(target, scenario)
            address = _placed(Address.parse(target.listen), folder)
            return build_openflow(target, address, layout, folder, clock), layout


def _health(settings: ControlSettings, loop: ControlLoop) -> HealthServer | None:
    if settings.http.listen is None:
        return None
    address = Address.parse(settings.http.listen)
    interval = settings.pace.interval_ms * MILLI if settings.pace.mode == "interval" else 0.0
    longest = ALIVE_INTERVALS * interval + settings.safety.silence_ms * MILLI
    return HealthServer(
        address.host, address.port, lambda: metrics_text(loop), lambda: problems(loop, longest)
    )


def metrics_text(loop: ControlLoop) -> str:
    """All metrics of a loop and its parts."""
    parts = loop.parts
    parts.metrics.gauges["cycles"] = loop.cycle
    parts.metrics.gauges["audit_lines"] = parts.audit.lines
    parts.metrics.gauges["actuator_healthy"] = float(parts.actuator.healthy())
    return parts.metrics.text(
        {
            "intake": parts.intake.counts,
            "sensor": parts.sensor.counts(),
            "actuator": parts.actuator.counts(),
            "policy": parts.decider.counts,
        }
    )


def problems(loop: ControlLoop, longest: float) -> list[str]:
    """What is wrong at present, as sentences; empty when all is well."""
    found: list[str] = []
    idle = (loop.parts.clock.monotonic_ns() - loop.cycle_ns) / NANOSECONDS
    if idle > longest:
        found.append(f"no cycle for {idle:.1f} s")
    if not loop.parts.actuator.healthy():
        found.append("the actuator cannot act")
    if loop.last_source not in {Source.POLICY, Source.HELD}:
        found.append(loop.last_source.value)
    return found + list(loop.troubles.values())


async def run_controller(controller: Controller, cycles: int | None = None) -> None:
    """Run until the end, or until SIGTERM or SIGINT asks for an orderly stop."""
    running = asyncio.get_running_loop()
    handled: list[signal.Signals] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(ValueError, NotImplementedError):  # not in the main thread
            running.add_signal_handler(number, controller.loop.stop)
            handled.append(number)
    try:
        if controller.health is not None:
            await controller.health.start()
        await controller.loop.run(cycles)
    finally:
        if controller.health is not None:
            await controller.health.stop()
        for number in handled:
            running.remove_signal_handler(number)
