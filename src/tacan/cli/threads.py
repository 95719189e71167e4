"""How many threads a command runs."""

from __future__ import annotations

import os


def worker_threads(asked: int | None) -> int:
    """As many as were asked for, but not more than there are processors; None: all of these."""
    processors = len(os.sched_getaffinity(0))
    return processors if asked is None else min(asked, processors)
