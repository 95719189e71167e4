"""A figure as data: what both drawers (inline SVG and matplotlib) are given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["bars", "lines", "dots"]
"""bars: grouped by category; lines: over a number; dots: categories down the side"""


@dataclass(frozen=True)
class Series:
    """One colour of a figure."""

    name: str
    colour: str
    """a name of ``COLOURS``"""
    x: tuple[float, ...]
    """numbers for lines, positions of categories otherwise"""
    y: tuple[float, ...]
    error: tuple[float, ...] | None = None
    """half the length of each error bar"""
    papers: bool = False
    """the paper's values: drawn hollow or dashed"""

    def __post_init__(self) -> None:
        lengths = {len(self.x), len(self.y), len(self.error or self.x)}
        if len(lengths) != 1:
            raise ValueError(f"series {self.name!r}: x, y and error differ in length")


@dataclass(frozen=True)
class Figure:
    """One figure."""

    key: str
    label: str
    title: str
    caption: str
    kind: Kind
    x_heading: str
    y_heading: str
    series: tuple[Series, ...]
    categories: tuple[str, ...] = ()
    limits: tuple[float, float] | None = None
    """of the value axis; None: from the values"""
    level: tuple[float, str] | None = None
    """a dashed line at a value, and what it is"""
    decimals: int = 2
    unit: str = ""
    broken: str = ""
    fault: bool = False
    """whether its own records are missing or damaged; one drawn from a broken table has no own"""
    notes: tuple[str, ...] = field(default=())

    def values(self) -> list[float]:
        """All that the value axis must hold."""
        found = []
        for series in self.series:
            errors = series.error or tuple(0.0 for _ in series.y)
            for y, error in zip(series.y, errors, strict=True):
                found += [y - error, y + error]
        return found + ([self.level[0]] if self.level else [])

    def range(self) -> tuple[float, float]:
        """The value axis."""
        if self.limits:
            return self.limits
        low, high = min(self.values()), max(self.values())
        pad = 0.06 * (high - low) or 1.0
        return low - pad, high + pad


COLOURS: dict[str, tuple[str, str]] = {
    # after Okabe and Ito, told apart by colour-blind readers; each for light and dark ground
    "blue": ("#0063a6", "#6cb6f0"),
    "orange": ("#b86e00", "#f0b24a"),
    "green": ("#00795a", "#3fcf9f"),
    "red": ("#c04a00", "#ff8f5a"),
    "purple": ("#9a4580", "#e39ccb"),
    "grey": ("#5d6670", "#a9b4bf"),
    "black": ("#1f2933", "#e4e9ee"),
}


def broken_figure(key: str, label: str, title: str, why: str, *, fault: bool = False) -> Figure:
    """A figure that cannot be drawn, and why."""
    return Figure(key, label, title, "", "lines", "", "", (), broken=why, fault=fault)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two values, about that many."""
    raw = (high - low) / about
    size = 1.0
    while size > raw:
        size /= 10
    while size * 10 <= raw:
        size *= 10
    step = min((size * factor for factor in (1, 2, 5, 10)), key=lambda found: abs(found - raw))
    first = -(-low // step)
    count = int((high - first * step) / step + 1e-9) + 1
    return [round((first + index) * step, 12) for index in range(count)]
