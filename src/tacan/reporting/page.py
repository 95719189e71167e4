"""One self-contained HTML page: no network, no framework, everything inline.

Plain functions from data to markup; every text is escaped here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

from tacan.reporting.chart import MARKS, draw, mark, number, numbered
from tacan.reporting.comparison import Verdict
from tacan.reporting.figure import Figure
from tacan.reporting.table import Cell, Row, Table
from tacan.reporting.table_files import difference_text

CLASS_OF_VERDICT = {
    Verdict.MATCHES: "v-good",
    Verdict.BETTER: "v-up",
    Verdict.WORSE: "v-bad",
    Verdict.DIFFERS: "v-bad",
    Verdict.MISSING: "v-none",
}
FEW_POINTS = 40
"""A figure with more marks than this is not a list of tab stops; its values stand in a table."""


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it, as markup."""

    identity: str
    heading: str
    body: str
    short: str = ""
    """its name in the bar at the top; empty: it is not there"""


def page(title: str, header: str, sections: Sequence[Section], footer: str) -> str:
    """The whole document."""
    folder = resources.files("tacan.reporting")
    style, script = (
        (folder / name).read_text(encoding="utf-8") for name in ("page.css", "page.js")
    )
    links = "".join(
        f'<a href="#{section.identity}">{escape(section.short)}</a>'
        for section in sections
        if section.short
    )
    body = "".join(
        f'<section id="{section.identity}" aria-labelledby="{section.identity}-h">'
        f'<h2 id="{section.identity}-h">{escape(section.heading)}</h2>{section.body}</section>'
        for section in sections
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>"
        '<link rel="icon" href="data:,">'
        f"<style>{style}</style></head><body>"
        '<a class="skip" href="#main">Skip to the content</a>'
        f'<div class="bar"><div><nav aria-label="Sections">{links}</nav>'
        '<button id="theme" type="button" hidden>Theme</button></div></div>'
        f'<main id="main"><header class="title"><h1>{escape(title)}</h1>{header}</header>'
        f"{body}</main>"
        f'<footer>{footer}</footer><div id="tip" role="status" aria-live="polite"></div>'
        f"<script>{script}</script></body></html>\n"
    )


def paragraph(text: str, name: str = "") -> str:
    """A paragraph of plain text."""
    return f'<p class="{name}">{escape(text)}</p>' if name else f"<p>{escape(text)}</p>"


def command_line(command: str) -> str:
    """A command to copy."""
    return f"<pre><code>{escape(command)}</code></pre>"


def notes(texts: Iterable[str]) -> str:
    """Small print below a table or figure."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul class="notes">{items}</ul>' if items else ""


def broken(why: str) -> str:
    """What stands where numbers would stand if their records were whole."""
    sentence = why[:1].upper() + why[1:].removesuffix(".")
    return f'<p class="broken"><strong>No numbers here.</strong> {escape(sentence)}.</p>'


def table_markup(table: Table) -> str:
    """A heading and a sortable table."""
    label = f' <span class="label">{escape(table.label)}</span>' if table.label else ""
    heading = f'<h3 id="{table.key}">{escape(table.title)}{label}</h3>'
    if table.broken:
        return heading + broken(table.broken)
    words = _columns_of_words(table)
    heads = "".join(
        f'<th scope="col"{_word_class(place)}><button type="button">{escape(text)}</button></th>'
        for text, place in zip((table.corner, *table.columns), (False, *words), strict=True)
    )
    rows = "".join(_row(row, words) for row in table.rows)
    caption, quiet = "Ours; below it the paper's value and the difference.", ""
    if not table.has_paper:
        caption, quiet = table.title, ' class="away"'
    missing = [f"{row.heading}: {row.missing}" for row in table.rows if row.missing]
    return (
        f'{heading}<div class="scroll" tabindex="0" role="region" aria-labelledby="{table.key}">'
        f'<table class="sortable"><caption{quiet}>{escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        + notes([*table.notes, *missing])
    )


def _columns_of_words(table: Table) -> list[bool]:
    """Which columns hold words, which read from the left, and not numbers."""
    return [
        all(row.cells[place].text and row.cells[place].shown[0].isalpha() for row in table.rows)
        for place in range(len(table.columns))
    ]


def _word_class(words: bool) -> str:
    return ' class="text"' if words else ""


def _row(row: Row, words: Sequence[bool]) -> str:
    strong = ' class="strong"' if row.strong else ""
    cells = "".join(_cell(cell, text) for cell, text in zip(row.cells, words, strict=True))
    return f'<tr{strong}><th scope="row">{escape(row.heading)}</th>{cells}</tr>'


def _cell(cell: Cell, words: bool) -> str:
    parts = [f'<span class="ours">{escape(cell.shown)}</span>']
    if cell.papers:
        parts.append(f'<span class="paper">paper {escape(cell.papers)}</span>')
    found = cell.comparison
    if found is not None:
        parts.append(
            f'<span class="diff {CLASS_OF_VERDICT[found.verdict]}" '
            f'title="{found.verdict}: tolerance {found.tolerance:.3g}">'
            f"{escape(difference_text(cell))}</span>"
        )
    return f'<td{_word_class(words)} data-order="{escape(str(cell.order))}">{"".join(parts)}</td>'


def figure_markup(figure: Figure) -> str:
    """A heading, the legend, the drawing, its caption and its values as a table."""
    label = f' <span class="label">{escape(figure.label)}</span>' if figure.label else ""
    heading = f'<h3 id="{figure.key}">{escape(figure.title)}{label}</h3>'
    if figure.broken:
        return heading + broken(figure.broken)
    drawing = draw(figure)
    if sum(len(series.y) for series in figure.series) > FEW_POINTS:
        drawing = drawing.replace('tabindex="0"', 'tabindex="-1"')
    return (
        f"{heading}<figure>{_legend(figure)}{drawing}"
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
        f"<details><summary>Values of this figure</summary>{_values(figure)}</details>"
        + notes(figure.notes)
    )


def _legend(figure: Figure) -> str:
    items = []
    papers_named = False
    ours_first = sorted(numbered(figure), key=lambda item: item[1].papers)
    for place, series in ours_first if figure.kind == "bars" else numbered(figure):
        name = series.name
        if series.papers and figure.kind == "bars":  # one diamond stands for all of them
            if papers_named:
                continue
            papers_named, name = True, "the paper"
        if series.papers and figure.kind == "lines":
            sample = '<path class="line dashed" d="M0 7H26"/>' + mark("circle", 13, 7, 3.5)
        elif series.papers:
            sample = mark("diamond", 13, 7, 4)
        elif figure.kind == "bars":
            sample = '<rect class="bar" x="6" y="1" width="14" height="12" rx="1.5"/>'
        else:
            line = '<path class="line" d="M0 7H26"/>' if figure.kind == "lines" else ""
            sample = line + mark(MARKS[place % len(MARKS)], 13, 7, 4)
        hollow = " paper" if series.papers else ""
        items.append(
            f'<li><svg class="chart" viewBox="0 0 26 14" aria-hidden="true">'
            f'<g class="point c-{series.colour}{hollow}">{sample}</g></svg>'
            f"{escape(name)}</li>"
        )
    return f'<ul class="legend">{"".join(items)}</ul>'


def _values(figure: Figure) -> str:
    """The figure's numbers: one row for every place, one column for every series."""
    places = sorted({x for series in figure.series for x in series.x})
    heads = "".join(
        f'<th scope="col">{escape(text)}</th>'
        for text in ("", *(series.name for series in figure.series))
    )
    rows = []
    for place in places:
        name = figure.categories[int(place)] if figure.categories else f"{place:g}"
        cells = []
        for series in figure.series:
            text = ""
            if place in series.x:
                index = series.x.index(place)
                text = number(figure, series.y[index])
                if series.error:
                    text += f" ± {series.error[index]:.{figure.decimals}f}"
            cells.append(f"<td>{escape(text)}</td>")
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{"".join(cells)}</tr>')
    return (
        '<div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escape(figure.title)}, values">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
