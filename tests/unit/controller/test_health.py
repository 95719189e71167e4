"""The two pages, and what a bad client gets."""

import asyncio

from tacan.controller.health import MOST_REQUEST_BYTES, HealthServer
from tacan.controller.metrics import Metrics


def ask(request: bytes, problems: list[str] | None = None) -> str:
    """One request to a server with these problems."""
    metrics = Metrics()
    metrics.stages["decide"].add(0.0003)
    metrics.sources["policy"] += 1
    server = HealthServer(
        "127.0.0.1", 0, lambda: metrics.text({"intake": {"late": 2}}), lambda: problems or []
    )

    async def talk() -> bytes:
        await server.start()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(request)
            answer = await reader.read()
            writer.close()
            return answer
        finally:
            await server.stop()

    return asyncio.run(talk()).decode()


def test_metrics_are_prometheus_text() -> None:
    """A histogram is cumulative, and counters carry their labels."""
    page = ask(b"GET /metrics HTTP/1.1\r\n\r\n")
    assert page.startswith("HTTP/1.1 200 OK")
    assert 'tacan_stage_seconds_bucket{stage="decide",le="0.00025"} 0' in page
    assert 'tacan_stage_seconds_bucket{stage="decide",le="0.0005"} 1' in page
    assert 'tacan_stage_seconds_bucket{stage="decide",le="+Inf"} 1' in page
    assert 'tacan_intake_total{what="late"} 2' in page


def test_health_says_what_is_wrong() -> None:
    """200 when nothing is, else 503 with the sentences."""
    assert ask(b"GET /healthz HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 200")
    sick = ask(b"GET /healthz HTTP/1.1\r\n\r\n", ["the actuator cannot act"])
    assert sick.startswith("HTTP/1.1 503")
    assert "the actuator cannot act" in sick


def test_other_requests_are_refused() -> None:
    """Another path, another method, and a request without end."""
    assert ask(b"GET /etc/passwd HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 404")
    assert ask(b"POST /metrics HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 405")
    assert ask(b"G" * (2 * MOST_REQUEST_BYTES)).startswith("HTTP/1.1 400")
