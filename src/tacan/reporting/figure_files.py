"""Figures as files: SVG, PDF and PNG for papers and slides, drawn by matplotlib."""

from __future__ import annotations

import io
from typing import Any

from tacan.reporting.chart import numbered
from tacan.reporting.figure import COLOURS, Figure

FORMATS = ("svg", "pdf", "png")
MARKERS = ("o", "s", "D", "^")
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dde2e7",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "tacan",
    "pdf.fonttype": 42,
}
# no date in the files: the same records give the same bytes
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "tacan"},
    "pdf": {"CreationDate": None, "Creator": "tacan"},
    "png": {"Software": "tacan"},
}


def figure_files(figure: Figure) -> dict[str, bytes]:
    """The figure in every format; none if its records are missing or damaged."""
    if figure.broken:
        return {}
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    with rc_context(STYLE):
        height = 0.9 + 0.27 * len(figure.categories) if figure.kind == "dots" else 3.2
        canvas = Canvas(figsize=(6.4, max(height, 2.4)), layout="constrained")
        FigureCanvasAgg(canvas)
        axes = canvas.subplots()
        {"bars": _bars, "lines": _lines, "dots": _dots}[figure.kind](figure, axes)
        files = {}
        for kind in FORMATS:
            out = io.BytesIO()
            canvas.savefig(out, format=kind, dpi=200, metadata=METADATA[kind])
            files[kind] = out.getvalue()
    return files


def _finish(figure: Figure, axes: Any) -> None:
    axes.set_xlabel(figure.x_heading)
    axes.set_ylabel(figure.y_heading)
    if len(figure.series) > 1:
        axes.legend(
            loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8, borderaxespad=0.3
        )


def _level(figure: Figure, axes: Any) -> None:
    if figure.level:
        axes.axhline(figure.level[0], color="#5d6670", linestyle="--", linewidth=0.9)
        axes.annotate(
            figure.level[1],
            (1.0, figure.level[0]),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color="#5d6670",
        )


def _bars(figure: Figure, axes: Any) -> None:
    solid = [series for series in figure.series if not series.papers]
    thick = 0.82 / max(1, len(solid))
    offsets = {
        series.name: (place - (len(solid) - 1) / 2) * thick for place, series in enumerate(solid)
    }
    for series in figure.series:
        offset = offsets.get(series.name.removesuffix(", the paper"))
        if offset is None:
            continue
        x = [position + offset for position in series.x]
        colour = COLOURS[series.colour][0]
        if series.papers:
            axes.plot(x, series.y, "D", mfc="white", mec="#1f2933", ms=4.5, zorder=5)
        else:
            axes.bar(
                x, series.y, thick * 0.88, color=colour, yerr=series.error, capsize=2,
                error_kw={"linewidth": 0.9}, label=series.name,
            )  # fmt: skip
    if any(series.papers for series in figure.series):
        axes.plot([], [], "D", mfc="white", mec="#1f2933", ms=4.5, label="the paper")
    axes.set_xticks(range(len(figure.categories)), figure.categories)
    axes.set_ylim(*figure.range())
    axes.grid(visible=False, axis="x")
    _level(figure, axes)
    _finish(figure, axes)


def _lines(figure: Figure, axes: Any) -> None:
    for place, series in numbered(figure):
        axes.errorbar(
            series.x,
            series.y,
            yerr=series.error,
            color=COLOURS[series.colour][0],
            linestyle="--" if series.papers else "-",
            linewidth=1.0 if series.papers else 1.5,
            marker="o" if series.papers else MARKERS[place % 4],
            markersize=3.5,
            markerfacecolor="white" if series.papers else None,
            capsize=2,
            label=series.name,
        )
    axes.set_ylim(*figure.range())
    axes.xaxis.get_major_locator().set_params(integer=True)
    _level(figure, axes)
    _finish(figure, axes)


def _dots(figure: Figure, axes: Any) -> None:
    for place, series in numbered(figure):
        colour = COLOURS[series.colour][0]
        axes.errorbar(
            series.y,
            series.x,
            xerr=series.error,
            fmt="D" if series.papers else MARKERS[place % 4],
            color=colour,
            mfc="white" if series.papers else colour,
            ms=5.5,
            capsize=2,
            linewidth=1.2,
            label=series.name,
        )
    axes.set_yticks(range(len(figure.categories)), figure.categories)
    axes.set_ylim(len(figure.categories) - 0.4, -0.6)
    axes.set_xlim(*figure.range())
    _finish(figure, axes)
