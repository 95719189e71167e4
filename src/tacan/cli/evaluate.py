"""``tacan evaluate``: replay policies on held-out trajectories and print what they achieve."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tacan.cli.console import wide_console
from tacan.cli.result_table import result_table
from tacan.cli.threads import worker_threads
from tacan.errors import UserError
from tacan.scenario import load_scenario

if TYPE_CHECKING:  # heavy: loaded when the command runs, not whenever help is shown
    from tacan.evaluation.results import Result

STANDARD_OUTPUT = "-"


def _print_metrics(wanted: bool) -> None:
    if not wanted:
        return
    from tacan.evaluation.metrics import METRICS, Scope

    table = Table("metric", "unit", "also by", "definition", box=box.SIMPLE_HEAD)
    for metric in METRICS:
        also = [name for name in (Scope.CLASS, Scope.USER) if name in metric.scope]
        by = ", ".join(str(scope.name).lower() for scope in also)
        table.add_row(metric.name, metric.unit.value, by, metric.definition)
    wide_console().print(table)
    raise typer.Exit


def evaluate(
    policies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="POLICY...", help="Names of 'tacan policies', files, module:factory."
        ),
    ] = None,
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
    perturb: Annotated[
        str | None,
        typer.Option(help="What policies see: zero-entropy, single-frame, mixing:0.5, ..."),
    ] = None,
    json_file: Annotated[
        str | None,
        typer.Option("--json", help="Write all metrics as JSON to this file; - prints them."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write records (Parquet) into this folder.")
    ] = None,
    threads: Annotated[int, typer.Option(help="Policies replayed at the same time.")] = 1,
    metrics: Annotated[  # noqa: ARG001 - its callback does it all
        bool,
        typer.Option(
            "--metrics", callback=_print_metrics, is_eager=True, help="Define every metric; exit."
        ),
    ] = False,
) -> None:
    """Replay frozen policies on matched held-out trajectories: mean ± std over seeds.

    Rates are fractions in JSON and records, percent in the table. Delays are slots.
    'tacan evaluate --metrics' defines every metric.
    """
    from tacan.evaluation import files, protocol
    from tacan.evaluation.perturbations import parse_perturbation

    if not policies:
        raise UserError("evaluate needs a policy: 'tacan policies' lists them")
    if threads < 1:
        raise UserError(f"threads = {threads}: must be at least 1")
    chosen = load_scenario(scenario)
    plan = protocol.Protocol(protocol.evaluation_seeds(seeds), steps)
    loads = protocol.load_names(chosen, load)
    orders = protocol.service_orders(order)
    perturbation = None if perturb is None else parse_perturbation(perturb)
    if json_file is not None and json_file != STANDARD_OUTPUT:
        files.check_writable(Path(json_file), "--json")
    if out is not None:
        files.check_folder(out, "--out")

    from tacan.evaluation.replay import Contender, replay, slots_to_play
    from tacan.evaluation.results import Result

    references = protocol.without_repeats(policies)
    results: list[Result] = []
    with _progress() as progress:
        task = progress.add_task("", total=None)
        contenders = []
        for reference in references:
            progress.update(task, description=f"preparing {reference}")
            contenders += [Contender.build(reference, o, chosen, plan.seeds) for o in orders]
        progress.update(task, total=slots_to_play(len(contenders), plan) * len(loads))
        for name in loads:
            progress.update(task, description=f"{name} load")
            found = replay(
                contenders,
                chosen,
                plan,
                name,
                perturbation=perturbation,
                threads=worker_threads(threads),
                progress=lambda slots: progress.advance(task, slots),
            )
            results += [Result.of(one) for one in found]
    # policy by policy, as they were named; loads and orders within
    results.sort(key=lambda result: references.index(result.policy))
    _write(results, json_file, out)
    to_pipe = json_file == STANDARD_OUTPUT
    if to_pipe:
        typer.echo(_as_json(results), nl=False)
    console = wide_console(stderr=to_pipe)
    console.print(result_table(results, console.width))


def _as_json(results: Sequence[Result]) -> str:
    content = [result.as_json() for result in results]
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _write(results: Sequence[Result], json_file: str | None, out: Path | None) -> None:
    from tacan.evaluation.files import write_files

    contents = {}
    if out is not None:
        from tacan.evaluation.records import encode_records

        command = shlex.join(["tacan", *sys.argv[1:]])
        contents = encode_records(results, out, command)
    if json_file is not None and json_file != STANDARD_OUTPUT:
        contents[Path(json_file)] = _as_json(results).encode()
    write_files(contents)


def _progress() -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
