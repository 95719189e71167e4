"""What a line of the audit log says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tacan.controller.messages import Choice, Report, Source


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 6)


def decision_record(
    slots: Sequence[Report],
    slot: int,
    allowed: npt.NDArray[np.bool_],
    choices: Sequence[Choice],
    source: Source,
    detail: str,
) -> dict[str, object]:
    """What was known (the slots since the last decision), what was decided, and why."""
    newest = slots[-1]
    known: dict[str, object] = {
        "slots": [report.slot for report in slots],
        "restart": any(report.restart for report in slots),
        "occupancy": ["".join(map(str, report.occupancy.tolist())) for report in slots],
        "entropy": [[round(x, 4) for x in report.entropy.tolist()] for report in slots],
        "queue_class": newest.queue_class.tolist(),
        "queue_delay": newest.queue_delay.tolist(),
        "forbidden": np.flatnonzero(~allowed).tolist(),
    }
    why = [
        {
            "user": choice.user,
            "channel": choice.channel,
            "probability": _rounded(choice.probability),
            "runner_up": choice.runner_up,
            "runner_up_probability": _rounded(choice.runner_up_probability),
        }
        for choice in choices
    ]
    return {
        "slot": slot,
        "source": source.value,
        "detail": detail,
        "known": known,
        "decided": [choice.channel for choice in choices],
        "why": why,
    }


def plain_record(slot: int, source: Source, detail: str) -> dict[str, object]:
    """A cycle without a decision."""
    return {"slot": slot, "source": source.value, "detail": detail}
