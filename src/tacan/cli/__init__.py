"""The command line: wiring, no logic. Each command lies in the file of its name."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

import tacan
from tacan.cli import (
    compare,
    control,
    evaluate,
    lab,
    policies,
    record,
    reproduce,
    scenario,
    train,
)
from tacan.errors import UserError

app = typer.Typer(
    name="tacan",
    help="Dynamic spectrum access: simulate, evaluate, train, reproduce, control.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(scenario.app, name="scenario")
app.add_typer(control.app, name="control")
app.command()(record.record)
app.command()(lab.lab)
app.command()(policies.policies)
app.command()(train.train)
app.command()(train.export)
app.command()(evaluate.evaluate)
app.command()(reproduce.reproduce)
app.command()(compare.compare)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tacan {tacan.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Take what stands before a command."""


def main() -> None:
    """Run the command; what a user can put right is one sentence and exit code 2."""
    try:
        app()
    except UserError as error:
        console = Console(stderr=True, highlight=False)
        console.print(f"[red]error:[/red] {escape(str(error))}", soft_wrap=True)
        sys.exit(2)
