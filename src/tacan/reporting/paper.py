"""The paper's own numbers, as data: so that every table can put ours beside them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

Better = Literal["higher", "lower", "neither"]
PAPER_SEEDS = 5


@dataclass(frozen=True)
class Quantity:
    """Something measured: how it is printed, and what counts as the same value."""

    key: str
    heading: str
    unit: str
    decimals: int
    better: Better
    margin: float
    """two values closer than this are the same for every practical purpose"""

    def format(self, value: float) -> str:
        """A value as a table prints it."""
        return f"{value:,.{self.decimals}f}"


@dataclass(frozen=True)
class Value:
    """A mean over seeds, its standard deviation if there is one, and how many seeds it is of."""

    mean: float
    deviation: float | None
    seeds: int


@dataclass(frozen=True)
class PaperTable:
    """One table or figure of the paper."""

    key: str
    label: str
    title: str
    content: Mapping[str, Any]

    def row(self, row: str) -> Mapping[str, Any]:
        """The printed cells of a row, by column; empty if the paper has no such row."""
        found: Mapping[str, Any] = self.content["rows"].get(row, {})
        return found

    @property
    def numbers(self) -> int:
        """How many numbers it prints that ours can be held against.

        A cell is one, with or without its deviation; a paired difference prints six, of which its
        number of seeds is none. ``text`` names the columns of a table that are words.
        """
        cells = [
            cell
            for row in self.content.get("rows", {}).values()
            for column, cell in row.items()
            if column not in self.content.get("text", ())
        ]
        return sum(5 if isinstance(cell, list) and len(cell) == 6 else 1 for cell in cells)

    def value(self, row: str, column: str) -> Value | None:
        """A printed cell as a mean over the paper's five seeds, None if it prints none."""
        match self.row(row).get(column):
            case None:
                return None
            case [mean, deviation]:
                return Value(float(mean), float(deviation), PAPER_SEEDS)
            case number:
                return Value(float(number), None, PAPER_SEEDS)


@dataclass(frozen=True)
class Paper:
    """All of it."""

    title: str
    quantities: Mapping[str, Quantity]
    tables: Mapping[str, PaperTable]


@cache
def read_paper() -> Paper:
    """The numbers of ``paper.toml``."""
    text = (resources.files("tacan.reporting") / "paper.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    return Paper(
        title=content["title"],
        quantities={key: Quantity(key, **rest) for key, rest in content["quantity"].items()},
        tables={
            key: PaperTable(key, rest["label"], rest["title"], rest)
            for key, rest in content["table"].items()
        },
    )
