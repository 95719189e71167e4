"""``tacan reproduce``: every number, table and figure of the paper, from the shipped policies."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from tacan.cli.console import wide_console
from tacan.cli.threads import worker_threads
from tacan.scenario import Scenario, load_scenario

if TYPE_CHECKING:  # heavy: loaded when the command runs, not whenever help is shown
    from tacan.evaluation.protocol import Protocol
    from tacan.evaluation.replay import Progress as Advance
    from tacan.evaluation.stages import Stage
    from tacan.reporting.report import Report

REPORT = "report"
STYLES = {
    "reproduced": "green",
    "exceeds": "cyan",
    "differs": "yellow",
    "not available": "bright_black",
}


def reproduce(
    out: Annotated[Path, typer.Option(help="The results folder.")] = Path("results"),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run stages again even if their records exist.")
    ] = False,
    stage: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this stage (repeat for several): main, ablation, mixing, orders, ladder, "
            "attention, training, controller, report."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many held-out seeds, two or more.")] = 5,
    steps: Annotated[int, typer.Option(help="Slots of each seed.")] = 10_000,
    scenario: Annotated[str, typer.Option(help="A shipped name, or a TOML file.")] = "paper",
    threads: Annotated[int | None, typer.Option(min=1, help="Default: all processors.")] = None,
) -> None:
    """Rebuild the paper: records, tables, figures and one self-contained HTML report.

    A stage whose records of the same inputs exist is not run again. The report reads records only.
    """
    from tacan.evaluation import files, protocol
    from tacan.evaluation.stages import choose

    start = time.perf_counter()
    chosen = load_scenario(scenario)
    plan = protocol.Protocol(protocol.paired_seeds(seeds), steps)
    files.check_folder(out, "--out")
    command = shlex.join(["tacan", *sys.argv[1:]])
    workers = worker_threads(threads)
    stages = choose(_stages(chosen, plan, command, workers), stage or [], REPORT)
    console = wide_console()
    run_stages(stages, out / "records", command, fresh=fresh, console=console)
    if stage and REPORT not in stage:
        return
    report = _report(out, command)
    _summary(report, console)
    console.print(
        f"\n{escape(str(out / 'report.html'))}  (tables, figures and records beside it; "
        f"{time.perf_counter() - start:.1f} s)"
    )
    if report.problems:
        raise typer.Exit(1)


def _stages(scenario: Scenario, plan: Protocol, command: str, threads: int) -> list[Stage]:
    from tacan.cli.decision_path import controller_stage
    from tacan.evaluation import stages
    from tacan.evaluation.experiments import MATCHED, MLP, TACAN, paper_plans

    learned = (TACAN, MLP, MATCHED)
    return [
        *(
            stages.replay_stage(found, scenario, plan, command=command, threads=threads)
            for found in paper_plans(scenario)
        ),
        stages.attention_stage(scenario, plan, threads=threads),
        stages.training_stage(scenario, plan, learned),
        controller_stage(scenario, plan),
    ]


def run_stages(
    stages: list[Stage], folder: Path, command: str, *, fresh: bool, console: Console
) -> None:
    from tacan.evaluation.stages import run_stage

    with _progress(console) as progress:
        for found in stages:
            task = progress.add_task(f"{found.name}: {found.about}", total=found.steps)
            done = run_stage(found, folder, command, _advance(progress, task), fresh=fresh)
            progress.update(task, completed=found.steps)
            if done.note:
                console.print(f"[yellow]note:[/yellow] {escape(done.note)}", soft_wrap=True)
            if not console.is_terminal:
                how = "records reused" if done.reused else f"{done.seconds:.1f} s"
                console.print(escape(f"{found.name}: {found.about}: {how}"))


def _advance(progress: Progress, task: TaskID) -> Advance:
    return lambda slots: progress.advance(task, slots)


def _report(out: Path, command: str) -> Report:
    from tacan.reporting.paper_page import paper_page
    from tacan.reporting.records import Records
    from tacan.reporting.report import paper_report, write_report

    report = paper_report(Records(out / "records"), command)
    write_report(report, out, paper_page(report))
    return report


def _summary(report: Report, console: Console) -> None:
    """What matches, what differs and by how much."""
    from tacan.reporting.comparison import Verdict
    from tacan.reporting.paper_page import summary_sentence

    claims = Table("verdict", "the paper's claim", "our numbers", box=box.SIMPLE_HEAD)
    for found in report.claims:
        style = STYLES[found.outcome.value]
        claims.add_row(f"[{style}]{found.outcome.value}[/]", found.claim, escape(found.because))
    console.print(claims)
    apart = Table("table", "row", "column", "paper", "ours", "difference", box=box.SIMPLE_HEAD)
    for table in report.tables:
        for row, column, cell in table.papers_numbers:
            comparison = cell.comparison
            if comparison is None or comparison.verdict is Verdict.MATCHES:
                continue
            cells = (table.label, row.heading, column, cell.papers, cell.shown)
            apart.add_row(*map(escape, cells), f"{comparison.difference:+.4g} {comparison.verdict}")
    if apart.row_count:
        console.print("Numbers that do not match:")
        console.print(apart)
    for sentence in report.unavailable():
        console.print(f"[yellow]not available:[/yellow] {escape(sentence)}", soft_wrap=True)
    for sentence in report.problems:
        console.print(f"[red]no numbers:[/red] {escape(sentence)}", soft_wrap=True)
    console.print(summary_sentence(report), soft_wrap=True)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
