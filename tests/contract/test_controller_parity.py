"""The live loop decides what the simulator alone would: an observation arrives whole."""

import asyncio
import random
from pathlib import Path

import numpy as np
import pytest

from tacan.controller.lab.fuzzing import fuzz_openflow, fuzz_reports
from tacan.controller.messages import Plan
from tacan.controller.recording import record_trace, simulated_settings
from tacan.controller.sensors.simulator import PlayedActuator
from tacan.controller.settings import ControlSettings, Pace, Safety, validate_settings
from tacan.controller.wiring import build_controller, live_policy
from tacan.policies.assignment import ServiceOrder, assign, service_order
from tacan.scenario import load_scenario
from tacan.simulator.simulator import Simulator
from tacan.simulator.streams import Domain, EpisodeKeys
from tacan.simulator.world import WorldGenerator

POLICIES = ("random", "greedy", "genie", "greedy-memory")


def offline(policy: str, seed: int, order: ServiceOrder) -> list[tuple[int, ...]]:
    """The channels of one episode of ``tiny`` in the simulator alone."""
    scenario = load_scenario("tiny")
    simulator = Simulator(WorldGenerator(scenario).draw(EpisodeKeys.of(Domain.EVALUATION, seed, 0)))
    asked = live_policy(policy, scenario, 42)
    asked.start(EpisodeKeys.of(Domain.EVALUATION, 42, 0))
    chosen = []
    while not simulator.done:
        observation = simulator.observe()
        channels = assign(asked.score(observation), service_order(order, observation))
        chosen.append(tuple(channels[0].tolist()))
        simulator.step(channels)
    return chosen


def live(settings: ControlSettings, folder: Path) -> list[tuple[int, ...]]:
    """The channels that the loop applies, the last withdrawal left out."""
    controller = build_controller(settings, folder, lambda _: None)
    actuator = controller.loop.parts.actuator
    applied: list[Plan] = []
    inner = actuator._inner if isinstance(actuator, PlayedActuator) else actuator
    really = inner.apply

    async def apply(plan: Plan) -> object:
        applied.append(plan)
        return await really(plan)

    inner.apply = apply  # type: ignore[method-assign,assignment]
    asyncio.run(controller.loop.run())
    return [plan.channels for plan in applied[:-1]]


def settings_of(policy: str, order: ServiceOrder, sensor: dict[str, object]) -> ControlSettings:
    return validate_settings(
        {
            "scenario": "tiny",
            "policy": policy,
            "order": order.value,
            "pace": {"mode": "slot", "deadline_ms": 4_000.0},
            "sensor": sensor,
            "actuator": {"kind": "dry-run", "print_rules": False},
        },
        "test",
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("order", [ServiceOrder.ROTATING, ServiceOrder.QUEUED_FIRST])
def test_the_loop_on_the_simulator_decides_as_the_simulator(
    policy: str, order: ServiceOrder, tmp_path: Path
) -> None:
    """Twenty slots of live queues, occupancy and entropies give the same channels."""
    sensor: dict[str, object] = {"kind": "simulator", "seed": 7, "slots": 20}
    assert live(settings_of(policy, order, sensor), tmp_path) == offline(policy, 7, order)


@pytest.mark.parametrize("suffix", ["jsonl", "npz"])
def test_a_recorded_trace_gives_the_same_decisions(suffix: str, tmp_path: Path) -> None:
    """What ``tacan record`` writes, played back, is decided upon alike."""
    recorded = simulated_settings("tiny", "greedy", slots=20, seed=7, episode=0)
    path = tmp_path / f"trace.{suffix}"
    reports = asyncio.run(record_trace(recorded, tmp_path, path, 20))
    assert reports == 20 + load_scenario("tiny").history - 1
    sensor: dict[str, object] = {"kind": "trace", "path": path.name}
    played = live(settings_of("greedy", ServiceOrder.FIXED, sensor), tmp_path)
    assert played == offline("greedy", 7, ServiceOrder.FIXED)


def test_a_trace_never_grows_old(tmp_path: Path) -> None:
    """Recorded at full speed and played in steps of 5 ms: every slot is decided upon."""
    recorded = simulated_settings("tiny", "greedy", slots=20, seed=7, episode=0)
    asyncio.run(record_trace(recorded, tmp_path, tmp_path / "trace.jsonl", 20))
    sensor: dict[str, object] = {"kind": "trace", "path": "trace.jsonl"}
    slowly = settings_of("greedy", ServiceOrder.FIXED, sensor).model_copy(
        update={
            "pace": Pace(interval_ms=5.0, deadline_ms=4_000.0),
            "safety": Safety(max_age_ms=20.0, silence_ms=10.0),
        }
    )
    assert live(slowly, tmp_path) == offline("greedy", 7, ServiceOrder.FIXED)


def test_silent_users_keep_their_packets(tmp_path: Path) -> None:
    """In shadow mode nobody transmits: the simulated queues only grow."""
    settings = settings_of("greedy", ServiceOrder.FIXED, {"kind": "simulator", "slots": 15})
    shadow = settings.safety.model_copy(update={"shadow": True})
    controller = build_controller(
        settings.model_copy(update={"safety": shadow}), tmp_path, lambda _: None
    )
    radio = controller.loop.parts.sensor
    asyncio.run(controller.loop.run())
    queues = radio.simulator.queues  # type: ignore[attr-defined]
    world = radio.world  # type: ignore[attr-defined]
    arrived = (world.arrivals[0, :15] >= 0).sum(axis=0) + (world.initial[0] >= 0)
    capacity = load_scenario("tiny").secondary.queue_capacity
    assert queues.length[0].tolist() == np.minimum(arrived, capacity).tolist()


def test_malformed_inputs_are_read_or_refused() -> None:
    """A few thousand of the million that benchmarks/controller_fuzz.py sends."""
    draw = random.Random(3)
    tiny = load_scenario("tiny")
    assert sum(fuzz_openflow(draw, 4_000).values()) == 4_000
    for form in ("json", "msgpack"):
        outcomes = fuzz_reports(draw, 4_000, tiny, form)
        assert outcomes["report"] > 0
        assert outcomes["refused"] > 2_000
