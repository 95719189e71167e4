"""What is watched while a frozen policy plays."""

from __future__ import annotations

import polars as pl
import pytest

from tacan.evaluation.probes import attention_by_rank
from tacan.evaluation.protocol import Protocol
from tacan.scenario import load_scenario

PAPER = load_scenario("paper")


def test_attention_adds_up_to_one_by_load() -> None:
    """Four of twelve slots lie after the first window of eight; 4 users each count."""
    frame = attention_by_rank("tacan", PAPER, Protocol((42,), 12), threads=1)
    assert set(frame["slots"]) == {16}
    sums = frame.group_by("load").agg(pl.col("weight").sum())["weight"].to_list()
    assert sums == pytest.approx([1.0, 1.0, 1.0], abs=1e-5)


def test_attention_of_no_slot_is_null() -> None:
    """Eight slots all lie in the first window, part of which is padding: nothing was watched."""
    frame = attention_by_rank("tacan", PAPER, Protocol((42,), 8), threads=1)
    assert frame.height == 3 * 20
    assert frame["weight"].null_count() == frame.height
