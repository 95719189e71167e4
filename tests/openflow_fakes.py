"""A switch of OpenFlow 1.3 made of plain bytes: it obeys, refuses or keeps silent, as told."""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

HEADER = struct.Struct("!BBHI")
HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, EXPERIMENTER, FEATURES, PORT_STATUS = 0, 1, 2, 3, 4, 5, 12
FLOW_MOD, MULTIPART, BARRIER, ROLE, FLOW_REMOVED = 14, 18, 20, 24, 11
BUNDLE_CONTROL, BUNDLE_ADD = 2300, 2301
ONF = 0x4F4E4600


def message(kind: int, xid: int, body: bytes = b"", version: int = 4) -> bytes:
    return HEADER.pack(version, kind, HEADER.size + len(body), xid) + body


def port(number: int, *, link_down: bool = False) -> bytes:
    """An ofp_port of 64 bytes."""
    return struct.pack(
        "!I4x6s2x16sIIIIIIII", number, b"\2\0\0\0\0\1", b"p", 0, link_down, 0, 0, 0, 0, 0, 0
    )


@dataclass
class Flow:
    """A rule as the fake switch holds it."""

    in_port: int
    output: int
    cookie: int
    hard_timeout: int


@dataclass
class FakeSwitch:
    """Connects to a controller's unix socket and serves it until the connection ends."""

    path: str
    ports: tuple[int, ...]
    datapath_id: int = 7
    refuse_commits: bool = False
    silent: bool = False
    slow: float = 0.0
    """seconds it takes to list its ports"""
    flows: dict[int, Flow] = field(default_factory=dict)
    seen: list[int] = field(default_factory=list)
    """types of the messages it got"""
    bundles: list[list[bytes]] = field(default_factory=list)
    """the messages of every committed bundle"""

    async def connect(self, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        """To the unix socket, or to a port of this machine."""
        if port:
            opened = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
        else:
            opened = await asyncio.open_unix_connection(self.path)
        self._reader, self._writer = opened
        self._writer.write(message(HELLO, 1))
        self._serving = asyncio.create_task(self._serve())

    async def disconnect(self) -> None:
        self._writer.close()
        self._serving.cancel()
        await asyncio.gather(self._serving, return_exceptions=True)

    def say(self, *parts: bytes) -> None:
        self._writer.write(b"".join(parts))

    def set_link(self, number: int, *, down: bool) -> None:
        self.say(message(PORT_STATUS, 0, struct.pack("!B7x", 2) + port(number, link_down=down)))

    def expire(self, in_port: int) -> None:
        flow = self.flows.pop(in_port)
        body = struct.pack("!QHBBIIHHQQ", flow.cookie, 100, 1, 0, 2, 0, 0, 2, 0, 0)
        self.say(message(FLOW_REMOVED, 0, body + struct.pack("!HHI", 1, 4, 0)))

    async def _serve(self) -> None:
        bundle: list[bytes] = []
        while True:
            header = await self._reader.readexactly(HEADER.size)
            _, kind, length, xid = HEADER.unpack(header)
            body = await self._reader.readexactly(length - HEADER.size)
            self.seen.append(kind)
            if self.silent and kind != HELLO:
                continue
            match kind:
                case _ if kind == FEATURES:
                    features = struct.pack("!QIBB2xII", self.datapath_id, 0, 1, 0, 0, 0)
                    self.say(message(6, xid, features))
                case _ if kind == MULTIPART:
                    await asyncio.sleep(self.slow)
                    half = len(self.ports) // 2
                    for more, some in ((1, self.ports[:half]), (0, self.ports[half:])):
                        head = struct.pack("!HH4x", 13, more)
                        self.say(message(19, xid, head + b"".join(map(port, some))))
                case _ if kind == ROLE:
                    self.say(message(25, xid, struct.pack("!I4xQ", 2, 41)))
                case _ if kind == BARRIER:
                    self.say(message(21, xid))
                case _ if kind == ECHO_REQUEST:
                    self.say(message(ECHO_REPLY, xid, body))
                case _ if kind == EXPERIMENTER:
                    bundle = self._bundle(body, xid, bundle)

    def _bundle(self, body: bytes, xid: int, bundle: list[bytes]) -> list[bytes]:
        vendor, kind = struct.unpack_from("!II", body)
        assert vendor == ONF
        if kind == BUNDLE_ADD:
            return [*bundle, body[16:]]
        number, step, flags = struct.unpack_from("!IHH", body, 8)
        if step == 4 and self.refuse_commits:
            self.say(message(ERROR, xid, struct.pack("!HH", 0xFFFF, 2302)))
            return []
        if step == 4:
            self.bundles.append(bundle)
            self._carry_out(bundle)
            bundle = []
        reply = struct.pack("!IIIHH", ONF, BUNDLE_CONTROL, number, step + 1, flags)
        self.say(message(EXPERIMENTER, xid, reply))
        return bundle

    def _carry_out(self, bundle: Iterable[bytes]) -> None:
        for data in bundle:
            cookie, mask = struct.unpack_from("!QQ", data, 8)
            command, _, hard = struct.unpack_from("!BHH", data, 25)
            match_length = struct.unpack_from("!H", data, 50)[0]
            in_port = struct.unpack_from("!I", data, 56)[0] if match_length > 4 else None
            if command == 0:
                assert in_port is not None
                end = 48 + (match_length + 7) // 8 * 8
                output = struct.unpack_from("!I", data, end + 12)[0]
                self.flows[in_port] = Flow(in_port, output, cookie, hard)
                continue
            for known in list(self.flows.values()):
                if known.cookie & mask == cookie and in_port in {None, known.in_port}:
                    del self.flows[known.in_port]
