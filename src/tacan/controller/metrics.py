"""Numbers for Prometheus, in its text format."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping

BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
STAGES = ("aggregate", "decide", "rules", "actuate", "total")


class Histogram:
    """How often a duration fell below each bound."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.sum = 0.0
        self.kept: array[float] | None = None

    def keep(self) -> None:
        """Keep every duration from now on, for a benchmark."""
        self.kept = array("d")

    def add(self, seconds: float) -> None:
        """Count one duration."""
        if self.kept is not None:
            self.kept.append(seconds)
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds

    def lines(self, name: str, label: str) -> Iterable[str]:
        """Cumulative counts, as Prometheus wants them."""
        total = 0
        for bound, count in zip((*(f"{b:g}" for b in BUCKETS), "+Inf"), self.counts, strict=True):
            total += count
            yield f'{name}_bucket{{{label},le="{bound}"}} {total}'
        yield f"{name}_sum{{{label}}} {self.sum:.9f}"
        yield f"{name}_count{{{label}}} {total}"


class Metrics:
    """All counters of the loop; those of its parts are read when somebody asks."""

    def __init__(self) -> None:
        self.stages = {stage: Histogram() for stage in STAGES}
        self.sources: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        self.gauges: dict[str, float] = {}

    def text(self, parts: Mapping[str, Mapping[str, int]]) -> str:
        """Everything, in the text exposition format."""
        lines = ["# TYPE tacan_stage_seconds histogram"]
        for stage, histogram in self.stages.items():
            lines += histogram.lines("tacan_stage_seconds", f'stage="{stage}"')
        lines.append("# TYPE tacan_decisions_total counter")
        lines += _counted("tacan_decisions_total", "source", self.sources)
        lines.append("# TYPE tacan_events_total counter")
        lines += _counted("tacan_events_total", "event", self.events)
        for part, counts in parts.items():
            lines.append(f"# TYPE tacan_{part}_total counter")
            lines += _counted(f"tacan_{part}_total", "what", counts)
        for name, value in self.gauges.items():
            lines += [f"# TYPE tacan_{name} gauge", f"tacan_{name} {value:.9g}"]
        return "\n".join(lines) + "\n"


def _counted(name: str, label: str, counts: Mapping[str, int]) -> Iterable[str]:
    for key, value in sorted(counts.items()):
        yield f'{name}{{{label}="{key}"}} {value}'
