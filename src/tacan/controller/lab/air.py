"""The air: the far end of every channel, where primary users are on or off, slot by slot.

    python -m tacan.controller.lab.air FOLDER NAMESPACE..

One process listens on all channels, each in its own namespace, for its sockets stay where they were
made. It is told the primary users' occupancy of every slot; a packet that names a slot in which its
channel is busy counts as collided. Commands (JSON) come to FOLDER/air.sock.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time
from pathlib import Path

from tacan.controller.lab.wire import (
    AIR_ADDRESS,
    MAGIC,
    PACKET,
    RECORD,
    command_socket,
    datagram_socket,
)

BURST = 256


class Air:
    """Receives, judges, keeps."""

    def __init__(self, folder: Path, namespaces: list[str]) -> None:
        self._channels = len(namespaces)
        self._occupancy = b""
        self._records = bytearray()
        self._commands = command_socket(folder / "air.sock")
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._commands, selectors.EVENT_READ, -1)
        for channel, name in enumerate(namespaces):
            made = datagram_socket(name, AIR_ADDRESS)
            self._selector.register(made, selectors.EVENT_READ, channel)

    def run(self) -> None:
        """Until told to stop."""
        while True:
            for key, _ in self._selector.select():
                if key.data >= 0 and isinstance(key.fileobj, socket.socket):
                    self._receive(key.fileobj, key.data)
                elif not self._obey():
                    return

    def _receive(self, source: socket.socket, channel: int) -> None:
        for _ in range(BURST):
            try:
                data = source.recv(2_048)
            except BlockingIOError:
                return
            arrived = time.monotonic_ns()
            if len(data) < PACKET.size or not data.startswith(MAGIC):
                continue
            _, run, slot, user, number, sent = PACKET.unpack_from(data)
            place = slot * self._channels + channel
            busy = place < len(self._occupancy) and self._occupancy[place] != 0
            self._records += RECORD.pack(run, slot, user, channel, number, sent, arrived, busy)

    def _obey(self) -> bool:
        data, sender = self._commands.recvfrom(65_536)
        command = json.loads(data)
        match command["do"]:
            case "occupancy":
                self._occupancy = Path(command["path"]).read_bytes()
                self._records.clear()
            case "records":
                Path(command["path"]).write_bytes(self._records)
            case "stop":
                return False
        if sender:
            self._commands.sendto(b"done", sender)
        return True


if __name__ == "__main__":
    Air(Path(sys.argv[1]), sys.argv[2:]).run()
