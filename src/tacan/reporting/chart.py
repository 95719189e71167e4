"""Figures as inline SVG: every value is a mark that can be pointed at, tapped or tabbed to.

Colours are classes, so that the page's theme decides them. A figure is drawn twice, wide for a
desk and narrow for a phone, and the style sheet shows one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from tacan.reporting.figure import Figure, Series, ticks

WIDE, NARROW = 760, 360
MARKS = ("circle", "square", "diamond", "triangle")


@dataclass(frozen=True)
class Frame:
    """Where the axes lie on the page of the drawing."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    low: float
    high: float

    def across(self, share: float) -> float:
        """A place along the horizontal axis, 0 to 1."""
        return self.left + share * (self.width - self.left - self.right)

    def down(self, share: float) -> float:
        """A place along the vertical axis, 0 at the top to 1."""
        return self.top + share * (self.height - self.top - self.bottom)

    def value(self, value: float) -> float:
        """A value's share of its axis, cut at its ends."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def numbered(figure: Figure) -> list[tuple[int, Series]]:
    """Each series with its number among those of its kind, ours or the paper's: so that two of
    ours never share a mark while there are others.
    """
    counts = {True: 0, False: 0}
    found = []
    for series in figure.series:
        found.append((counts[series.papers], series))
        counts[series.papers] += 1
    return found


def draw(figure: Figure) -> str:
    """The figure as two SVG drawings, wide and narrow."""
    drawer = {"bars": _bars, "lines": _lines, "dots": _dots}[figure.kind]
    return "".join(
        _svg(figure, width, name, drawer) for width, name in ((WIDE, "wide"), (NARROW, "narrow"))
    )


Drawer = Callable[[Figure, int], tuple[Frame, list[str]]]


def _svg(figure: Figure, width: int, name: str, drawer: Drawer) -> str:
    frame, parts = drawer(figure, width)
    identity = f"{figure.key}-{name}"
    return (
        f'<svg class="chart {name}" viewBox="0 0 {frame.width} {frame.height}" role="group" '
        f'aria-labelledby="{identity}-t {identity}-d">'
        f'<title id="{identity}-t">{escape(figure.title)}</title>'
        f'<desc id="{identity}-d">{escape(figure.caption)} '
        "The values stand in the table below the figure.</desc>" + "".join(parts) + "</svg>"
    )


def number(figure: Figure, value: float) -> str:
    """A value as the figure prints it."""
    return f"{value:,.{figure.decimals}f}" + (f" {figure.unit}" if figure.unit else "")


def _tip(figure: Figure, series: Series, index: int, where: str) -> str:
    value = number(figure, series.y[index])
    if series.error:
        value += f" ± {series.error[index]:,.{figure.decimals}f}"
    return f"{series.name} · {where}: {value}"


def mark(shape: str, x: float, y: float, size: float = 4.5) -> str:
    match shape:
        case "square":
            return (
                f'<rect x="{x - size:.1f}" y="{y - size:.1f}" '
                f'width="{2 * size:.1f}" height="{2 * size:.1f}"/>'
            )
        case "diamond":
            s = size * 1.35
            path = f"l{s:.1f} {s:.1f}l{-s:.1f} {s:.1f}l{-s:.1f} {-s:.1f}z"
            return f'<path d="M{x:.1f} {y - s:.1f}{path}"/>'
        case "triangle":
            s = size * 1.25
            return f'<path d="M{x:.1f} {y - s:.1f}l{s:.1f} {1.8 * s:.1f}h{-2 * s:.1f}z"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"/>'


def _point(series: Series, shape: str, x: float, y: float, tip: str) -> str:
    hollow = " paper" if series.papers else ""
    return (
        f'<g class="point c-{series.colour}{hollow}" tabindex="0" role="img" '
        f'aria-label="{escape(tip)}" data-tip="{escape(tip)}">'
        f'<circle class="hit" cx="{x:.1f}" cy="{y:.1f}" r="13"/>{mark(shape, x, y)}</g>'
    )


def _error_bar(series: Series, x: float, low: float, high: float) -> str:
    return (
        f'<path class="error c-{series.colour}" d="M{x:.1f} {low:.1f}V{high:.1f}'
        f'M{x - 4:.1f} {low:.1f}h8M{x - 4:.1f} {high:.1f}h8"/>'
    )


def _value_axis(figure: Figure, frame: Frame) -> list[str]:
    """Grid and labels of a vertical value axis."""
    parts = []
    for tick in ticks(frame.low, frame.high):
        y = frame.down(1 - frame.value(tick))
        parts.append(
            f'<path class="grid" d="M{frame.left} {y:.1f}H{frame.width - frame.right}"/>'
            f'<text class="tick" x="{frame.left - 8}" y="{y + 4:.1f}" '
            f'text-anchor="end">{tick:g}</text>'
        )
    middle = frame.down(0.5)
    parts.append(
        f'<text class="axis" transform="translate(14 {middle:.1f}) rotate(-90)" '
        f'text-anchor="middle">{escape(figure.y_heading)}</text>'
        f'<text class="axis" x="{frame.across(0.5):.1f}" y="{frame.height - 6}" '
        f'text-anchor="middle">{escape(figure.x_heading)}</text>'
    )
    if figure.level:
        y = frame.down(1 - frame.value(figure.level[0]))
        parts.append(
            f'<path class="level" d="M{frame.left} {y:.1f}H{frame.width - frame.right}"/>'
            f'<text class="tick" x="{frame.across(0.16):.1f}" y="{y - 5:.1f}">'
            f"{escape(figure.level[1])}</text>"
        )
    return parts


def _frame(figure: Figure, width: int) -> Frame:
    low, high = figure.range()
    return Frame(width, 330 if width == WIDE else 290, 58, 14, 14, 44, low, high)


def _bars(figure: Figure, width: int) -> tuple[Frame, list[str]]:
    frame = _frame(figure, width)
    parts = _value_axis(figure, frame)
    groups = len(figure.categories)
    solid = [series for series in figure.series if not series.papers]
    room = (frame.across(1) - frame.across(0)) / groups
    thick = min(34.0, room * 0.82 / max(1, len(solid)))
    floor = frame.down(1)
    places: dict[tuple[str, int], float] = {}
    for position, series in enumerate(solid):
        for index, group in enumerate(series.x):
            x = frame.across((group + 0.5) / groups) + (position - (len(solid) - 1) / 2) * thick
            places[series.name, int(group)] = x
            y = frame.down(1 - frame.value(series.y[index]))
            tip = _tip(figure, series, index, figure.categories[int(group)])
            parts.append(
                f'<g class="point c-{series.colour}" tabindex="0" role="img" '
                f'aria-label="{escape(tip)}" data-tip="{escape(tip)}">'
                f'<rect class="bar" x="{x - thick * 0.44:.1f}" y="{y:.1f}" '
                f'width="{thick * 0.88:.1f}" height="{max(0.0, floor - y):.1f}" rx="1.5"/></g>'
            )
            if series.error:
                ends = [series.y[index] + sign * series.error[index] for sign in (1, -1)]
                top, low = (frame.down(1 - frame.value(end)) for end in ends)
                parts.append(_error_bar(Series(series.name, "black", (), ()), x, top, low))
    for series in figure.series:
        for index, group in enumerate(series.x if series.papers else ()):
            partner = series.name.removesuffix(", the paper")
            if (partner, int(group)) in places:
                y = frame.down(1 - frame.value(series.y[index]))
                tip = _tip(figure, series, index, figure.categories[int(group)])
                parts.append(_point(series, "diamond", places[partner, int(group)], y, tip))
    for index, category in enumerate(figure.categories):
        parts.append(
            f'<text class="tick" x="{frame.across((index + 0.5) / groups):.1f}" '
            f'y="{floor + 18:.1f}" text-anchor="middle">{escape(category)}</text>'
        )
    return frame, parts


def _lines(figure: Figure, width: int) -> tuple[Frame, list[str]]:
    frame = _frame(figure, width)
    parts = _value_axis(figure, frame)
    first = min(min(series.x) for series in figure.series)
    last = max(max(series.x) for series in figure.series)
    for tick in ticks(first, last, 8 if width == WIDE else 4):
        x = frame.across(0.02 + 0.96 * (tick - first) / ((last - first) or 1))
        parts.append(
            f'<text class="tick" x="{x:.1f}" y="{frame.down(1) + 18:.1f}" '
            f'text-anchor="middle">{_short(tick)}</text>'
        )
    for place, series in numbered(figure):
        xs = [frame.across(0.02 + 0.96 * (x - first) / ((last - first) or 1)) for x in series.x]
        ys = [frame.down(1 - frame.value(y)) for y in series.y]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(xs, ys, strict=True))
        dashed = " dashed" if series.papers else ""
        parts.append(f'<path class="line c-{series.colour}{dashed}" d="M{path}"/>')
        for index, (x, y) in enumerate(zip(xs, ys, strict=True)):
            if series.error:
                ends = [series.y[index] + sign * series.error[index] for sign in (1, -1)]
                top, low = (frame.down(1 - frame.value(end)) for end in ends)
                parts.append(_error_bar(series, x, top, low))
            tip = _tip(figure, series, index, _short(series.x[index]))
            shape = "circle" if series.papers else MARKS[place % len(MARKS)]
            parts.append(_point(series, shape, x, y, tip))
    return frame, parts


def _short(value: float) -> str:
    return f"{value / 1000:g}k" if abs(value) >= 10_000 else f"{value:g}"


def _dots(figure: Figure, width: int) -> tuple[Frame, list[str]]:
    """Categories down the side, values across: labels above their line on a phone."""
    low, high = figure.range()
    wide = width == WIDE
    pitch = 30 if wide else 46
    height = 24 + pitch * len(figure.categories) + 46
    labels = 7 * max(len(category) for category in figure.categories) + 24
    frame = Frame(width, height, min(labels, 400) if wide else 16, 18, 12, 46, low, high)
    parts = []
    for tick in ticks(low, high, 6 if wide else 4):
        x = frame.across(frame.value(tick))
        parts.append(
            f'<path class="grid" d="M{x:.1f} {frame.top}V{frame.down(1):.1f}"/>'
            f'<text class="tick" x="{x:.1f}" y="{frame.down(1) + 17:.1f}" '
            f'text-anchor="middle">{tick:g}</text>'
        )
    parts.append(
        f'<text class="axis" x="{frame.across(0.5):.1f}" y="{height - 6}" '
        f'text-anchor="middle">{escape(figure.x_heading)}</text>'
    )
    for index, category in enumerate(figure.categories):
        y = frame.top + pitch * (index + (0.5 if wide else 0.75))
        label = (
            f'<text class="tick" x="{frame.left - 12}" y="{y + 4:.1f}" text-anchor="end">'
            if wide
            else f'<text class="tick" x="{frame.left}" y="{y - 13:.1f}">'
        )
        parts.append(
            f'<path class="grid" d="M{frame.left} {y:.1f}H{width - frame.right}"/>'
            f"{label}{escape(category)}</text>"
        )
    # the first series lies on top: where two marks meet, its round one is smaller than the square
    for place, series in reversed(numbered(figure)):
        for index, group in enumerate(series.x):
            y = frame.top + pitch * (group + (0.5 if wide else 0.75))
            x = frame.across(frame.value(series.y[index]))
            if series.error:
                ends = [series.y[index] + sign * series.error[index] for sign in (-1, 1)]
                first, last = (frame.across(frame.value(end)) for end in ends)
                parts.append(
                    f'<path class="error c-{series.colour}" d="M{first:.1f} {y:.1f}H{last:.1f}'
                    f'M{first:.1f} {y - 4:.1f}v8M{last:.1f} {y - 4:.1f}v8"/>'
                )
            tip = _tip(figure, series, index, figure.categories[int(group)])
            shape = "diamond" if series.papers else MARKS[place % len(MARKS)]
            parts.append(_point(series, shape, x, y, tip))
    return frame, parts
