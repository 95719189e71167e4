"""What is reported of a seed: pure functions of its ledger, each defined in one table.

Rates are fractions, delays are slots. A metric without data (no attempt was made, nothing was
delivered) is None: it is there, and it says that there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Flag, StrEnum, auto

from tacan.evaluation.fairness import Fairness, fairness
from tacan.evaluation.ledger import STANDBY, Ledger
from tacan.evaluation.tally import Tally, percentile, tally
from tacan.scenario import CLASSES

Value = float | None
Metrics = Mapping[str, Value]


class Unit(StrEnum):
    """What a metric is measured in."""

    FRACTION = "fraction"
    SLOTS = "slots"
    PACKETS = "packets"
    REWARD = "reward"
    INDEX = "index"


class Scope(Flag):
    """Of whom a metric is given, besides of everybody."""

    ALL = 0
    CLASS = auto()
    """also of every packet class: NAME_urllc, NAME_mmtc, NAME_embb"""
    USER = auto()
    """also of every secondary user: NAME_user_0, NAME_user_1, ..."""


@dataclass(frozen=True)
class Metric:
    """One row of the table of metrics."""

    name: str
    unit: Unit
    definition: str
    scope: Scope
    of_tally: Callable[[Tally], Value] | None = None
    """exactly one of these two computes it"""
    of_fairness: Callable[[Fairness], Value] | None = None


def _ratio(part: float, whole: float) -> Value:
    return None if whole == 0 else part / whole


BOTH = Scope.CLASS | Scope.USER
METRICS: tuple[Metric, ...] = (
    Metric(
        "assignment_success",
        Unit.FRACTION,
        "SU-slots whose channel was free of primary and secondary users, of all SU-slots; standby "
        "assignments of empty queues count",
        Scope.USER,
        lambda t: _ratio(t.successes, t.slots),
    ),
    Metric(
        "standby_success",
        Unit.FRACTION,
        "the same, of SU-slots with an empty queue only",
        Scope.USER,
        lambda t: _ratio(t.standby_successes, t.standby_slots),
    ),
    Metric(
        "packet_access",
        Unit.FRACTION,
        "attempts (SU-slots with a packet queued) that delivered it; of a class: attempts with a "
        "packet of that class at the head of the queue",
        BOTH,
        lambda t: _ratio(t.delivered, t.attempts),
    ),
    Metric(
        "delivery_per_slot",
        Unit.FRACTION,
        "delivered packets per SU-slot",
        BOTH,
        lambda t: _ratio(t.delivered, t.slots),
    ),
    Metric(
        "empty_success_share",
        Unit.FRACTION,
        "successful assignments that went to an empty queue, of all successful assignments",
        Scope.USER,
        lambda t: _ratio(t.standby_successes, t.successes),
    ),
    Metric(
        "delay_mean",
        Unit.SLOTS,
        "mean delay of delivered packets: the slot of delivery minus the slot of arrival",
        BOTH,
        lambda t: _ratio(t.delay_sum, t.delivered),
    ),
    Metric(
        "delay_p50",
        Unit.SLOTS,
        "median delay of delivered packets (linear interpolation, as numpy.percentile)",
        BOTH,
        lambda t: percentile(t.delays, 50),
    ),
    Metric(
        "delay_p95",
        Unit.SLOTS,
        "95th percentile of the delay of delivered packets",
        BOTH,
        lambda t: percentile(t.delays, 95),
    ),
    Metric(
        "delay_p99",
        Unit.SLOTS,
        "99th percentile of the delay of delivered packets",
        BOTH,
        lambda t: percentile(t.delays, 99),
    ),
    Metric(
        "urllc_deadline_miss",
        Unit.FRACTION,
        "URLLC packets delivered later than the deadline (reward.deadline_slots), of delivered "
        "URLLC packets",
        Scope.USER,
        lambda t: _ratio(t.urllc_late, t.urllc_delivered),
    ),
    Metric(
        "urllc_deadline_miss_strict",
        Unit.FRACTION,
        "URLLC packets delivered later than the deadline, dropped, or still queued at the end when "
        "they could only be late, of those three and the ones delivered in time",
        Scope.USER,
        lambda t: _ratio(t.urllc_late + t.urllc_lost, t.urllc_delivered + t.urllc_lost),
    ),
    Metric(
        "pu_collision_per_attempt",
        Unit.FRACTION,
        "attempts whose channel had a primary user on it",
        BOTH,
        lambda t: _ratio(t.primary_collisions_queued, t.attempts),
    ),
    Metric(
        "pu_collision_per_slot",
        Unit.FRACTION,
        "SU-slots, standby included, whose channel had a primary user on it",
        Scope.USER,
        lambda t: _ratio(t.primary_collisions, t.slots),
    ),
    Metric(
        "su_collision_per_attempt",
        Unit.FRACTION,
        "attempts whose channel was assigned to another secondary user as well",
        BOTH,
        lambda t: _ratio(t.secondary_collisions_queued, t.attempts),
    ),
    Metric(
        "su_collision_per_slot",
        Unit.FRACTION,
        "SU-slots, standby included, whose channel was assigned to another secondary user as well",
        Scope.USER,
        lambda t: _ratio(t.secondary_collisions, t.slots),
    ),
    Metric(
        "packets_offered",
        Unit.PACKETS,
        "packets waiting at reset or arrived later",
        BOTH,
        lambda t: t.offered,
    ),
    Metric(
        "packets_delivered",
        Unit.PACKETS,
        "packets that got through",
        BOTH,
        lambda t: t.delivered,
    ),
    Metric(
        "packets_dropped",
        Unit.PACKETS,
        "packets that arrived at a full queue",
        BOTH,
        lambda t: t.dropped,
    ),
    Metric(
        "packets_censored",
        Unit.PACKETS,
        "packets still queued when their episode ended or was cut",
        BOTH,
        lambda t: t.censored,
    ),
    Metric(
        "drop_share",
        Unit.FRACTION,
        "dropped packets, of offered packets",
        BOTH,
        lambda t: _ratio(t.dropped, t.offered),
    ),
    Metric(
        "censored_share",
        Unit.FRACTION,
        "censored packets, of offered packets",
        BOTH,
        lambda t: _ratio(t.censored, t.offered),
    ),
    Metric(
        "reward_mean",
        Unit.REWARD,
        "mean reward (eq:reward) of an SU-slot",
        Scope.USER,
        lambda t: _ratio(t.reward, t.slots),
    ),
    Metric(
        "access_gap",
        Unit.FRACTION,
        "largest minus smallest packet_access among users",
        Scope.ALL,
        of_fairness=lambda f: f.access.value,
    ),
    Metric(
        "access_gap_floor",
        Unit.FRACTION,
        "the access_gap to be expected of exchangeable users, by chance alone",
        Scope.ALL,
        of_fairness=lambda f: f.access.floor,
    ),
    Metric(
        "delivery_gap",
        Unit.FRACTION,
        "largest minus smallest delivery_per_slot among users",
        Scope.ALL,
        of_fairness=lambda f: f.delivery.value,
    ),
    Metric(
        "delivery_gap_floor",
        Unit.FRACTION,
        "the delivery_gap to be expected of exchangeable users, by chance alone",
        Scope.ALL,
        of_fairness=lambda f: f.delivery.floor,
    ),
    Metric(
        "delay_gap",
        Unit.SLOTS,
        "largest minus smallest delay_mean among users",
        Scope.ALL,
        of_fairness=lambda f: f.delay.value,
    ),
    Metric(
        "delay_gap_floor",
        Unit.SLOTS,
        "the delay_gap to be expected of exchangeable users, by chance alone",
        Scope.ALL,
        of_fairness=lambda f: f.delay.floor,
    ),
    Metric(
        "access_jain",
        Unit.INDEX,
        "Jain's index of the users' packet_access: 1 if all are equal, 1/U if one has all",
        Scope.ALL,
        of_fairness=lambda f: f.access_jain,
    ),
)


def metric_names(users: int) -> tuple[str, ...]:
    """Every metric of a scenario with this many secondary users, in the order of reports."""
    overall = [metric.name for metric in METRICS]
    of_classes = [
        f"{metric.name}_{name.value}"
        for name in CLASSES
        for metric in METRICS
        if Scope.CLASS in metric.scope
    ]
    of_users = [
        f"{metric.name}_user_{u}"
        for u in range(users)
        for metric in METRICS
        if Scope.USER in metric.scope
    ]
    return (*overall, *of_classes, *of_users)


def seed_metrics(ledger: Ledger) -> dict[str, Value]:
    """All metrics of one seed's ledger, by name."""
    slots = ledger.slots.sum(axis=2, dtype="int64")
    among_users = fairness(
        attempts=ledger.slots[:, :, :STANDBY].sum(axis=2, dtype="int64"),
        delivered=ledger.delivered.sum(axis=2, dtype="int64"),
        slots=slots,
        delay_sum=ledger.delay_sum.sum(axis=2, dtype="int64"),
    )
    everybody = tally(ledger)
    values: dict[str, Value] = {}
    for metric in METRICS:
        if metric.of_tally is not None:
            values[metric.name] = _number(metric.of_tally(everybody))
        elif metric.of_fairness is not None:
            values[metric.name] = _number(metric.of_fairness(among_users))
    for code, name in enumerate(CLASSES):
        _add(values, Scope.CLASS, tally(ledger, packet_class=code), name.value)
    for user in range(slots.shape[1]):
        _add(values, Scope.USER, tally(ledger, user=user), f"user_{user}")
    return values


def _add(values: dict[str, Value], scope: Scope, sums: Tally, suffix: str) -> None:
    for metric in METRICS:
        if scope in metric.scope and metric.of_tally is not None:
            values[f"{metric.name}_{suffix}"] = _number(metric.of_tally(sums))


def _number(value: Value) -> Value:
    return None if value is None else float(value)
