"""Programs of the system, called with argument lists, never through a shell."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from tacan.errors import UserError

PATIENCE = 20.0
PROGRAMS = {
    "ovs-vswitchd": "openvswitch-switch",
    "ovsdb-server": "openvswitch-switch",
    "ovsdb-tool": "openvswitch-common",
    "ovs-vsctl": "openvswitch-switch",
    "ip": "iproute2",
    "setpriv": "util-linux",
}


def missing() -> str:
    """What this machine lacks for the lab, as a sentence; empty if nothing."""
    if os.geteuid() != 0:
        return "the lab needs root: it makes network namespaces and a switch"
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            return f"the lab needs {program}, which is not installed: apt-get install {package}"
    return ""


def run(command: Sequence[str], given: str | None = None) -> str:
    """Run to the end; its output. A failure is a sentence with what it complained about."""
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{' '.join(command)}: no end in {PATIENCE:g} s") from None
    if done.returncode:
        complaint = done.stderr.strip() or f"exit {done.returncode}"
        raise UserError(f"{' '.join(command)}: {complaint}")
    return done.stdout
