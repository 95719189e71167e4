"""One connection of a switch: handshake, requests matched by xid, echoes. Every request ends."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast

from tacan.controller.actuators import openflow_codec as codec
from tacan.controller.actuators import openflow_messages as said
from tacan.controller.messages import ActuatorError

TURN = 64
HANDSHAKE = 2.0
"""Seconds for each step of it: a busy switch lists its ports slowly, and no lease waits for that"""
MOST_UNREAD = 1 << 20
"""Bytes that may wait to be sent; plans are a few thousand"""
NO_GENERATION = 0xFFFF_FFFF_FFFF_FFFF
Reply = TypeVar("Reply", bound=said.Message)
Request = tuple[int, bytes]
Awaited = Mapping[int, type[said.Message]]
"""What answers each of the xids that are to be answered"""


@dataclass(slots=True)
class _Exchange:
    """Messages sent together, and the replies that are still missing."""

    missing: dict[int, type[said.Message]]
    done: asyncio.Future[None]
    replies: dict[int, said.Message] = field(default_factory=dict)


class Session:
    """Reads for as long as the connection lives; ``on_event`` gets what nobody asked for.

    It knows which of the ``ports`` are usable. Every change of a port is told, so what was told of
    a port stands whenever the list of all ports arrives: that only says what was never told.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        timeout: float,
        ports: Collection[int],
        on_event: Callable[[Session, said.Message], None],
    ) -> None:
        self._reader, self._writer = reader, writer
        self._timeout = timeout
        self._ports = frozenset(ports)
        self._on_event = on_event
        self._pending: dict[int, _Exchange] = {}
        self.usable: dict[int, bool] = {}
        self.encoder = codec.Encoder()
        self.in_charge = False
        self.closed = False

    async def greet(self) -> None:
        """Exchange hellos, the first message of either side."""
        self._writer.write(self.encoder.hello())
        async with asyncio.timeout(HANDSHAKE):
            first = codec.decode(await self._next())
        if not isinstance(first, said.Hello):
            raise said.CodecError("the first message is not a hello")

    async def introduce(self) -> said.Features:
        """Which switch it is, and which of its ports are usable: questions that change nothing."""
        features = await self._ask(self.encoder.features_request(), said.Features, HANDSHAKE)
        await self._ask(self.encoder.port_list_request(), said.PortList, HANDSHAKE)
        return features

    async def take_charge(self) -> None:
        """Take the master's role: no other controller writes from now on."""
        last = (await self._ask(self.encoder.role_question(), said.RoleReply)).generation
        generation = 1 if last == NO_GENERATION else (last + 1) % NO_GENERATION
        await self._ask(self.encoder.role_request(generation), said.RoleReply)
        self.in_charge = True

    async def _ask(
        self, request: Request, kind: type[Reply], patience: float | None = None
    ) -> Reply:
        replies = await self.exchange([request], {request[0]: kind}, patience)
        return cast("Reply", replies[request[0]])

    async def exchange(
        self, requests: Iterable[Request], awaited: Awaited, patience: float | None = None
    ) -> dict[int, said.Message]:
        """Send all in one go; wait until the awaited xids are answered, each by what answers it.

        An error that names any of them ends it with an ActuatorError, and so does silence. What the
        switch says of its own accord bears any xid: it is no answer though it bears one of these.
        """
        if self.closed:
            raise ActuatorError("the switch is not connected")
        patience = self._timeout if patience is None else patience
        sent = list(requests)
        exchange = _Exchange(dict(awaited), asyncio.get_running_loop().create_future())
        for xid, _ in sent:
            self._pending[xid] = exchange
        try:
            self._write(b"".join(data for _, data in sent))
            async with asyncio.timeout(patience):
                await exchange.done
        except TimeoutError:
            raise ActuatorError(f"the switch did not answer in {patience:g} s") from None
        finally:
            for xid, _ in sent:
                self._pending.pop(xid, None)
        return exchange.replies

    async def listen(self) -> None:
        """Read until the connection ends or breaks."""
        try:
            for number in itertools.count(1):
                self._take(codec.decode(await self._next()))
                if number % TURN == 0:  # a talkative switch must not keep the loop from deciding
                    await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the switch went away
        finally:
            self._end()

    async def watch(self, interval: float) -> None:
        """Ask for a sign of life now and then; close the connection if there is none."""
        while not self.closed:
            await asyncio.sleep(interval)
            try:
                await self._ask(self.encoder.echo_request(), said.EchoReply)
            except ActuatorError:
                self.close()

    def close(self) -> None:
        """Cut the connection."""
        self._writer.transport.abort()
        self._end()

    def _end(self) -> None:
        self.closed = True
        for exchange in self._pending.values():
            if not exchange.done.done():
                exchange.done.set_exception(ActuatorError("the switch went away"))
        self._pending.clear()

    async def _next(self) -> bytes:
        header = await self._reader.readexactly(codec.HEADER.size)
        rest = codec.message_length(header) - codec.HEADER.size
        return header + (await self._reader.readexactly(rest) if rest else b"")

    def _write(self, data: bytes) -> None:
        """Say it, unless too much of what was said before was not read."""
        if self._writer.transport.get_write_buffer_size() > MOST_UNREAD:
            raise ActuatorError(f"the switch left {MOST_UNREAD} bytes unread")
        self._writer.write(data)

    def _take(self, message: said.Message) -> None:
        if isinstance(message, said.EchoRequest):
            self._write(self.encoder.echo_reply(message))
            return
        if isinstance(message, said.PortStatus) and message.port in self._ports:
            self.usable[message.port] = message.usable
        exchange = self._pending.get(message.xid)
        if exchange is not None and type(message) is exchange.missing.get(message.xid):
            self._answered(exchange, message)
            return
        self._on_event(self, message)
        if exchange is None or not isinstance(message, said.SwitchError):
            return
        if not exchange.done.done():
            exchange.done.set_exception(ActuatorError(str(message)))

    def _answered(self, exchange: _Exchange, message: said.Message) -> None:
        if isinstance(message, said.PortList):
            for port, usable in message.ports:
                if port in self._ports:
                    self.usable.setdefault(port, usable)
            if message.more:
                return
        exchange.replies[message.xid] = message
        del exchange.missing[message.xid]
        if not exchange.missing and not exchange.done.done():
            exchange.done.set_result(None)


@contextlib.asynccontextmanager
async def kept_alive(session: Session, interval: float) -> AsyncIterator[asyncio.Task[None]]:
    """Listen and watch in the background; both end with the block."""
    tasks = [
        asyncio.create_task(session.listen(), name="openflow-listen"),
        asyncio.create_task(session.watch(interval), name="openflow-watch"),
    ]
    try:
        yield tasks[0]
    finally:
        session.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
