"""When our value counts as the paper's: one stated rule for every number.

Ours *matches* when it lies within

    tolerance = max(margin, t(0.975, n + m - 2) * sqrt(s² / n + r² / m))

of the paper's, with s, n our standard deviation and seeds and r, m the paper's. The margin belongs
to the quantity (paper.toml). Where the paper prints no standard deviation, ours stands in for it;
where a value is not a mean over seeds, the margin alone decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from tacan.evaluation.statistics import student_t_quantile
from tacan.reporting.paper import Quantity, Value


class Verdict(StrEnum):
    """How our value stands to the paper's."""

    MATCHES = "matches"
    BETTER = "better"
    WORSE = "worse"
    DIFFERS = "differs"
    MISSING = "not available"


SIGNS = {
    Verdict.MATCHES: "=",
    Verdict.BETTER: "▲",
    Verdict.WORSE: "▼",
    Verdict.DIFFERS: "≠",
    Verdict.MISSING: "–",
}


@dataclass(frozen=True)
class Comparison:
    """Our value beside the paper's."""

    difference: float
    tolerance: float
    verdict: Verdict


def tolerance(quantity: Quantity, ours: Value, paper: Value) -> float:
    """The largest difference that still counts as the same value."""
    spread, papers_spread = ours.deviation, paper.deviation
    if spread is None or ours.seeds < 2:
        return quantity.margin
    papers_spread = spread if papers_spread is None else papers_spread
    error = math.sqrt(spread**2 / ours.seeds + papers_spread**2 / paper.seeds)
    return max(quantity.margin, student_t_quantile(0.975, ours.seeds + paper.seeds - 2) * error)


def compare_values(quantity: Quantity, ours: Value, paper: Value) -> Comparison:
    """The difference, ours minus the paper's, and what the rule says of it."""
    difference = ours.mean - paper.mean
    allowed = tolerance(quantity, ours, paper)
    if abs(difference) <= allowed + 1e-9:
        verdict = Verdict.MATCHES
    elif quantity.better == "neither":
        verdict = Verdict.DIFFERS
    elif (difference > 0) == (quantity.better == "higher"):
        verdict = Verdict.BETTER
    else:
        verdict = Verdict.WORSE
    return Comparison(difference, allowed, verdict)
