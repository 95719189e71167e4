"""The testbed: namespaces, cables, a switch in userspace, the air and the secondary users' hosts.

Every channel is a switch port that leads to a namespace of its own, every user another. All channel
ends share one address, so that a user never knows its channel.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from tacan.controller.lab import wire
from tacan.controller.lab.commands import missing, run
from tacan.controller.lab.leftovers import FOLDER, Belongings, remove_leftovers
from tacan.controller.rules import Layout
from tacan.errors import UserError

SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
BRIDGE = "br0"
PATIENCE = 10.0


def _wait_for(ready: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > until:
            raise UserError(f"the lab waited {PATIENCE:g} s in vain for {what}")
        time.sleep(0.005)


class Testbed:
    """Stands within its ``with`` block. ``of.sock`` in its folder is where a controller listens."""

    __test__ = False  # for pytest: not a test, whatever it is called

    def __init__(self, users: int, channels: int, parent: Path = FOLDER) -> None:
        lacking = missing()
        if lacking:
            raise UserError(lacking)
        self.layout = Layout.numbered(users, channels)
        self._parent = parent

    def __enter__(self) -> Self:
        self.removed = remove_leftovers(self._parent)
        self._belongings = Belongings(self._parent)
        self.folder = self._belongings.folder
        try:
            self._connect_cables()
            self._start_switch()
            self._start_hosts()
        except BaseException:
            self._belongings.release()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._commands.close()
        self._belongings.release()

    @property
    def controller(self) -> str:
        """Where the controller has to listen."""
        return f"unix:{self.folder / 'of.sock'}"

    @property
    def switch_namespace(self) -> str:
        """Where the switch's daemon runs: its 127.0.0.1 is not ours."""
        return self._namespace("sw")

    def _namespace(self, role: str) -> str:
        return f"tacan-{self._belongings.name}-{role}"

    def _connect_cables(self) -> None:
        self._users = [self._namespace(f"su{n}") for n in range(len(self.layout.user_ports))]
        channels = len(self.layout.channel_ports)
        self._channels = [self._namespace(f"ch{n}") for n in range(channels)]
        ends = self._users + self._channels
        switch = self.switch_namespace
        self._belongings.add_namespaces([switch, *ends])
        run(["ip", "-batch", "-"], "".join(f"netns add {name}\n" for name in [switch, *ends]))
        cables = "".join(
            f"link add {name.rpartition('-')[2]} type veth peer name eth0 netns {name}\n"
            f"link set {name.rpartition('-')[2]} addrgenmode none up\n"
            for name in ends
        )
        run(["ip", "-n", switch, "-batch", "-"], cables)
        for number, name in enumerate(self._users, start=1):
            self._address(name, f"10.77.{number // 250}.{number % 250 + 1}/16", None)
        for name in self._channels:
            self._address(name, f"{wire.AIR_ADDRESS}/16", wire.AIR_HARDWARE)

    def _address(self, namespace: str, address: str, hardware: str | None) -> None:
        lines = ["link set eth0 addrgenmode none", f"address add {address} dev eth0"]
        if hardware is not None:
            lines.append(f"link set eth0 address {hardware}")
        lines.append("link set eth0 up")
        if hardware is None:  # nobody on the air answers who-has: the switch may not even carry it
            lines.append(
                f"neigh add {wire.AIR_ADDRESS} lladdr {wire.AIR_HARDWARE} dev eth0 nud permanent"
            )
        run(["ip", "-n", namespace, "-batch", "-"], "\n".join(lines) + "\n")

    def _start_switch(self) -> None:
        folder, self._database = self.folder, f"unix:{self.folder / 'db.sock'}"
        if not SCHEMA.is_file():
            raise UserError(f"the lab needs {SCHEMA}: apt-get install openvswitch-common")
        run(["ovsdb-tool", "create", str(folder / "conf.db"), str(SCHEMA)])
        self._belongings.launch(
            "database",
            [
                "ovsdb-server",
                str(folder / "conf.db"),
                f"--remote=punix:{folder / 'db.sock'}",
                f"--unixctl={folder / 'db.ctl'}",
                "-vconsole:warn",
            ],
            {"OVS_RUNDIR": str(folder)},
        )
        _wait_for((folder / "db.sock").exists, "the switch's database")
        run(["ovs-vsctl", f"--db={self._database}", "--no-wait", "init"])
        self.start_switch()
        command = (
            f"add-br {BRIDGE} -- set bridge {BRIDGE} datapath_type=netdev fail-mode=secure "
            "protocols=OpenFlow13 other-config:disable-in-band=true"
        ).split()
        for port, name in zip(
            self.layout.user_ports + self.layout.channel_ports,
            self._users + self._channels,
            strict=True,
        ):
            cable = name.rpartition("-")[2]
            command += ["--", "add-port", BRIDGE, cable]
            command += ["--", "set", "interface", cable, f"ofport_request={port}"]
        self.configure(*command)

    def start_switch(self) -> None:
        """Start the switch's daemon (again)."""
        # two switches of this kind in one namespace would quarrel about a device
        self.switch = self._belongings.launch(
            "switch",
            [
                *("ip", "netns", "exec", self.switch_namespace),
                *("ovs-vswitchd", self._database),
                *(f"--unixctl={self.folder / 'sw.ctl'}", "-vconsole:warn"),
            ],
            {"OVS_RUNDIR": str(self.folder)},
        )

    def stop_switch(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Stop the switch's daemon, by default as a crash would."""
        self.switch.send_signal(number)
        self.switch.wait(PATIENCE)

    def configure(self, *command: str) -> str:
        """Run ovs-vsctl on this switch."""
        timeout = f"--timeout={int(PATIENCE)}"
        return run(["ovs-vsctl", f"--db={self._database}", timeout, *command])

    def set_controller(self, where: str = "") -> None:
        """Send the switch to its controller, which must be listening by now (at ``controller``)."""
        settings = ["--", "set", "controller", BRIDGE, "max_backoff=1000"]
        self.configure("set-controller", BRIDGE, where or self.controller, *settings)

    def flows(self) -> str:
        """The switch's rules, as ovs-ofctl prints them."""
        bridge = f"unix:{self.folder / f'{BRIDGE}.mgmt'}"
        return run(["ovs-ofctl", "-O", "OpenFlow13", "dump-flows", bridge])

    def set_cable(self, channel: int, state: str) -> None:
        """Take a channel's cable up or down."""
        name = self._channels[channel].rpartition("-")[2]
        run(["ip", "-n", self.switch_namespace, "link", "set", name, state])

    def _start_hosts(self) -> None:
        self._commands = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._commands.bind(str(self.folder / "lab.sock"))
        self._commands.settimeout(PATIENCE)
        self._children: list[subprocess.Popen[bytes]] = []
        for role, names in (("air", self._channels), ("hosts", self._users)):
            module = f"tacan.controller.lab.{role}"
            command = [sys.executable, "-m", module, str(self.folder), *names]
            self._children.append(self._belongings.launch(role, command))
            _wait_for((self.folder / f"{role}.sock").exists, f"the process of the {role}")
        self.ask_air({"do": "ready"})

    def ask_air(self, command: dict[str, str]) -> None:
        """Give the air a command and wait until it is done."""
        self._commands.sendto(json.dumps(command).encode(), str(self.folder / "air.sock"))
        self._commands.recv(16)

    def set_occupancy(self, occupancy: bytes) -> None:
        """Tell the air when primary users are on, [T, K] bytes; it forgets earlier packets."""
        path = self.folder / "occupancy.bin"
        path.write_bytes(occupancy)
        self.ask_air({"do": "occupancy", "path": str(path)})

    def records(self) -> bytes:
        """All packets that arrived on the air."""
        path = self.folder / "records.bin"
        self.ask_air({"do": "records", "path": str(path)})
        return path.read_bytes()

    def transmit(self, run_number: int, slot: int, datagrams: int, users: int) -> None:
        """Users (as bits) send their datagrams now."""
        command = wire.GO.pack(b"G", run_number, slot, datagrams, users)
        self._commands.sendto(command, str(self.folder / "hosts.sock"))

    def stream(self, run_number: int, user: int, period: float, seconds: float) -> None:
        """A user sends steadily; a second call ends the first."""
        count = int(seconds / period)
        command = wire.STREAM.pack(b"S", run_number, user, int(period * 1e6), count)
        self._commands.sendto(command, str(self.folder / "hosts.sock"))


def be_quick() -> None:
    """Let this process and what it starts come before other work of this machine.

    A slot is a few milliseconds: a busy machine's ordinary turns would overrun it.
    """
    if os.geteuid() == 0:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
