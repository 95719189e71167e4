"""The cycle: what is applied, withheld, withdrawn and written down."""

import asyncio
import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from controller_fakes import Rig, ScriptedPolicy, make_rig, prefers, report
from tacan.controller.audit import AuditError
from tacan.controller.audit_check import AuditFindings, check_audit
from tacan.controller.messages import Applied, Plan, Report
from tacan.controller.wiring import problems
from tacan.errors import UserError


def test_each_slot_is_decided_and_applied_and_the_end_withdraws() -> None:
    """Three slots give three plans of Greedy's idle channels, then an empty one."""
    rig = make_rig([[report(slot, busy=[0, 2])] for slot in range(3)])
    rig.run()
    assert rig.actuator.channels == [(1, 3), (1, 3), (1, 3), (-1, -1)]
    assert rig.sensor.stopped
    assert rig.actuator.stopped


def test_down_and_masked_channels_are_left_out() -> None:
    """Channel 1 is masked, 3 is down: the busy ones are all that is left."""
    rig = make_rig([[report(0, busy=[0, 2])]], masked=frozenset({1}))
    rig.actuator.down_channels = frozenset({3})
    rig.run()
    assert rig.actuator.channels[0] == (0, 2)


def test_a_held_plan_loses_the_channel_that_goes_down(tmp_path: Path) -> None:
    """Channel 0 goes down after the decision: its user is silent, and the log says so."""
    log = tmp_path / "audit.jsonl"
    rig = make_rig([[report(0)], [], []], audit=log)
    really = rig.actuator.apply

    async def apply(plan: Plan) -> Applied:
        applied = await really(plan)
        rig.actuator.down_channels = frozenset({0})
        return applied

    rig.actuator.apply = apply  # type: ignore[method-assign]
    rig.run()
    assert rig.actuator.channels == [(0, 1), (-1, 1), (-1, 1), (-1, -1)]
    assert rig.loop.parts.metrics.events["channels_lost"] == 1
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["before"].get("lost") for line in lines] == [None, None, [0], None]


def test_a_channel_that_goes_down_while_the_policy_thinks_is_not_used() -> None:
    """It was up when the policy was asked for its scores, and is down when they arrive."""

    def answer(_: object) -> np.ndarray:
        if rig.loop.cycle:  # before the first cycle it is only tried out
            rig.actuator.down_channels = frozenset({2})
        return prefers(2, 3)

    rig = make_rig([[report(0)]], lambda: ScriptedPolicy(answer))
    rig.run()
    assert rig.actuator.channels[0] == (-1, 3)


def test_nan_scores_fall_back_to_greedy_and_are_counted() -> None:
    """The loop goes on with Greedy's channels."""
    rig = make_rig(
        [[report(0, busy=[0, 2])]], lambda: ScriptedPolicy(lambda _: np.full((1, 1, 4), np.nan))
    )
    rig.run()
    assert rig.actuator.channels[0] == (1, 3)
    assert rig.sources["fallback: scores not numbers"] == 1


def test_shadow_mode_decides_and_logs_but_does_not_act(tmp_path: Path) -> None:
    """The log holds the decision; the actuator was never asked."""
    log = tmp_path / "audit.jsonl"
    rig = make_rig([[report(0, busy=[0, 2])]], shadow=True, audit=log)
    rig.run()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert rig.actuator.plans == []
    assert lines[0]["decided"] == [1, 3]
    assert lines[0]["shadow"] is True


def test_shadow_mode_decides_as_the_live_controller_would(tmp_path: Path) -> None:
    """Two channels take turns at being a little better: hysteresis stays, acting or not."""

    def undecided() -> ScriptedPolicy:
        chances = ([0.1, 0.1, 0.39, 0.41], [0.1, 0.1, 0.41, 0.39])
        return ScriptedPolicy(lambda seen: np.log([[chances[seen.slot % 2]]]))

    decided: list[list[list[int]]] = []
    for shadow in (False, True):
        log = tmp_path / f"{shadow}.jsonl"
        slots = [[report(slot)] for slot in range(6)]
        make_rig(slots, undecided, hysteresis=0.1, shadow=shadow, audit=log).run()
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        decided.append([line["decided"] for line in lines[:6]])
    assert decided[0] == decided[1] == [[2, 3]] * 6


def test_a_pause_holds_the_plan_and_silence_withdraws_it() -> None:
    """Without news the plan is renewed for five seconds, then everybody is silent."""
    rig = make_rig([[report(0)], [], [], [report(1, time=9.0)]], step=3.0)
    rig.run()
    assert rig.actuator.channels == [(0, 1), (0, 1), (-1, -1), (0, 1), (-1, -1)]
    assert rig.sources["withdrawn: sensor silent"] == 1


def test_where_slots_set_the_pace_a_late_one_does_not_cost_the_lease() -> None:
    """After the report at 1.0 the plan is held every 0.5 s, and withdrawn after 1.2 s."""
    rig = make_rig([[report(0)]], silence=1.2, step=0.0)
    cycles: list[tuple[float, tuple[int, ...]]] = []
    scripted, really = rig.sensor.read, rig.actuator.apply

    async def read(patience: float) -> Sequence[Report]:
        if rig.sensor._batches:
            return await scripted(patience)
        rig.clock.pass_by(patience)
        return []

    async def apply(plan: Plan) -> Applied:
        cycles.append((rig.clock.now_ns / 1e9, plan.channels))
        return await really(plan)

    rig.sensor.read, rig.actuator.apply = read, apply  # type: ignore[method-assign]
    rig.run(cycles=4)
    assert [moment for moment, _ in cycles[:4]] == pytest.approx([1.0, 1.5, 2.0, 2.2], abs=1e-5)
    assert [channels for _, channels in cycles[:4]] == [(0, 1)] * 3 + [(-1, -1)]


def test_silence_can_be_told_to_hold() -> None:
    """With on_silence = hold the plan stays, and health says that nobody senses any more."""
    rig = make_rig([[report(0)], [], []], step=9.0, withdraw=False)
    rig.run()
    assert rig.actuator.channels[:3] == [(0, 1)] * 3
    assert problems(rig.loop, longest=99.0) == ["held: sensor silent"]


def complaints(rig: Rig) -> list[list[str]]:
    """Runs it; what health said before each cycle, and at the end."""
    said: list[list[str]] = []
    really = rig.sensor.read

    async def read(patience: float) -> Sequence[Report]:
        said.append(problems(rig.loop, longest=99.0))
        return await really(patience)

    rig.sensor.read = read  # type: ignore[method-assign]
    rig.run()
    return said


def test_a_failing_actuator_is_counted_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop survives, says so in health, and the next plan goes out and clears it."""
    rig = make_rig([[report(0)], [report(1)]])
    really = rig.actuator.apply
    tried: list[tuple[int, ...]] = []

    async def apply(plan: Plan) -> Applied:
        rig.actuator.failing = not tried
        tried.append(plan.channels)
        return await really(plan)

    monkeypatch.setattr(rig.actuator, "apply", apply)
    broken = ["the actuator cannot act", "actuator: told to fail"]
    assert complaints(rig) == [[], broken, []]
    assert rig.loop.parts.metrics.events["actuator_failures"] == 1
    assert tried == [(0, 1), (0, 1), (-1, -1)]
    assert rig.actuator.channels == [(0, 1), (-1, -1)]


def fail_writes(rig: Rig, monkeypatch: pytest.MonkeyPatch, numbers: Collection[int]) -> None:
    """Make these lines of the log fail, and the loop go on without them."""
    rig.loop.manner = replace(rig.loop.manner, stop_without_audit=False)
    lines = count()

    def write(_: object) -> None:
        if next(lines) in numbers:
            raise AuditError("log: No space left on device")

    monkeypatch.setattr(rig.loop.parts.audit, "write", write)


@pytest.mark.parametrize("shadow", [False, True])
def test_a_failing_log_is_said_until_it_is_written_again(
    monkeypatch: pytest.MonkeyPatch, *, shadow: bool
) -> None:
    """An actuator that does well says nothing about the log, in shadow or live."""
    rig = make_rig([[report(slot)] for slot in range(4)], shadow=shadow)
    fail_writes(rig, monkeypatch, {0, 1})
    said = complaints(rig)
    failing = ["audit log: log: No space left on device"]
    assert said == [[], failing, failing, [], []]
    assert rig.loop.parts.metrics.events["audit_failures"] == 2


def test_a_cycle_without_news_does_not_hide_a_fallback() -> None:
    """The plan that is held is still Greedy's, and health goes on saying why."""
    rig = make_rig([[report(0)], []], lambda: ScriptedPolicy(lambda _: np.full((1, 1, 4), np.nan)))
    nan = ["fallback: scores not numbers"]
    assert complaints(rig) == [[], nan, nan]


@pytest.mark.parametrize("part", ["actuator", "sensor"])
def test_a_stop_while_a_part_starts_is_an_orderly_end(part: str, tmp_path: Path) -> None:
    """No switch connects, or no radio: all is closed, nothing was planned, the log ends."""
    log = tmp_path / "audit.jsonl"
    rig = make_rig([[report(0)]], audit=log)

    async def start() -> None:
        asyncio.get_running_loop().call_soon(rig.loop.stop)
        await asyncio.Event().wait()

    getattr(rig, part).start = start
    rig.run()
    assert rig.actuator.plans == []
    assert (rig.sensor.stopped, rig.actuator.stopped) == (True, True)
    assert check_audit(log) == AuditFindings(runs={"test": 1}, faults=())


def test_the_interval_skips_ticks_instead_of_rushing() -> None:
    """A read that takes 3.5 s at an interval of 0.5 s costs six ticks, not six hasty decisions."""
    rig = make_rig([[report(slot)] for slot in range(4)], interval=0.5, step=3.5)
    moments: list[float] = []
    really = rig.actuator.apply

    async def apply(plan: Plan) -> Applied:
        moments.append(rig.clock.now_ns / 1e9)
        rig.sensor._step = 0.0
        return await really(plan)

    rig.actuator.apply = apply  # type: ignore[method-assign]
    rig.run()
    assert rig.loop.parts.metrics.events["skipped_ticks"] == 6
    # the clock starts at 1.0; the last plan is the withdrawal
    assert moments[:4] == [4.5, 4.5, 5.0, 5.5]


def test_a_wall_clock_that_jumps_changes_nothing_but_the_log(tmp_path: Path) -> None:
    """Set back a day between two slots: the same plans, and the log shows the jump."""
    log = tmp_path / "audit.jsonl"
    rig = make_rig([[report(0)], [report(1)]], audit=log)
    times = iter([1.7e9, 1.7e9 - 86_400.0, 1.7e9])
    rig.clock.wall = lambda: next(times)  # type: ignore[method-assign]
    rig.run()
    stamps = [json.loads(line)["time"] for line in log.read_text().splitlines()]
    assert rig.actuator.channels == [(0, 1), (0, 1), (-1, -1)]
    assert stamps[1] == stamps[0] - 86_400.0


def test_a_restart_starts_the_policys_memory_anew() -> None:
    """The policy is started at the beginning and again when the radio restarts."""
    policy = ScriptedPolicy(lambda _: prefers(2, 3))
    rig = make_rig([[report(8)], [report(9)], [report(0, time=10.0, restart=True)]], lambda: policy)
    rig.run()
    assert policy.slots == [1]
    assert policy.starts == 3  # the trial at the start, the run, the restart


def test_several_new_slots_are_one_decision_but_all_are_remembered() -> None:
    """Three slots in one batch: one plan, and the policy saw each slot once."""
    policy = ScriptedPolicy(lambda _: prefers(2, 3))
    rig = make_rig([[report(0), report(1), report(2)]], lambda: policy)
    rig.run()
    assert policy.slots == [1, 2, 3]
    assert rig.actuator.channels == [(2, 3), (-1, -1)]


def test_every_cycle_has_its_line(tmp_path: Path) -> None:
    """Three cycles and the end make four numbered lines."""
    log = tmp_path / "audit.jsonl"
    make_rig([[report(slot)] for slot in range(3)], audit=log).run()
    assert check_audit(log) == AuditFindings({"test": 4}, ())


def test_cycles_without_news_do_not_fill_the_log(tmp_path: Path) -> None:
    """A thousand of them in two seconds make two lines, and the lines say how many they were."""
    log = tmp_path / "audit.jsonl"
    make_rig([[report(0)]] + [[report(0)]] * 1_000, step=0.002, audit=log).run()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["source"] for line in lines] == [
        "policy",
        "held: no new report",
        "held: no new report",
        "withdrawn: controller stops",
    ]
    # cycle 502 comes a second after cycle 2, and the end comes after cycle 1001
    assert [line["unlogged"] for line in lines] == [0, 0, 499, 499]
    assert sum(1 + line["unlogged"] for line in lines) == 1_002


def test_a_new_failure_is_logged_though_nothing_else_is_new(tmp_path: Path) -> None:
    """What became of a plan stands in the next line, however soon that comes."""
    log = tmp_path / "audit.jsonl"
    rig = make_rig([[report(0)]] + [[]] * 3, step=0.002, audit=log)
    rig.actuator.failing = True
    rig.run()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["before"] for line in lines[1:]] == [{"error": "told to fail"}] * 2
    assert [line["unlogged"] for line in lines] == [0, 0, 2]


def test_a_line_says_what_was_known_decided_and_why(tmp_path: Path) -> None:
    """Occupancy, queues, forbidden channels, channels, probabilities and runners-up."""
    log = tmp_path / "audit.jsonl"
    make_rig([[report(0, busy=[0])]], masked=frozenset({3}), audit=log).run()
    line = json.loads(log.read_text().splitlines()[0])
    assert line["known"]["occupancy"] == ["1000"]
    assert line["known"]["queue_class"] == [0, -1]
    assert line["known"]["forbidden"] == [3]
    assert line["decided"] == [1, 2]
    # Greedy's scores are -1, 0, 0: a softmax of 1/e, 1, 1 over the three allowed channels
    first = line["why"][0]
    assert first["probability"] == pytest.approx(1 / (2 + np.exp(-1)), abs=1e-6)
    assert first["runner_up"] == 2


def test_a_log_that_cannot_be_written_stops_the_loop_and_withdraws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No decision is acted upon without its line; the error is one sentence."""
    rig = make_rig([[report(0)], [report(1)]])
    writes = 0

    def write(_: object) -> None:
        nonlocal writes
        writes += 1
        if writes > 1:
            raise AuditError("log: No space left on device")

    monkeypatch.setattr(rig.loop.parts.audit, "write", write)
    with pytest.raises(UserError, match="No space left on device: stopped and withdrew all rules"):
        rig.run()
    assert rig.actuator.channels == [(0, 1), (-1, -1)]
