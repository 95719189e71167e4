"""What the records show that the paper does not say, in sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Callable

from tacan.errors import UserError
from tacan.evaluation.experiments import MATCHED, TACAN
from tacan.reporting.judges import between, costs, interval_of
from tacan.reporting.limit_tables import ladder_question
from tacan.reporting.records import Records, estimate

WINDOW, FILTER, LIMIT, GREEDY = "window-bayes:8", "bayes-renewal", "oracle-state", "greedy"
FIXED, QUEUED = "fixed", "queued-first"


def _access(records: Records, policy: str, order: str = FIXED) -> dict[int, float]:
    return records.by_seed(ladder_question(policy, order), "packet_access")


def _mean(records: Records, policy: str, order: str = FIXED) -> str:
    return f"{estimate(_access(records, policy, order).values()).mean:.2f} %"


def _gain(records: Records, policy: str, other: str) -> str:
    """The paired difference of two policies in the fixed order, with its interval."""
    first, second = _access(records, policy), _access(records, other)
    gains = [first[seed] - second[seed] for seed in first]
    return f"{estimate(gains).mean:+.2f} pp, {between(interval_of(gains))}"


def window_limit(records: Records) -> str:
    """How near TACAN is to the best use of what it sees."""
    return (
        f"TACAN's access ({_mean(records, TACAN)}) against the best use of the same 8 slots "
        f"({_mean(records, WINDOW)}): {_gain(records, TACAN, WINDOW)}. What its window can tell "
        "bounds it."
    )


def matched_control(records: Records) -> str:
    """Whether capacity and supervision explain TACAN's gain."""
    return (
        "A flat network of TACAN's capacity and supervision reaches "
        f"{_mean(records, MATCHED)}: against TACAN {_gain(records, MATCHED, TACAN)}, against "
        f"Greedy {_gain(records, MATCHED, GREEDY)}."
    )


def memory(records: Records) -> str:
    """What remembering the episode is worth."""
    return (
        f"A filter that remembers the whole episode reaches {_mean(records, FILTER)}, against "
        f"TACAN {_gain(records, FILTER, TACAN)}; knowing all hidden state {_mean(records, LIMIT)}."
    )


def orders(records: Records) -> str:
    """What serving queued users first is worth, with nothing learned anew."""
    moves = ", ".join(
        f"{name} from {_mean(records, policy)} to {_mean(records, policy, QUEUED)}"
        for policy, name in ((GREEDY, "Greedy"), (TACAN, "TACAN"), (FILTER, "that filter"))
    )
    return (
        f"Serving users with a packet first takes {moves}; the limit of any causal policy is then "
        f"{_mean(records, LIMIT, QUEUED)}."
    )


def entropy(records: Records) -> str:
    """What the information in the modulation entropy is worth to the trained policy."""
    found = costs(records, "mixing", "mixing:1")
    return (
        f"Destroying all information in the modulation entropy costs TACAN "
        f"{estimate(found).mean:.2f} points of assignment, {between(interval_of(found))}."
    )


FINDINGS: tuple[Callable[[Records], str], ...] = (
    window_limit,
    matched_control,
    memory,
    orders,
    entropy,
)


def findings(records: Records) -> tuple[str, ...]:
    """Every finding that the records can support."""
    sentences = []
    for find in FINDINGS:
        try:
            sentences.append(find(records))
        except UserError:  # its table says why there are no numbers
            continue
    return tuple(sentences)
