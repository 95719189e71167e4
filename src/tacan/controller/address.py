"""Where something listens: ``unix:PATH``, ``tcp:HOST:PORT`` or ``tls:HOST:PORT``."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import socket
import ssl
import stat
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tacan.errors import UserError

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Address:
    """One place to listen at."""

    kind: str
    """unix, tcp or tls"""
    host: str
    """a path for unix"""
    port: int

    @staticmethod
    def parse(text: str) -> Address:
        """Read one; ValueError says what is wrong with it."""
        kind, _, rest = text.partition(":")
        if kind == "unix" and rest:
            return Address("unix", rest, 0)
        host, _, port = rest.rpartition(":")
        if kind in {"tcp", "tls"} and host and port.isdecimal() and int(port) < 65_536:
            return Address(kind, host.strip("[]"), int(port))
        raise ValueError("must be unix:PATH, tcp:HOST:PORT or tls:HOST:PORT")

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.kind == "unix" or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return (
            f"unix:{self.host}" if self.kind == "unix" else f"{self.kind}:{self.host}:{self.port}"
        )


async def listen(
    address: Address, serve: Serve, limit: int, tls: ssl.SSLContext | None = None
) -> asyncio.Server:
    """Serve connections; a socket file that nobody listens at any more is replaced."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    try:
        if address.kind == "unix":
            _make_way(Path(address.host))
            previous = os.umask(0o077)
            try:
                return await asyncio.start_unix_server(accept, address.host, limit=limit)
            finally:
                os.umask(previous)
        return await asyncio.start_server(
            accept, address.host, address.port, limit=limit, ssl=tls, reuse_address=True
        )
    except OSError as error:
        raise UserError(f"{address}: cannot listen: {error.strerror or error}") from None


def _make_way(path: Path) -> None:
    """Remove the socket file of a process that is gone; asyncio would remove a living one's too."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise UserError(f"unix:{path}: there is a file of that name which is not a socket")
        if _answers(path):
            raise UserError(
                f"unix:{path}: in use: another process listens there; stop it, or name another path"
            )
        path.unlink()


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
        except BlockingIOError:  # so many are knocking that it has to wait
            return True
        return True
