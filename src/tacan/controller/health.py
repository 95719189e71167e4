"""Two pages over HTTP: /metrics for Prometheus and /healthz for whoever restarts things.

A small server of its own, because that is all it does: GET, two paths, small requests, few
connections, short patience.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable

from tacan.errors import UserError

MOST_REQUEST_BYTES = 4_096
MOST_CONNECTIONS = 16
PATIENCE = 2.0

Page = tuple[int, str, str]
"""status, content type, body"""

REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}


class HealthServer:
    """Serves what two callables say."""

    def __init__(
        self,
        host: str,
        port: int,
        metrics: Callable[[], str],
        problems: Callable[[], list[str]],
    ) -> None:
        self._host, self._port = host, port
        self._metrics, self._problems = metrics, problems
        self._server: asyncio.Server | None = None
        self._open = 0

    @property
    def port(self) -> int:
        """The port it listens on (a free one was chosen for port 0)."""
        if self._server is None:
            return self._port
        return int(self._server.sockets[0].getsockname()[1])

    async def start(self) -> None:
        """Listen."""
        try:
            self._server = await asyncio.start_server(
                self._serve, self._host, self._port, limit=MOST_REQUEST_BYTES
            )
        except OSError as error:
            raise UserError(
                f"http.listen {self._host}:{self._port}: cannot listen: {error.strerror}"
            ) from None

    async def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= MOST_CONNECTIONS:
                async with asyncio.timeout(PATIENCE):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(_response(self._page(head)))
                    await writer.drain()
        except asyncio.LimitOverrunError:
            writer.write(_response((400, "text/plain", "the request is too long\n")))
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            pass  # a client that goes away or dawdles is its own affair
        finally:
            self._open -= 1
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def _page(self, head: bytes) -> Page:
        method, _, rest = head.split(b"\r\n", 1)[0].partition(b" ")
        if method != b"GET":
            return (405, "text/plain", "only GET\n")
        match rest.split(b" ")[0].partition(b"?")[0]:
            case b"/metrics":
                return (200, "text/plain; version=0.0.4", self._metrics())
            case b"/healthz":
                problems = self._problems()
                body = json.dumps({"healthy": not problems, "problems": problems}) + "\n"
                return (503 if problems else 200, "application/json", body)
        return (404, "text/plain", "only /metrics and /healthz\n")


def _response(page: Page) -> bytes:
    status, kind, body = page
    content = body.encode()
    reason = REASONS.get(status, "Service Unavailable")
    head = (
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(content)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + content
