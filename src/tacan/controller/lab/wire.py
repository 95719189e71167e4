"""What lab processes send each other; only the standard library, so that they start at once."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from pathlib import Path

AIR_ADDRESS = "10.77.255.1"
AIR_HARDWARE = "02:7a:ca:00:00:01"
UDP_PORT = 7_777
SO_NO_CHECK = 11
CLONE_NEWNET = 0x4000_0000
RECEIVE_BUFFER = 4 << 20

PACKET = struct.Struct("!4sIIHIQ")
"""magic, run, slot, user, sequence number, sent (monotonic ns)"""
MAGIC = b"TACA"
PAYLOAD = 64
"""bytes of a datagram, padding included"""

GO = struct.Struct("!cIIHI")
"""G, run, slot, datagrams, users as bits: transmit now"""
STREAM = struct.Struct("!cIHII")
"""S, run, user, period in microseconds, how many: transmit steadily"""

RECORD = struct.Struct("=IIHHIQQB")
"""run, slot, user, channel, sequence number, sent, arrived, busy"""


def enter_namespace(name: str) -> None:
    """Move this process into a network namespace; its sockets stay where they were made."""
    handle = os.open(Path("/run/netns") / name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(handle, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter namespace {name}")
    finally:
        os.close(handle)


def datagram_socket(name: str, address: str | None) -> socket.socket:
    """A UDP socket inside a namespace."""
    enter_namespace(name)
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # a virtual cable computes no checksums, and the switch would pass them on unfinished
    made.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    made.setblocking(False)
    if address is not None:
        made.bind((address, UDP_PORT))
    return made


def command_socket(path: Path) -> socket.socket:
    """A unix datagram socket for commands."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.bind(str(path))
    return made
