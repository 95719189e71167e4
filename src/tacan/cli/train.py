"""``tacan train`` and ``tacan export``."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from tacan.cli.console import wide_console
from tacan.errors import UserError
from tacan.scenario import load_scenario

# glibc reads these only when a process starts, so the command starts itself anew with them: huge
# pages, and freed memory kept instead of being handed back and faulted in again on every minibatch
MALLOC = (
    "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4294967296:"
    "glibc.malloc.trim_threshold=4294967296"
)
ENVIRONMENT = {"GLIBC_TUNABLES": MALLOC, "OMP_WAIT_POLICY": "PASSIVE"}
LAUNCHED = "TACAN_LAUNCHED"
MOST_SEED = 2**64 - 1
"""what torch and the random streams take"""
PIPE_LINES = 10
"""lines of progress where nobody's terminal shows a bar"""


def _relaunch() -> None:
    """Start this command anew with the memory settings, unless that has been done.

    It is started as it was, so that modules are looked for where they were looked for before.
    """
    if os.environ.get(LAUNCHED) or "GLIBC_TUNABLES" in os.environ or sys.platform != "linux":
        return
    environment = {**ENVIRONMENT, **os.environ, LAUNCHED: "1"}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606


def _require_torch() -> None:
    try:
        import onnx  # noqa: F401
        import tensorboard  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"training needs {error.name}, which is not installed: pip install 'tacan[train]'"
        ) from None


KEPT_ON_RESUME = {
    "method": "METHOD",
    "scenario": "--scenario",
    "seed": "--seed",
    "preset": "--preset",
    "steps": "--steps",
    "advantages": "--advantages",
    "out": "--out",
}
"""What a run is from its start on, as the command line names it."""


def _require_nothing_kept(context: typer.Context) -> None:
    given = []
    for name, shown in KEPT_ON_RESUME.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            given.append(shown)
    if given:
        raise UserError(
            f"--resume goes on with a run as it was begun: leave out {' and '.join(given)} "
            "(what can be changed is --threads, and other settings by --settings)"
        )


def train(
    context: typer.Context,
    method: Annotated[str, typer.Argument(help="tacan, mlp or mlp-matched.")] = "tacan",
    scenario: Annotated[str, typer.Option(help="A shipped name, or a TOML file.")] = "paper",
    seed: Annotated[
        int, typer.Option(min=0, max=MOST_SEED, help="Seed of weights and training episodes.")
    ] = 42,
    preset: Annotated[str, typer.Option(help="paper: 500,000 steps; quick: minutes.")] = "paper",
    settings: Annotated[Path | None, typer.Option(help="TOML file of training settings.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="PPO environment steps.")] = None,
    advantages: Annotated[str | None, typer.Option(help="gae or counterfactual.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Processor threads.")] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Run folder to go on with.")] = None,
) -> None:
    """Train a policy: behaviour cloning, then PPO. Killed at any moment, it resumes exactly."""
    _require_torch()
    _relaunch()
    from tacan.networks.catalogue import require_method
    from tacan.training.claim import claimed
    from tacan.training.run import resume_run, start_run
    from tacan.training.settings import load_settings, settings_of

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops like Ctrl-C
    named: dict[str, Any] = {"steps": steps, "advantages": advantages, "threads": threads}
    changes = {name: value for name, value in named.items() if value is not None}
    if resume is not None:
        _require_nothing_kept(context)
        changes = settings_of(settings) | changes
        with claimed(resume, new=False):
            _follow(resume_run(resume, changes))
        return
    require_method(method)
    chosen = load_settings(preset, settings, changes)
    world = load_scenario(scenario)
    place = "" if world.name == "paper" else f"-{world.name}"
    folder = out or Path("runs") / f"{method}{place}-{seed}"
    with claimed(folder, new=True):
        _follow(start_run(method, world, chosen, seed, folder))


def _tell_changes(run: Any) -> None:
    for change in run.changes:
        new = ", ".join(f"{key} {value}" for key, value in change.items() if key != "iteration")
        typer.echo(
            f"changed after rollout {change['iteration']}: {new}; "
            "the weights may differ from those of a run left as it was",
            err=True,
        )


def _follow(run: Any) -> None:
    """Run to the end, and close with a table; interrupted, say how to go on."""
    import torch

    torch.set_num_threads(run.settings.threads)
    _tell_changes(run)
    try:
        _train(run)
    except KeyboardInterrupt:
        raise UserError(
            f"interrupted after {run.iteration} of {run.iterations} rollouts; "
            f"go on with: tacan train --resume {run.folder}"
        ) from None
    _print_table(run)
    typer.echo(f"freeze it with: tacan export {run.folder} --out {run.learner.method}.onnx")


def _train(run: Any) -> None:
    """Every rollout with a progress bar, or now and then a line, and TensorBoard events."""
    from tacan.training.run import finish
    from tacan.training.tensorboard import EventLog

    console = wide_console(stderr=True)
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[figures]}"),
    )
    progress = Progress(*columns, console=console, disable=not console.is_terminal)
    with EventLog(run.folder, run.iteration) as events, progress as bar:
        task = bar.add_task(_name(run), total=run.iterations, completed=run.iteration, figures="")

        def report(row: dict[str, float]) -> None:
            events.write(run.iteration, row)
            stage = "cloning" if row["cloning_stage"] else "ppo"
            figures = f"{stage}  access {row['packet_access']:.2%}  reward {row['reward']:.3f}"
            bar.update(task, completed=run.iteration, figures=figures)
            before, now = (
                PIPE_LINES * n // run.iterations for n in (run.iteration - 1, run.iteration)
            )
            if not console.is_terminal and now > before:
                console.print(f"{_name(run)}: {run.iteration}/{run.iterations} rollouts  {figures}")

        finish(run, report)


def _name(run: Any) -> str:
    return f"{run.learner.method} seed {run.learner.seed}"


def _print_table(run: Any) -> None:
    ppo = [row for row in run.curve if not row["cloning_stage"]]
    title = f"{_name(run)}, {ppo[-1]['slots']:,.0f} slots"
    table = Table("figure", "first PPO rollout", "last 10 rollouts", title=title)
    for key in ppo[0]:
        if key not in {"cloning_stage", "slots"}:
            last = sum(row[key] for row in ppo[-10:]) / len(ppo[-10:])
            table.add_row(key.replace("_", " "), f"{ppo[0][key]:,.4g}", f"{last:,.4g}")
    for part, seconds in run.seconds.items():
        table.add_row(f"seconds: {part}", "", f"{seconds:,.1f}")
    Console().print(table)


def export(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    out: Annotated[Path, typer.Option(help="Policy file to write, ending in .onnx.")],
    unfinished: Annotated[bool, typer.Option(help="Allow a run that has not ended.")] = False,
) -> None:
    """Freeze a run into one self-describing policy file (ONNX), which needs no torch to run."""
    _require_torch()
    from tacan.training.checkpoint import load_checkpoint
    from tacan.training.export import export_policy
    from tacan.training.run import CHECKPOINT, resume_run

    going = resume_run(run)
    if going.iteration < going.iterations and not unfinished:
        raise UserError(
            f"{run}: {going.iteration} of {going.iterations} rollouts done; "
            f"finish it with 'tacan train --resume {run}' or say --unfinished"
        )
    digest = export_policy(load_checkpoint(run / CHECKPOINT), out)
    typer.echo(f"{out}: {out.stat().st_size:,} bytes, content digest {digest[:16]}")
