"""``tacan policies``: what can be named, and what it is allowed to know."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from tacan.cli.console import wide_console


def policies(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the policies that can be named, and what each is allowed to know."""
    from tacan.policies.catalogue import list_policies

    found = list_policies()
    if as_json:
        rows = [
            {
                "name": info.name,
                "knows": info.knows,
                "memory": info.memory,
                "privilege": info.privilege.name.lower(),
                "seeded": info.seeded,
            }
            for info in found
        ]
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("name", "memory", "may know")
    for info in found:
        table.add_row(info.name, info.memory, info.knows)
    wide_console().print(table)
