"""The table on the screen."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tacan.cli.result_table import HEADLINES, result_table
from tacan.evaluation.metrics import metric_names
from tacan.evaluation.results import Result, SeedResult
from tacan.scenario import load_scenario

TINY = load_scenario("tiny")


def result(policy: str, load: str = "mixed", value: float | None = 0.9876) -> Result:
    """Two seeds whose every metric is value and value - 0.02."""
    second = None if value is None else value - 0.02
    seeds = tuple(
        SeedResult(seed, dict.fromkeys(metric_names(2), found), None, None)
        for seed, found in ((42, value), (7, second))
    )
    return Result(policy, "queued-first", TINY, load, None, 400, seeds)


def shown(results: list[Result], width: int) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width).print(result_table(results, width))
    return stream.getvalue()


@pytest.mark.parametrize("width", [80, 100, 140, 200])
def test_no_number_is_cut_on_any_screen(width: int) -> None:
    """Policy and load differ: three columns' worth of names, and every mean and deviation whole."""
    text = shown([result("oracle-next-slot"), result("greedy", "extreme")], width)
    percents = sum(scale == 100.0 for _, _, scale, _ in HEADLINES)
    assert text.count("97.76") == 2 * percents  # the mean of 98.76 and 96.76
    assert text.count("1.41") == 2 * percents  # their deviation, 2 / sqrt(2)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width


def test_what_all_results_share_stands_in_the_title() -> None:
    """One load and one order: no column for either."""
    lines = shown([result("random"), result("greedy")], 200).splitlines()
    assert lines[0].strip() == (
        "scenario tiny, order queued-first, load mixed, 2 seeds of 400 slots"
    )
    assert lines[3].split()[0] == "policy"
    assert "mixed" not in "".join(lines[1:])


def test_a_metric_without_data_is_a_dash() -> None:
    """Not a zero, which would be a result."""
    row = shown([result("greedy", value=None)], 200).splitlines()[5]
    assert row.split() == ["greedy"] + ["-"] * len(HEADLINES)


@pytest.mark.parametrize("width", [80, 200])
def test_names_are_printed_as_they_are(width: int) -> None:
    """Brackets in a policy's file or a load's name are no markup, in the rows and in the title."""
    results = [result("run[v2]/p.onnx", "a[/b]"), result("d[/red]/p.onnx", "a[/b]")]
    text = shown(results, width)
    assert "run[v2]/p.onnx" in text
    assert "d[/red]/p.onnx" in text
    assert "load a[/b]" in text
    text = shown([*results, result("greedy", "[bold]x")], width)
    assert "a[/b]" in text
    assert "[bold]x" in text
