"""From a results folder's records to its tables, figures and page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path, PurePosixPath

from tacan.errors import UserError
from tacan.evaluation.files import remove_files, write_files
from tacan.evaluation.store import Manifest, RecordsError
from tacan.reporting.attention import attention_figure
from tacan.reporting.claims import Judged, judge_claims
from tacan.reporting.columns import figure_or_broken
from tacan.reporting.comparison import Verdict
from tacan.reporting.figure import Figure
from tacan.reporting.figure_files import figure_files
from tacan.reporting.findings import findings
from tacan.reporting.input_tables import ablation_table, mixing_figure, mixing_table
from tacan.reporting.judges import Outcome
from tacan.reporting.limit_tables import ladder_figure, ladder_table, orders_table
from tacan.reporting.other_tables import (
    classes_table,
    decision_path_table,
    positioning_table,
    sizes_table,
    training_figure,
)
from tacan.reporting.packet_tables import (
    class_table,
    fairness_table,
    load_figure,
    load_table,
    main_table,
)
from tacan.reporting.paired_tables import comparison_tables, gain_figure
from tacan.reporting.paper import read_paper
from tacan.reporting.records import Records
from tacan.reporting.table import Table
from tacan.reporting.table_files import csv_rows, csv_text, latex, markdown
from tacan.scenario import load_scenario

STAGES = ("main", "ablation", "mixing", "orders", "ladder", "attention", "training", "controller")
"""Every stage whose records a report reads."""
SLOTLESS = {"training", "controller"}
"""Stages that replay no slots."""
PAGE_NAME = "report.html"
PAPERS_TITLE = "The paper, reproduced"
TABLES, FIGURES = "tables", "figures"
LIST_NAME = "report-files.json"
"""The tables and figures that the last report of a folder wrote."""


@dataclass(frozen=True)
class Report:
    """Everything a results folder says."""

    title: str
    command: str
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    claims: tuple[Judged, ...]
    manifests: tuple[Manifest, ...]
    problems: tuple[str, ...]
    """one sentence on each stage, table or figure whose records cannot be used"""
    findings: tuple[str, ...] = ()
    """what the records show beyond the paper, in words"""
    setting: str = ""
    """what was played: scenario, seeds and slots"""

    def verdicts(self) -> dict[Verdict, int]:
        """How many of the paper's numbers got which verdict."""
        counts = [table.verdicts() for table in self.tables]
        return {verdict: sum(found[verdict] for found in counts) for verdict in Verdict}

    def outcomes(self) -> dict[Outcome, int]:
        """How many of the paper's claims got which verdict."""
        found = [claim.outcome for claim in self.claims]
        return {outcome: found.count(outcome) for outcome in Outcome}

    def unavailable(self) -> list[str]:
        """Each thing that could not be run, once."""
        sentences = (text for manifest in self.manifests for text in manifest.unavailable)
        return list(dict.fromkeys(sentences))


def problems_of(
    records: Records, stages: Sequence[str], parts: Iterable[Table | Figure]
) -> tuple[list[Manifest], tuple[str, ...]]:
    """The manifests of whole stages; and each thing that is wrong with records, once."""
    manifests, problems = [], []
    for stage in stages:
        try:
            manifests.append(records.stage(stage)[1])
        except RecordsError as error:
            problems.append(str(error))
    problems += [part.broken for part in parts if part.fault]
    return manifests, tuple(dict.fromkeys(problems))


def paper_report(records: Records, command: str) -> Report:
    """The paper's tables and figures, and what lies beyond them."""
    paper = read_paper()
    compared, tests = comparison_tables(records)
    tables = (
        main_table(records),
        compared,
        tests,
        load_table(records),
        class_table(records),
        fairness_table(records),
        ablation_table(records),
        mixing_table(records),
        decision_path_table(records),
        sizes_table(records),
        classes_table(records),
        positioning_table(records),
        ladder_table(records),
        orders_table(records),
    )
    attention = paper.tables["attention"]
    figures = (
        gain_figure(
            "gains",
            "Gains of TACAN, paired by seed",
            "Mean differences in percentage points; bars are 95 % t intervals.",
            compared,
            "pp",
        ),
        figure_or_broken("packet_access_load", "fig:packet_access_load",
                         paper.tables["packet_load"].title, partial(load_figure, records)),
        figure_or_broken("attention_viz", attention.label, attention.title,
                         partial(attention_figure, records)),
        figure_or_broken("amc_mixing", "tab:amc_robustness", "Flattening",
                         partial(mixing_figure, records)),
        figure_or_broken("ladder_figure", "", "The ladder, drawn",
                         partial(ladder_figure, records)),
        figure_or_broken("training_curves", "", "Training curves",
                         partial(training_figure, records)),
    )  # fmt: skip
    manifests, problems = problems_of(records, STAGES, (*tables, *figures))
    title, setting = _setting(records)
    return Report(
        title=title,
        command=command,
        tables=tables,
        figures=figures,
        claims=tuple(judge_claims(records)),
        manifests=tuple(manifests),
        problems=problems,
        findings=findings(records),
        setting=setting,
    )


def _setting(records: Records) -> tuple[str, str]:
    """A title and a line that say what was played, for another experiment is not the paper's."""
    try:
        scenario, manifest = records.scenario(), records.stage("main")[1]
    except UserError:
        return PAPERS_TITLE, ""
    seeds, steps = manifest.inputs["seeds"], manifest.inputs["steps"]
    setting = f"Scenario {scenario.name!r}, {len(seeds)} held-out seeds of {steps:,} slots"
    if scenario.digest() == load_scenario("paper").digest():
        return PAPERS_TITLE, setting
    return f"The paper's tables in another scenario: {scenario.name}", setting


def table_files(tables: Sequence[Table], folder: Path) -> dict[Path, bytes]:
    """Each table in three formats, and all numbers in one."""
    files = {}
    for table in tables:
        files[folder / f"{table.key}.md"] = markdown(table).encode()
        files[folder / f"{table.key}.tex"] = latex(table).encode()
        files[folder / f"{table.key}.csv"] = csv_text(csv_rows(table)).encode()
    everything = [row for table in tables for row in csv_rows(table)]
    files[folder / "all-numbers.csv"] = csv_text(everything).encode()
    if any(table.has_paper for table in tables):
        files[folder / "against-the-paper.md"] = against_the_paper(tables).encode()
    return files


def against_the_paper(tables: Sequence[Table]) -> str:
    """Every number that the paper prints, with ours and the difference."""
    lines = [
        "| paper | row | column | the paper | ours | difference | verdict |",
        "| :-- | :-- | :-- | --: | --: | --: | :-- |",
    ]
    for table in tables:
        for row, column, cell in table.papers_numbers:
            found = cell.comparison
            decimals = cell.quantity.decimals if cell.quantity else 2
            difference = f"{found.difference:+,.{decimals}f}" if found else ""
            lines.append(
                f"| {table.label} | {row.heading} | {column} | {cell.papers} | {cell.shown} "
                f"| {difference} | {cell.verdict} |"
            )
    return "\n".join(lines) + "\n"


def write_report(report: Report, folder: Path, markup: str) -> None:
    """All files of a report, each whole before any gets its name.

    Tables and figures of an earlier report that this one has not are taken away, for they would
    pass for its own: a figure of numbers that are refused now, or of a load that was not asked for.
    """
    files = table_files(report.tables, folder / TABLES)
    for figure in report.figures:
        for kind, content in figure_files(figure).items():
            files[folder / FIGURES / f"{figure.key}.{kind}"] = content
    names = sorted(path.relative_to(folder).as_posix() for path in files)
    earlier = _written_earlier(folder)
    files[folder / LIST_NAME] = (json.dumps(names, indent=1) + "\n").encode()
    files[folder / PAGE_NAME] = markup.encode()
    write_files(files)
    remove_files(folder / name for name in earlier.difference(names))


def _written_earlier(folder: Path) -> set[str]:
    """The tables and figures that a report says it wrote into this folder; nothing else."""
    try:
        names = json.loads((folder / LIST_NAME).read_text(encoding="utf-8"))
        paths = [PurePosixPath(name) for name in names]
    except (OSError, ValueError, TypeError):
        return set()
    return {str(path) for path in paths if str(path.parent) in {TABLES, FIGURES}}


def provenance(report: Report) -> str:
    """Which records stand behind the page."""
    rows = []
    for manifest in report.manifests:
        seeds = manifest.inputs.get("seeds", [])
        steps = manifest.inputs.get("steps", "")
        cells = (
            f"{manifest.rows:,}",
            ", ".join(map(str, seeds)),
            f"{steps:,}" if isinstance(steps, int) and manifest.stage not in SLOTLESS else "",
            f"{manifest.seconds:.1f}",
            manifest.made,
            manifest.version,
            manifest.sha256[:12],
            manifest.command,
        )
        texts = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row">{escape(manifest.stage)}</th>{texts}</tr>')
    heads = "".join(
        f'<th scope="col">{head}</th>'
        for head in (
            *("Stage", "Rows", "Seeds", "Slots", "Seconds"),
            *("Made", "Version", "SHA-256", "Made by"),
        )
    )
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Records">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
