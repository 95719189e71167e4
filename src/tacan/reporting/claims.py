"""The paper's claims, each with a verdict that follows from the numbers by a stated rule.

*Reproduced*: our numbers show the same thing, by the claim's rule. *Exceeds*: they show more of it,
beyond the tolerance. *Differs*: they do not show it, or show clearly less. *Not available*: the
policy or the records are not there. No verdict is written by hand.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacan.errors import UserError
from tacan.evaluation.experiments import MLP, TACAN
from tacan.reporting.judges import (
    Judge,
    Outcome,
    attention_shape,
    better_in_each_class,
    cost,
    deadlines,
    even_classes,
    fall,
    gain,
    genie_is_no_bound,
    growing_gain,
    inference_dominates,
    monotone_mixing,
    mostly_shift,
    no_throughput_gain,
    value,
)
from tacan.reporting.records import Records

VALUE_RULE = "ours within the stated tolerance of the paper's value; exceeds if better beyond it"
GAIN_RULE = (
    "the paired mean gain within tolerance of the paper's, its interval above zero and no seed "
    "lost; exceeds if larger beyond tolerance; differs otherwise"
)
COST_RULE = "the paired mean cost within tolerance of the paper's and its 95 % interval above zero"


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
    stages: tuple[str, ...]
    """whose records were asked"""


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
        "The gain over Greedy rises with primary-user load.",
        "the mean gain rises from load to load, and from normal to extreme in every seed",
        growing_gain,
    ),
    (
        "abstract",
        "At normal load the gain over Greedy is 0.57 points.",
        GAIN_RULE,
        gain("greedy", "access", "normal", 0.57),
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
        fall("delay"),
    ),
    (
        "abstract",
        "The gap between users falls from Greedy's 9.69 to 3.15 points.",
        GAIN_RULE,
        fall("access_gap"),
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
        "TACAN improves on Greedy's access in each class.",
        "a gain in every class and seed",
        better_in_each_class,
    ),
    (
        "sec:eval",
        "URLLC deadline misses are 0.00 % for TACAN, 0.16 % for Greedy.",
        (
            "TACAN's is 0.00 in the digits printed, and the 95 % interval of how many fewer these "
            "are than Greedy's, by seed, lies above zero"
        ),
        deadlines,
    ),
    (
        "fig:attention_viz",
        "Attention over occupancy rank is U-shaped, with a peak that rises with load.",
        (
            "at every load the first and the last rank are above uniform by more than the margin "
            "of 0.01, and some between below it; the first rises with load"
        ),
        attention_shape,
    ),
    (
        "tab:ablation",
        "Zeroing the modulation entropy costs 2.89 points of assignment.",
        COST_RULE,
        cost("ablation", "zero-entropy", 2.89),
    ),
    (
        "tab:ablation",
        "Collapsing the history to one frame costs 4.77 points.",
        COST_RULE,
        cost("ablation", "single-frame", 4.77),
    ),
    (
        "tab:amc_robustness",
        "Destroying the entropy's information costs only 0.35 points.",
        COST_RULE,
        cost("mixing", "mixing:1", 0.35),
    ),
    (
        "sec:ablation",
        "Assignment falls steadily with the share of uniform posterior.",
        "the mean is lower at every next share",
        monotone_mixing,
    ),
    (
        "sec:ablation",
        "So most of the zeroing penalty is unfamiliar input, not lost information.",
        (
            "zeroing has a cost whose 95 % interval lies above zero, at least three times that "
            "of full flattening"
        ),
        mostly_shift,
    ),
    (
        "tab:sdn_overhead",
        "A decision takes 5.01 ms on one core, and inference dominates it.",
        (
            "no slower at the median and inference more than half of it; exceeds if twice as fast. "
            "Another machine than the paper's: only the shape can be reproduced"
        ),
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
        records.asked.clear()
        try:
            outcome, because = judge(records)
        except UserError as error:
            outcome, because = Outcome.MISSING, str(error)
        stages = tuple(sorted(records.asked))
        judged.append(Judged(source, claim, outcome, because, rule, stages))
    return judged
