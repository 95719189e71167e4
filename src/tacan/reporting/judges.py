"""The rules by which the paper's claims are judged: from records to a verdict and its reasons."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from enum import StrEnum

import numpy as np

from tacan.evaluation.experiments import MIXING_SHARES, TACAN
from tacan.evaluation.perturbations import uniform_mixing
from tacan.evaluation.statistics import Interval, t_interval
from tacan.evaluation.store import RecordsError
from tacan.reporting.attention import mean_attention
from tacan.reporting.columns import CLASS_NAMES, METRIC_OF
from tacan.reporting.comparison import Comparison, Verdict, compare_values
from tacan.reporting.paired_tables import Claim, gain_by_seed, gain_quantity, papers_gain
from tacan.reporting.paper import Value, read_paper
from tacan.reporting.records import MIXED, Question, Records, estimate


class Outcome(StrEnum):
    """What our numbers say of a claim."""

    REPRODUCED = "reproduced"
    EXCEEDS = "exceeds"
    DIFFERS = "differs"
    MISSING = "not available"


OUTCOME_OF = {
    Verdict.MATCHES: Outcome.REPRODUCED,
    Verdict.BETTER: Outcome.EXCEEDS,
    Verdict.WORSE: Outcome.DIFFERS,
    Verdict.DIFFERS: Outcome.DIFFERS,
}


Judge = Callable[[Records], tuple[Outcome, str]]
TABLES = read_paper().tables
QUANTITIES = read_paper().quantities


def value(policy: str, key: str, metric: str, table: str = "packet_main") -> Judge:
    def judge(records: Records) -> tuple[Outcome, str]:
        quantity = QUANTITIES[key]
        paper = TABLES[table].value(policy, key)
        if paper is None:
            raise ValueError(f"the paper prints no {key} of {policy}")
        ours = records.value(Question(policy), metric)
        found = compare_values(quantity, ours, paper)
        return OUTCOME_OF[found.verdict], _said(quantity.format(ours.mean), quantity.unit, found)

    return judge


def _said(ours: str, unit: str, found: Comparison) -> str:
    return (
        f"ours is {ours} {unit}".rstrip()
        + f", {found.difference:+.3g} from the paper's (tolerance {found.tolerance:.2g})"
    )


def gain(other: str, of: str, load: str = MIXED, printed: float | None = None) -> Judge:
    def judge(records: Records) -> tuple[Outcome, str]:
        claim = gain_by_seed(records, Question(TACAN, load), Question(other, load), of)
        papers = papers_gain(TABLES["packet_comparison"].row(other).get(of))
        if printed is not None:
            papers = Value(printed, None, 5)
        if papers is None:
            raise ValueError(f"the paper prints no {of} against {other}")
        return _judge_gain(claim, papers)

    return judge


def _judge_gain(claim: Claim, papers: Value) -> tuple[Outcome, str]:
    found, quantity = claim.found, gain_quantity(claim.gain)
    compared = compare_values(quantity, Value(found.mean, found.deviation, found.seeds), papers)
    outcome = OUTCOME_OF[compared.verdict]
    if found.wins < found.seeds or found.t_interval.low <= 0.0:
        outcome = Outcome.DIFFERS
    interval = found.t_interval
    return outcome, (
        f"ours is {found.mean:+.{quantity.decimals}f} {quantity.unit} (95 % interval "
        f"{interval.low:.{quantity.decimals}f} to {interval.high:.{quantity.decimals}f}), "
        f"won in {found.wins} of {found.seeds} seeds, sign test p = {found.sign_p:.4f}; "
        f"the paper's is {papers.mean:+.{quantity.decimals}f}"
    )


def fall(of: str) -> Judge:
    """A gain over Greedy that the paper states as a fall from one value to another."""
    judge_gain = gain("greedy", of)

    def judge(records: Records) -> tuple[Outcome, str]:
        outcome, because = judge_gain(records)
        quantity = QUANTITIES[of]
        greedy, ours = (
            quantity.format(records.value(Question(policy), METRIC_OF[of]).mean)
            for policy in ("greedy", TACAN)
        )
        paired = because.removeprefix("ours is ")
        return outcome, f"ours falls from {greedy} to {ours} {quantity.unit}; by seed {paired}"

    return judge


def growing_gain(records: Records) -> tuple[Outcome, str]:
    gains = {
        load: gain_by_seed(
            records, Question(TACAN, load=load), Question("greedy", load=load), "access"
        ).found
        for load in ("normal", "high", "extreme")
    }
    growing = gains["normal"].mean < gains["high"].mean < gains["extreme"].mean
    paired = records_growth(records)
    every = all(growth > 0 for growth in paired)
    text = ", ".join(f"{found.mean:+.2f} pp at {load}" for load, found in gains.items())
    outcome = Outcome.REPRODUCED if growing and every else Outcome.DIFFERS
    seeds = sum(growth > 0 for growth in paired)
    return outcome, (
        f"ours: {text}; larger at extreme than at normal load in {seeds} of {len(paired)} seeds"
    )


def records_growth(records: Records) -> list[float]:
    """By seed, how much larger TACAN's gain over Greedy is at extreme than at normal load."""
    values = {
        (policy, load): records.by_seed(Question(policy, load=load), "packet_access")
        for policy in (TACAN, "greedy")
        for load in ("normal", "extreme")
    }
    return [
        (values[TACAN, "extreme"][seed] - values["greedy", "extreme"][seed])
        - (values[TACAN, "normal"][seed] - values["greedy", "normal"][seed])
        for seed in values[TACAN, "normal"]
    ]


def no_throughput_gain(records: Records) -> tuple[Outcome, str]:
    ours, greedy = (
        records.value(Question(policy), "delivery_per_slot") for policy in (TACAN, "greedy")
    )
    difference = ours.mean - greedy.mean
    outcome = Outcome.REPRODUCED if abs(difference) <= 0.25 else Outcome.DIFFERS
    return outcome, f"ours: {ours.mean:.2f} % against {greedy.mean:.2f} % ({difference:+.2f} pp)"


def even_classes(records: Records) -> tuple[Outcome, str]:
    found = {
        shown: records.value(Question(TACAN), f"packet_access_{name}").mean
        for name, shown in CLASS_NAMES.items()
    }
    spread = max(found.values()) - min(found.values())
    text = ", ".join(f"{name} {value:.2f} %" for name, value in found.items())
    outcome = Outcome.REPRODUCED if spread <= 1.0 else Outcome.DIFFERS
    return outcome, f"ours: {text}; {spread:.2f} pp apart"


def better_in_each_class(records: Records) -> tuple[Outcome, str]:
    texts, every = [], True
    for name, shown in CLASS_NAMES.items():
        metric = f"packet_access_{name}"
        ours, greedy = (records.by_seed(Question(policy), metric) for policy in (TACAN, "greedy"))
        gains = [ours[seed] - greedy[seed] for seed in ours]
        won = sum(found > 0 for found in gains)
        every &= won == len(gains)
        texts.append(f"{shown} {estimate(gains).mean:+.2f} pp ({won} of {len(gains)} seeds)")
    return Outcome.REPRODUCED if every else Outcome.DIFFERS, f"ours: {', '.join(texts)}"


def deadlines(records: Records) -> tuple[Outcome, str]:
    ours, greedy = (
        records.by_seed(Question(policy), "urllc_deadline_miss") for policy in (TACAN, "greedy")
    )
    fewer = [greedy[seed] - ours[seed] for seed in ours]
    apart = interval_of(fewer)
    none = round(estimate(ours.values()).mean, 2) == 0.0
    outcome = Outcome.REPRODUCED if none and apart.low > 0.0 else Outcome.DIFFERS
    return outcome, (
        f"ours: {estimate(ours.values()).mean:.3f} % against Greedy's "
        f"{estimate(greedy.values()).mean:.3f} %, fewer by {between(apart, 3)}"
    )


def attention_shape(records: Records) -> tuple[Outcome, str]:
    means = mean_attention(records)
    uniform = 1.0 / len(means["normal"])
    clear = uniform + QUANTITIES["attention"].margin
    bent = all(
        weights[0] > clear and weights[-1] > clear and min(weights[1:-1]) < uniform
        for weights in means.values()
    )
    rising = means["normal"][0] < means["high"][0] < means["extreme"][0]
    text = ", ".join(f"{w[0]:.3f} and {w[-1]:.3f} at {load}" for load, w in means.items())
    outcome = Outcome.REPRODUCED if bent and rising else Outcome.DIFFERS
    return outcome, f"ours: first and last rank {text} load; uniform is {uniform:.3f}"


def interval_of(differences: list[float]) -> Interval:
    """The 95 % Student-t interval of paired differences."""
    return t_interval(np.array(differences))


def between(interval: Interval, decimals: int = 2) -> str:
    """An interval of percentage points in words."""
    return f"{interval.low:.{decimals}f} to {interval.high:.{decimals}f} pp (95 % interval)"


def costs(records: Records, stage: str, kind: str) -> list[float]:
    """By seed, the points of assignment success that a perturbation costs."""
    full = records.by_seed(Question(TACAN), "assignment_success")
    question = Question(TACAN, perturbation=kind, stage=stage)
    changed = records.by_seed(question, "assignment_success")
    return [full[seed] - changed[seed] for seed in full]


def cost(stage: str, kind: str, printed: float) -> Judge:
    """A cost is reproduced if it is about as large and can be told from none."""

    def judge(records: Records) -> tuple[Outcome, str]:
        paired = costs(records, stage, kind)
        ours, interval = estimate(paired), interval_of(paired)
        found = compare_values(QUANTITIES["change"], ours, Value(printed, None, 5))
        seen = interval.low > 0.0 and found.verdict is Verdict.MATCHES
        text = f"ours costs {ours.mean:.2f} points, {between(interval)}; the paper's {printed:.2f}"
        if interval.low <= 0.0 <= interval.high:
            text += "; ours cannot be told from none"
        return Outcome.REPRODUCED if seen else Outcome.DIFFERS, text

    return judge


def mostly_shift(records: Records) -> tuple[Outcome, str]:
    zeroed, flattened = (
        costs(records, "ablation", "zero-entropy"),
        costs(records, "mixing", "mixing:1"),
    )
    interval = interval_of(zeroed)
    whole, lost = estimate(zeroed).mean, estimate(flattened).mean
    shift = interval.low > 0.0 and whole >= 3 * max(lost, 0.0)
    text = f"ours: zeroing costs {whole:.2f} points, {between(interval)}, flattening {lost:.2f}"
    if interval.low <= 0.0 <= interval.high:
        text += "; there is no clear penalty to explain"
    return Outcome.REPRODUCED if shift else Outcome.DIFFERS, text


def monotone_mixing(records: Records) -> tuple[Outcome, str]:
    means = [records.value(Question(TACAN), "assignment_success").mean]
    for share in MIXING_SHARES:
        question = Question(TACAN, perturbation=uniform_mixing(share).name, stage="mixing")
        means.append(records.value(question, "assignment_success").mean)
    falls = all(later < earlier for earlier, later in itertools.pairwise(means))
    text = ", ".join(f"{mean:.2f}" for mean in means)
    return Outcome.REPRODUCED if falls else Outcome.DIFFERS, f"ours: {text} % from none to all"


def inference_dominates(records: Records) -> tuple[Outcome, str]:
    frame, manifest = records.stage("controller")
    if frame.is_empty():
        raise RecordsError("; ".join(manifest.unavailable))
    median = dict(zip(frame["component"], frame["median_ms"], strict=True))
    printed = TABLES["sdn_overhead"].row("total")["median"]
    share = median["inference"] / median["total"]
    if share <= 0.5 or median["total"] > printed:
        outcome = Outcome.DIFFERS
    else:
        outcome = Outcome.EXCEEDS if median["total"] < printed / 2 else Outcome.REPRODUCED
    return outcome, (
        f"ours: {median['total']:.3f} ms in total at the median, {100 * share:.0f} % of it "
        "inference, on this machine"
    )


def genie_is_no_bound(records: Records) -> tuple[Outcome, str]:
    genie, greedy = (
        records.value(Question(policy), "packet_access").mean for policy in ("genie", "greedy")
    )
    outcome = Outcome.REPRODUCED if genie < greedy else Outcome.DIFFERS
    return outcome, f"ours: genie {genie:.2f} %, Greedy {greedy:.2f} %"
