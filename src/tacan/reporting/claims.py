"""The paper's claims, each with a verdict that follows from the numbers by a stated rule.

*Reproduced*: our numbers show the same thing, by the claim's rule. *Exceeds*: they show more of it,
beyond the tolerance. *Differs*: they do not show it, or show clearly less. *Not available*: the
policy or the records are not there. No verdict is written by hand.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacan.evaluation.experiments import MLP, TACAN
from tacan.evaluation.store import RecordsError
from tacan.reporting.judges import (
    Judge,
    Outcome,
    attention_shape,
    change,
    deadlines,
    even_classes,
    gain,
    genie_is_no_bound,
    growing_gain,
    inference_dominates,
    mostly_shift,
    no_throughput_gain,
    value,
)
from tacan.reporting.records import Records

VALUE_RULE = "ours within the stated tolerance of the paper's value; exceeds if better beyond it"
GAIN_RULE = (
    "the paired mean gain within tolerance of the paper's and no seed lost; exceeds if larger "
    "beyond tolerance; differs otherwise"
)


@dataclass(frozen=True)
class Judged:
    """A claim and our verdict on it."""

    source: str
    """where the paper makes it"""
    claim: str
    outcome: Outcome
    because: str
    """our numbers, in words"""
    rule: str


CLAIMS: tuple[tuple[str, str, str, Judge], ...] = (
    (
        "abstract",
        "TACAN achieves 92.53 % packet-present access.",
        VALUE_RULE,
        value(TACAN, "access", "packet_access"),
    ),
    (
        "tab:packet_main",
        "TACAN's assignment success, standby included, is 92.93 %.",
        VALUE_RULE,
        value(TACAN, "assignment", "assignment_success"),
    ),
    (
        "abstract",
        "It gains 2.59 points of access over Greedy, in all five seeds.",
        GAIN_RULE,
        gain("greedy", "access"),
    ),
    (
        "sec:eval",
        "It gains 9.00 points of access over PPO+MLP.",
        GAIN_RULE,
        gain(MLP, "access"),
    ),
    (
        "abstract",
        "The gain over Greedy rises from 0.57 points at normal to 7.67 at extreme load.",
        "the mean gain rises from load to load, and from normal to extreme in every seed",
        growing_gain,
    ),
    (
        "sec:eval",
        "At extreme load the gain over Greedy is 7.67 points.",
        GAIN_RULE,
        gain("greedy", "access", "extreme", 7.67),
    ),
    (
        "abstract",
        "Mean delivery delay falls from Greedy's 1.208 to 1.123 slots.",
        GAIN_RULE,
        gain("greedy", "delay"),
    ),
    (
        "abstract",
        "The gap between users falls from Greedy's 9.69 to 3.15 points.",
        GAIN_RULE,
        gain("greedy", "access_gap"),
    ),
    (
        "abstract",
        "Delivered packets are limited by arrivals: no throughput gain.",
        "delivered per slot of TACAN and Greedy within 0.25 pp of each other",
        no_throughput_gain,
    ),
    (
        "sec:eval",
        "67.59 % of TACAN's successful assignments serve empty queues.",
        VALUE_RULE,
        value(TACAN, "empty_share", "empty_success_share"),
    ),
    (
        "sec:eval",
        "Access is similar for URLLC, mMTC and eMBB.",
        "the classes' mean access at most 1 pp apart",
        even_classes,
    ),
    (
        "sec:eval",
        "URLLC deadline misses are 0.00 % for TACAN, 0.16 % for Greedy.",
        "TACAN's at most 0.05 % and not above Greedy's",
        deadlines,
    ),
    (
        "fig:attention_viz",
        "Attention over occupancy rank is U-shaped, with a peak that rises with load.",
        "at every load first and last rank above uniform, some between below; the first rises",
        attention_shape,
    ),
    (
        "tab:ablation",
        "Zeroing the modulation entropy costs 2.89 points of assignment.",
        "the paired change within tolerance of the paper's",
        change("ablation", "zero-entropy", -2.89),
    ),
    (
        "tab:ablation",
        "Collapsing the history to one frame costs 4.77 points.",
        "the paired change within tolerance of the paper's",
        change("ablation", "single-frame", -4.77),
    ),
    (
        "tab:amc_robustness",
        "Destroying the entropy's information costs only 0.35 points.",
        "the paired change within tolerance of the paper's",
        change("mixing", "mixing:1", -0.35),
    ),
    (
        "sec:ablation",
        "So most of the zeroing penalty is unfamiliar input, not lost information.",
        "zeroing costs at least three times what full flattening costs",
        mostly_shift,
    ),
    (
        "tab:sdn_overhead",
        "A decision takes 5.01 ms on one core, nearly all of it inference.",
        "no slower at the median and inference more than half of it; exceeds if twice as fast",
        inference_dominates,
    ),
    (
        "tab:packet_main",
        "The current-slot genie stays below Greedy: it is no upper bound.",
        "the genie's mean access below Greedy's",
        genie_is_no_bound,
    ),
)


def judge_claims(records: Records) -> list[Judged]:
    """Every claim with its verdict."""
    judged = []
    for source, claim, rule, judge in CLAIMS:
        try:
            outcome, because = judge(records)
        except RecordsError as error:
            outcome, because = Outcome.MISSING, str(error)
        judged.append(Judged(source, claim, outcome, because, rule))
    return judged
