"""The real switch: packets, leases and what is left behind."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tacan.controller.audit_check import check_audit
from tacan.controller.lab import faults
from tacan.controller.lab.commands import missing
from tacan.controller.lab.experiment import LabSettings, run_policy
from tacan.controller.lab.fault_rig import LEASE, SCENARIO, Outcome
from tacan.controller.lab.ledger import compare
from tacan.controller.lab.leftovers import remove_leftovers, started_at
from tacan.controller.lab.testbed import Testbed, be_quick
from tacan.policies.assignment import ServiceOrder
from tacan.scenario import load_scenario

LACKING = missing()
pytestmark = [
    pytest.mark.switch,
    pytest.mark.skipif(bool(LACKING), reason=f"THE REAL SWITCH WAS NOT TESTED: {LACKING}"),
]

SLOTS = 200

MOST_OVERRUN = 0.02
"""Other tests may keep both cores of a small machine busy; the lab itself allows 1 %."""


@pytest.fixture(scope="module")
def small_bed() -> Iterator[Testbed]:
    """Two users, four channels: the faults' scenario."""
    scenario = load_scenario(SCENARIO)
    with Testbed(scenario.users, scenario.channels) as testbed:
        yield testbed


def test_packets_fare_as_the_simulator_predicts() -> None:
    """Four users, twenty channels, two policies: no datagram misrouted, lost or misjudged."""
    scenario = load_scenario("paper").changed({"episode_slots": SLOTS})
    settings = LabSettings(scenario, SLOTS, ServiceOrder.FIXED, seed=42, slot_seconds=0.025)
    before = os.sched_getscheduler(0)
    be_quick()
    try:
        with Testbed(scenario.users, scenario.channels) as testbed:
            ledgers = [
                compare(asyncio.run(run_policy(testbed, settings, policy, number)), settings)
                for number, policy in enumerate(("random", "greedy"), start=1)
            ]
    finally:
        os.sched_setscheduler(0, before, os.sched_param(0))
    for ledger in ledgers:
        assert ledger.objections(MOST_OVERRUN) == []
        assert ledger.sent > 500
        assert ledger.delivered + ledger.collided == ledger.sent
        # a datagram on a new channel comes after the guard time, never in it
        assert ledger.first_after_barrier.min() >= 0.006
    # in this world greedy collides seldom and random in about half of its slots
    assert ledgers[1].collided < ledgers[0].collided / 4


def test_two_labs_may_share_an_audit_log(small_bed: Testbed, tmp_path: Path) -> None:
    """The same policy at the same place in both: their lines are told apart, none is missing."""
    scenario = load_scenario(SCENARIO)
    log = tmp_path / "audit.jsonl"
    settings = LabSettings(scenario, 5, ServiceOrder.FIXED, seed=42, audit=log)
    for _ in range(2):
        asyncio.run(run_policy(small_bed, settings, "greedy", 1))
    found = check_audit(log)
    assert list(found.runs.values()) == [6, 6]
    assert found.faults == ()


def observed(testbed: Testbed, name: str) -> Outcome:
    (outcome,) = asyncio.run(faults.run_faults(testbed, (getattr(faults, name),)))
    assert outcome.misrouted == 0
    return outcome


def test_a_killed_controllers_rules_die_with_their_leases(small_bed: Testbed) -> None:
    """kill -9: the last datagram comes within the lease and a second, and no rule is left."""
    outcome = observed(small_bed, "kill_controller")
    assert 0.5 < outcome.last_after_fault < LEASE + 1.0
    assert outcome.rules_left == 0


@pytest.mark.slow
def test_a_restarted_switch_gets_its_rules_back(small_bed: Testbed) -> None:
    """Killed and started again: packets flow again within three seconds."""
    outcome = observed(small_bed, "restart_switch")
    assert outcome.longest_gap < 3.0
    assert outcome.rules_left == 2


@pytest.mark.slow
def test_a_cut_connection_ends_in_silence_and_then_recovers(small_bed: Testbed) -> None:
    """Five seconds cut: rules live for their lease at most, and come back after it."""
    outcome = observed(small_bed, "cut_connection")
    assert outcome.last_after_fault < LEASE + 1.0
    assert 2.0 < outcome.longest_gap < 6.5
    assert outcome.rules_left == 2


def test_a_silent_sensor_silences_the_users(small_bed: Testbed) -> None:
    """Withdrawn half a second after the last report, and back with the next one."""
    outcome = observed(small_bed, "silence_sensor")
    assert 0.3 < outcome.last_after_fault < 1.0
    assert 1.0 < outcome.longest_gap < 2.5
    assert "withdrawn: sensor silent" in outcome.said


@pytest.mark.slow
def test_a_corrupted_policy_file_lets_nobody_transmit(small_bed: Testbed) -> None:
    """The controller refuses to start with one sentence."""
    outcome = observed(small_bed, "corrupt_policy")
    assert outcome.arrived == 0
    assert outcome.said.startswith("exit 2: error: policy")


@pytest.mark.slow
def test_a_stalling_policy_costs_no_packet(small_bed: Testbed) -> None:
    """Greedy steps in: datagrams flow on, with no gap of a decision's length."""
    outcome = observed(small_bed, "stall_policy")
    assert outcome.longest_gap < 0.5
    assert "fallback: policy late" in outcome.said


def counted(outcome: Outcome) -> dict[str, int]:
    """What the controller counted, by name."""
    pairs = (text.rpartition(" ") for text in re.split("[,;] ", outcome.said))
    return {name: int(count) for name, _, count in pairs if count.isdigit()}


@pytest.mark.slow
def test_a_flooded_sensor_costs_no_packet(small_bed: Testbed) -> None:
    """A second sender repeats an old report: dropped unread, cut off, and memory stays small."""
    outcome = observed(small_bed, "flood_sensor")
    # at 200 reports a second a sender has far more than that dropped in two seconds of flooding
    assert counted(outcome)["too_many"] > 1_000
    assert counted(outcome)["cut_off"] >= 1
    assert outcome.longest_gap < 0.5
    assert outcome.arrived > outcome.sent / 2  # a busy machine begins late
    assert outcome.rules_left == 2
    grown = re.search(r"memory grew by ([0-9.]+) MB", outcome.said)
    assert grown is not None
    assert float(grown[1]) < 50.0


@pytest.mark.slow
def test_clocks_that_jump_cost_no_packet(small_bed: Testbed) -> None:
    """Ours and the radio's, a day back and two forward: no report is dropped, none is missed."""
    outcome = observed(small_bed, "jump_clock")
    assert counted(outcome).get("stale", 0) == 0  # time that runs backwards is a clock that was set
    assert "withdrawn: sensor silent" not in outcome.said
    assert outcome.longest_gap < 0.5
    assert outcome.arrived > outcome.sent / 2  # a busy machine begins late
    assert outcome.rules_left == 2


KILLED = """
import sys, time
from tacan.controller.lab.testbed import Testbed
from pathlib import Path
with Testbed(1, 1, Path(sys.argv[1])) as bed:
    print("up", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_lab_leaves_behind_is_removed(tmp_path: Path) -> None:
    """Its processes die with it; its namespaces and folder go with the next lab."""
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "labs")], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"up\n"
    (folder,) = (tmp_path / "labs").iterdir()
    state = json.loads((folder / "state.json").read_text())
    assert remove_leftovers(tmp_path / "labs") == []  # it is alive
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert remove_leftovers(tmp_path / "labs") == [folder.name]
    assert not folder.exists()
    spaces = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    assert folder.name not in spaces.stdout
    deadline = time.monotonic() + 3.0
    alive = [pid for _, pid, since in state["processes"] if started_at(pid) == since]
    while alive and time.monotonic() < deadline:
        time.sleep(0.02)
        alive = [pid for _, pid, since in state["processes"] if started_at(pid) == since]
    assert alive == []
    assert np.array([since is not None for _, _, since in state["processes"]]).all()
