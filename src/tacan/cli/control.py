"""``tacan control``: run the controller of a control file, or say what is wrong with the file."""

from __future__ import annotations

import asyncio
import gc
import logging
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.logging import RichHandler

app = typer.Typer(help="Run the controller: sense, decide, act.", invoke_without_command=True)


@app.callback()
def control(
    context: typer.Context,
    config: Annotated[Path | None, typer.Option(help="The control file (TOML).")] = None,
    cycles: Annotated[int | None, typer.Option(min=1, help="Stop after so many.")] = None,
) -> None:
    """Run the controller of a control file until it is asked to stop (SIGINT or SIGTERM)."""
    if context.invoked_subcommand is not None:
        return
    from tacan.controller.settings import load_settings
    from tacan.controller.wiring import build_controller, run_controller
    from tacan.errors import UserError

    if config is None:
        raise UserError("tacan control needs --config FILE (docs/controller.md describes the file)")
    handler = RichHandler(console=Console(stderr=True), show_path=False)
    logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[handler])
    controller = build_controller(load_settings(config), config.parent, typer.echo)
    gc.freeze()  # what is loaded stays: going through it again takes longer than a deadline
    asyncio.run(run_controller(controller, cycles))


@app.command()
def check(file: Annotated[Path, typer.Argument(help="A control file.")]) -> None:
    """Say what is wrong with a control file, without starting anything."""
    from tacan.controller.settings import load_settings, scenario_of
    from tacan.controller.wiring import build_controller, policy_of

    settings = load_settings(file)
    scenario = scenario_of(settings, file.parent)
    build_controller(settings, file.parent, typer.echo)
    policy_of(settings, file.parent, scenario)
    typer.echo(
        f"{file}: valid: {settings.sensor.kind} -> {settings.policy} -> {settings.actuator.kind}, "
        f"scenario {scenario.name!r}"
    )


@app.command()
def audit(file: Annotated[Path, typer.Argument(help="An audit log.")]) -> None:
    """See that an audit log is whole: no line missing or torn, every run with its end."""
    from tacan.controller.audit_check import check_audit

    found = check_audit(file)
    for run, lines in found.runs.items():
        typer.echo(f"run {run}: {lines} lines")
    for fault in found.faults:
        typer.echo(fault)
    if found.faults:
        raise typer.Exit(1)
    typer.echo("whole: nothing is missing")
