"""What happens to packets when something breaks: python benchmarks/controller_faults.py (root)."""

from __future__ import annotations

import asyncio
import logging

from tacan.controller.lab.fault_rig import SCENARIO
from tacan.controller.lab.faults import run_faults
from tacan.controller.lab.testbed import Testbed, be_quick
from tacan.scenario import load_scenario


def main() -> None:
    logging.getLogger("tacan.controller").setLevel(logging.ERROR)
    scenario = load_scenario(SCENARIO)
    be_quick()
    with Testbed(scenario.users, scenario.channels) as testbed:
        outcomes = asyncio.run(run_faults(testbed))
    print(
        "| fault | sent | arrived | misrouted | longest gap, s | last packet before it, s | rules |"
    )
    print("|---|---|---|---|---|---|---|")
    for one in outcomes:
        last = f"{one.last_after_fault:+.3f}" if one.arrived else "none at all"
        print(
            f"| {one.name} | {one.sent} | {one.arrived} | {one.misrouted} | "
            f"{one.longest_gap:.3f} | {last} | {one.rules_left} |"
        )
    for one in outcomes:
        print(f"{one.name}: {one.said}")


if __name__ == "__main__":
    main()
