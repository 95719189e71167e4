"""What a lab has started, on record, so that it is stopped even if the lab was killed.

Every lab owns a folder below ``FOLDER``. Its state file names the lab's process, the processes it
started and its namespaces; a name is written before the thing is made. Processes are known by their
id and start time, so that a number that was given out again is left alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacan.controller.lab.commands import run
from tacan.errors import UserError

FOLDER = Path("/run/tacan-lab")
STATE = "state.json"
PATIENCE = 2.0


def started_at(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


class Belongings:
    """The record of one lab; also its private folder."""

    def __init__(self, parent: Path = FOLDER) -> None:
        self.name = secrets.token_hex(3)
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = parent / self.name
        self.folder.mkdir(mode=0o700)
        self._children: list[subprocess.Popen[bytes]] = []
        self._state: dict[str, Any] = {
            "owner": [os.getpid(), started_at(os.getpid())],
            "processes": [],
            "namespaces": [],
        }
        self._write()

    def _write(self) -> None:
        partial = self.folder / (STATE + ".partial")
        partial.write_text(json.dumps(self._state), encoding="utf-8")
        partial.replace(self.folder / STATE)

    def add_namespaces(self, names: Sequence[str]) -> None:
        """These will be made."""
        self._state["namespaces"] += names
        self._write()

    def launch(
        self, name: str, command: Sequence[str], environment: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a process that dies with the lab, and put it on record.

        It dies with the thread that starts it, to be exact: this is for the main thread.
        """
        guarded = ["setpriv", "--pdeathsig", "KILL", "--", *command]
        log = self.folder / f"{name}.log"
        with log.open("wb") as output:
            child = subprocess.Popen(
                guarded,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
            )
        self._children.append(child)
        self._state["processes"].append([name, child.pid, started_at(child.pid)])
        self._write()
        return child

    def release(self) -> None:
        """Stop and remove everything."""
        remove_lab(self.folder)
        for child in self._children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(PATIENCE)


def _stop(pid: int, since: int | None) -> None:
    """End one process: ask, wait, insist."""
    if since is None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        if started_at(pid) != since:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        until = time.monotonic() + PATIENCE
        while started_at(pid) == since and time.monotonic() < until:
            time.sleep(0.005)


def remove_lab(folder: Path) -> None:
    """Stop what a lab's state file names, and remove its folder."""
    try:
        state = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        state = {"processes": [], "namespaces": []}
    for _, pid, since in reversed(state["processes"]):
        _stop(pid, since)
    for name in state["namespaces"]:
        with contextlib.suppress(UserError):  # it was not made yet
            run(["ip", "netns", "delete", name])
    shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(parent: Path = FOLDER) -> list[str]:
    """Clean up after labs whose own process is gone; their names."""
    found: list[str] = []
    if not parent.is_dir():
        return found
    for folder in sorted(parent.iterdir()):
        try:
            state = json.loads((folder / STATE).read_text(encoding="utf-8"))
            pid, since = state["owner"]
        except (OSError, ValueError, KeyError):
            pid, since = 0, None
        if since is not None and started_at(pid) == since:
            continue
        remove_lab(folder)
        found.append(folder.name)
    return found
