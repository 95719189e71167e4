"""``tacan compare``: any policies through the same protocol, with paired statistics."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tacan.cli.console import wide_console
from tacan.cli.reproduce import run_stages
from tacan.cli.threads import worker_threads
from tacan.errors import UserError
from tacan.scenario import load_scenario


def compare(
    policies: Annotated[
        list[str],
        typer.Argument(metavar="A B [C..]", help="Names, policy files (.onnx), module:factory."),
    ],
    scenario: Annotated[str, typer.Option(help="A shipped name, or a TOML file.")] = "paper",
    load: Annotated[
        str, typer.Option(help="mixed, a fixed regime such as extreme, or all of these.")
    ] = "mixed",
    order: Annotated[
        str, typer.Option(help="Who chooses first: fixed, queued-first, rotating, or all.")
    ] = "fixed",
    seeds: Annotated[
        int, typer.Option(help="How many held-out seeds: 42, 123, 7, 2024, 314, 10001, ...")
    ] = 5,
    steps: Annotated[int, typer.Option(help="Slots of each seed.")] = 10_000,
    out: Annotated[Path, typer.Option(help="The results folder.")] = Path("comparison"),
    threads: Annotated[int | None, typer.Option(min=1, help="Default: all processors.")] = None,
) -> None:
    """Compare policies on the same held-out trajectories; the first is set against the others.

    Writes records, tables, figures and one self-contained HTML report into the results folder.
    """
    from tacan.evaluation import files, protocol
    from tacan.evaluation.experiments import comparison_plan
    from tacan.evaluation.stages import comparison_stage

    names = protocol.without_repeats(policies)
    if len(names) < 2:
        raise UserError(f"compare needs two different policies or more, not {', '.join(names)}")
    chosen = load_scenario(scenario)
    plan = protocol.Protocol(protocol.paired_seeds(seeds), steps)
    loads = protocol.load_names(chosen, load)
    orders = protocol.service_orders(order)
    files.check_folder(out, "--out")
    command = shlex.join(["tacan", *sys.argv[1:]])
    workers = worker_threads(threads)
    stage = comparison_stage(
        comparison_plan(names, orders, loads), chosen, plan, command=command, threads=workers
    )
    console = wide_console()
    run_stages([stage], out / "records", command, fresh=True, console=console)

    from tacan.reporting.compare_report import RULE, compare_page, compare_report
    from tacan.reporting.records import Records
    from tacan.reporting.report import write_report
    from tacan.reporting.table_files import plain_table

    found = compare_report(Records(out / "records"), names, orders, loads, command)
    report = found.report
    write_report(report, out, compare_page(found))
    for table in report.tables:
        typer.echo(plain_table(table))
    for where, sentences in found.words:
        console.print(f"[bold]{escape(where)}[/bold]")
        for sentence in sentences:
            console.print(f"  {escape(sentence)}", soft_wrap=True)
    console.print(RULE, soft_wrap=True)
    for sentence in found.notes:
        console.print(f"[yellow]note:[/yellow] {escape(sentence)}", soft_wrap=True)
    for sentence in report.unavailable():
        console.print(f"[yellow]note:[/yellow] {escape(sentence)}", soft_wrap=True)
    for problem in report.problems:
        console.print(f"[red]no numbers:[/red] {escape(problem)}", soft_wrap=True)
    console.print(escape(str(out / "report.html")))
    if report.problems:
        raise typer.Exit(1)
