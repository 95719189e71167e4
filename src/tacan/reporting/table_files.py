"""Tables as files: Markdown to read, LaTeX to paste into a paper, CSV to compute with.

Each is a pure function of the table. Where the paper prints a number, it stands beside ours.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from tacan.reporting.comparison import SIGNS
from tacan.reporting.table import Cell, Row, Table

CSV_COLUMNS = (
    "table",
    "row",
    "column",
    "unit",
    "ours",
    "ours_std",
    "seeds",
    "paper",
    "paper_std",
    "difference",
    "tolerance",
    "verdict",
    "text",
    "paper_text",
)
LATEX_SPECIALS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "∞": r"$\infty$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "λ": r"$\lambda$",
    "α": r"$\alpha$",
    "Δ": r"$\Delta$",
    "×": r"$\times$",
    "→": r"$\to$",
    "²": r"$^2$",
    "=": "$=$",
    "▲": r"$\blacktriangle$",
    "▼": r"$\blacktriangledown$",
    "≠": r"$\neq$",
    "√": r"$\surd$",
}


def markdown(table: Table) -> str:
    """A Markdown table: our row, and under it the paper's and the difference."""
    lines = [f"### {table.title}" + (f" ({table.label})" if table.label else ""), ""]
    if table.broken:
        return "\n".join([*lines, f"**No numbers:** {table.broken}", ""])
    lines += [
        _markdown_line([table.corner, *table.columns]),
        _markdown_line([":--", *("--:" for _ in table.columns)]),
    ]
    for row in table.rows:
        mark = "**" if row.strong else ""
        heading = f"{mark}{row.heading}{mark}"
        lines.append(_markdown_line([heading, *(cell.shown for cell in row.cells)]))
        if any(cell.papers for cell in row.cells):
            lines.append(_markdown_line(["· the paper", *(cell.papers for cell in row.cells)]))
        if any(cell.comparison for cell in row.cells):
            differences = [difference_text(cell) for cell in row.cells]
            lines.append(_markdown_line(["· difference", *differences]))
    lines.append("")
    lines += [f"- {note}" for note in _notes(table)]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _notes(table: Table) -> list[str]:
    missing = [f"{row.heading}: {row.missing}" for row in table.rows if row.missing]
    return [*table.notes, *missing]


def difference_text(cell: Cell) -> str:
    """``= +0.12``: the verdict's sign and ours minus the paper's."""
    found = cell.comparison
    if found is None or cell.quantity is None:
        return ""
    return f"{SIGNS[found.verdict]} {found.difference:+,.{cell.quantity.decimals}f}"


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return "".join(LATEX_SPECIALS.get(letter, letter) for letter in text)


def latex(table: Table) -> str:
    """A booktabs table; needs booktabs and amssymb. The paper's values stand in small print."""
    label = table.label or f"tab:{table.key}"
    caption = f"{table.title}. Small print: the paper's values." if table.has_paper else table.title
    lines = [
        "% needs \\usepackage{booktabs,amssymb,graphicx}",
        "\\begin{table}[htbp]",
        "  \\centering",
        f"  \\caption{{{escape_latex(caption)}}}",
        f"  \\label{{{label}}}",
    ]
    if table.broken:
        return "\n".join([*lines, f"  {escape_latex(table.broken)}", "\\end{table}", ""])
    lines += [
        "  \\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%",
        f"  \\begin{{tabular}}{{l{'c' * len(table.columns)}}}",
        "    \\toprule",
        f"    {_latex_line([table.corner, *table.columns])}",
        "    \\midrule",
    ]
    for row in table.rows:
        lines.append(f"    {_latex_line([row.heading, *(c.shown for c in row.cells)], row.strong)}")
        if any(cell.papers for cell in row.cells):
            small = [f"{{\\scriptsize {escape_latex(text)}}}" for text in _papers(row)]
            lines.append(f"    {' & '.join(small)} \\\\")
    lines += ["    \\bottomrule", "  \\end{tabular}}"]
    for note in _notes(table):
        lines.append(f"  \\par\\smallskip{{\\footnotesize {escape_latex(note)}}}")
    return "\n".join([*lines, "\\end{table}", ""])


def _papers(row: Row) -> list[str]:
    return ["the paper", *(cell.papers for cell in row.cells)]


def _latex_line(cells: Iterable[str], strong: bool = False) -> str:
    texts = [escape_latex(cell) for cell in cells]
    if strong:
        texts = [f"\\textbf{{{text}}}" for text in texts]
    return " & ".join(texts) + " \\\\"


def csv_rows(table: Table) -> list[dict[str, str]]:
    """One row for every cell, numbers in full precision."""
    rows = []
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            ours, paper, found = cell.ours, cell.paper, cell.comparison
            numbers = {
                "ours": ours and ours.mean,
                "ours_std": ours and ours.deviation,
                "seeds": ours and ours.seeds,
                "paper": paper and paper.mean,
                "paper_std": paper and paper.deviation,
                "difference": found and found.difference,
                "tolerance": found and found.tolerance,
            }
            texts = {
                "table": table.label or table.key,
                "row": row.heading,
                "column": column,
                "unit": cell.quantity.unit if cell.quantity else "",
                "verdict": cell.verdict or "",
                "text": cell.shown if ours is None else "",
                "paper_text": cell.paper_text or "",
            }
            shown = {key: "" if value is None else repr(value) for key, value in numbers.items()}
            rows.append(texts | shown)
    return rows


def csv_text(rows: Iterable[dict[str, str]]) -> str:
    """The rows as a CSV file."""
    out = io.StringIO()
    writer = csv.DictWriter(out, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def plain_table(table: Table) -> str:
    """The table as aligned plain text, for a terminal."""
    if table.broken:
        return f"{table.title}\n  no numbers: {table.broken}\n"
    lines = [[table.corner, *table.columns]]
    lines += [[row.heading, *(cell.shown for cell in row.cells)] for row in table.rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    texts = [
        "  ".join(
            text.ljust(width) if place == 0 else text.rjust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    return "\n".join([table.title, *(f"  {text}" for text in texts), ""])
