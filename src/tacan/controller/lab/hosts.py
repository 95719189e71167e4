"""The secondary users: each in its own namespace, sending when told, to one address for all.

    python -m tacan.controller.lab.hosts FOLDER NAMESPACE..

A user does not know its channel: the switch steers. Commands (binary, for they are urgent) come to
FOLDER/hosts.sock.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

from tacan.controller.lab.wire import (
    AIR_ADDRESS,
    GO,
    MAGIC,
    PACKET,
    PAYLOAD,
    STREAM,
    UDP_PORT,
    command_socket,
    datagram_socket,
)

PADDING = bytes(PAYLOAD - PACKET.size)


class Hosts:
    """Sends what it is told to."""

    def __init__(self, folder: Path, namespaces: list[str]) -> None:
        self._commands = command_socket(folder / "hosts.sock")
        self._users = [datagram_socket(name, None) for name in namespaces]
        for made in self._users:
            made.connect((AIR_ADDRESS, UDP_PORT))

    def run(self) -> None:
        """Until told to stop."""
        while True:
            data = self._commands.recv(2_048)
            match data[:1]:
                case b"G":
                    self._transmit(data)
                case b"S":
                    self._stream(data)
                case _:
                    return

    def _transmit(self, data: bytes) -> None:
        _, run, slot, datagrams, users = GO.unpack(data)
        for number in range(datagrams):
            for user in range(len(self._users)):
                if users >> user & 1:
                    self._send(run, slot, user, number)

    def _stream(self, data: bytes) -> None:
        """A packet every period, until all are sent or another command comes."""
        _, run, user, period, count = STREAM.unpack(data)
        due = time.monotonic()
        for number in range(count):
            self._send(run, 0, user, number)
            due += period / 1e6
            self._commands.settimeout(max(1e-6, due - time.monotonic()))
            try:
                self._commands.recv(1, socket.MSG_PEEK)
                break
            except TimeoutError:
                continue
        self._commands.settimeout(None)

    def _send(self, run: int, slot: int, user: int, number: int) -> None:
        sent = time.monotonic_ns()
        try:
            self._users[user].send(PACKET.pack(MAGIC, run, slot, user, number, sent) + PADDING)
        except OSError:
            return  # a cable that is down loses packets, as cables do


if __name__ == "__main__":
    Hosts(Path(sys.argv[1]), sys.argv[2:]).run()
