"""Recording a trace: the loop runs, nothing is sent, and every report is kept."""

from __future__ import annotations

from pathlib import Path

from tacan.controller.sensors.trace import RecordingSensor, TraceWriter
from tacan.controller.settings import (
    Audit,
    ControlSettings,
    Http,
    SimulatorSource,
    validate_settings,
)
from tacan.controller.wiring import build_controller, run_controller
from tacan.errors import UserError


def simulated_settings(
    scenario: str, policy: str, *, slots: int, seed: int, episode: int
) -> ControlSettings:
    """The simulator as the sensor, served by a policy, at full speed."""
    return validate_settings(
        {
            "scenario": scenario,
            "policy": policy,
            "pace": {"mode": "slot", "deadline_ms": 5_000.0},
            "sensor": {"kind": "simulator", "seed": seed, "episode": episode, "slots": slots},
            "actuator": {"kind": "dry-run", "print_rules": False},
        },
        "tacan record",
    )


async def record_trace(settings: ControlSettings, folder: Path, file: Path, cycles: int) -> int:
    """Run for so many cycles and write the trace; how many reports it holds.

    A simulated radio is played, any other is only listened to: no switch or radio is touched, and
    neither the log nor the pages of a controller that may be running. Without any report there is
    no trace, which is a UserError.
    """
    simulated = isinstance(settings.sensor, SimulatorSource)
    safety = settings.safety.model_copy(update={"shadow": not simulated})
    harmless = simulated_settings("paper", "greedy", slots=1, seed=0, episode=0).actuator
    settings = settings.model_copy(
        update={"safety": safety, "actuator": harmless, "audit": Audit(), "http": Http()}
    )
    with TraceWriter(file) as writer:
        controller = build_controller(
            settings,
            folder,
            lambda _: None,
            wrap_sensor=lambda sensor: RecordingSensor(sensor, writer),
        )
        await run_controller(controller, cycles)
        if not writer.reports:
            counted = controller.loop.parts.sensor.counts().items()
            said = ", ".join(f"{name} {count}" for name, count in counted) or "no connection"
            raise UserError(
                f"trace {file}: not written, for nothing was reported in {controller.loop.cycle} "
                f"cycles (sensor: {said})"
            )
    return writer.reports
