"""``tacan scenario``: list, show and check the experiments' settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tacan.cli.console import wide_console
from tacan.scenario import load_scenario, scenario_toml, shipped_scenarios

app = typer.Typer(help="List, show and check scenarios.", no_args_is_help=True)


@app.command("list")
def list_scenarios() -> None:
    """List the scenarios that ship."""
    table = Table("name", "channels", "devices", "users", "description")
    for name in shipped_scenarios():
        found = load_scenario(name)
        numbers = (str(n) for n in (found.channels, found.devices, found.users))
        table.add_row(name, *numbers, found.description)
    wide_console().print(table)


@app.command()
def show(name: Annotated[str, typer.Argument(help="A shipped name, or a TOML file.")]) -> None:
    """Print a scenario as one complete TOML file."""
    typer.echo(scenario_toml(load_scenario(name)), nl=False)


@app.command()
def check(file: Annotated[Path, typer.Argument(help="A scenario file.")]) -> None:
    """Say whether a scenario file is valid, and what is wrong with it if not."""
    found = load_scenario(file)
    typer.echo(f"{file}: valid: scenario {found.name!r}, digest {found.digest()}")
