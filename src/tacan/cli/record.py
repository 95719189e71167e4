"""``tacan record``: write what a sensor reports to a trace file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer


def record(
    file: Annotated[Path, typer.Argument(help="Where to: .jsonl or .npz.")],
    config: Annotated[
        Path | None, typer.Option(help="Take the sensor of this control file, in shadow mode.")
    ] = None,
    scenario: Annotated[str, typer.Option(help="Without a control file: the simulator's.")] = (
        "paper"
    ),
    policy: Annotated[str, typer.Option(help="Who serves the simulator's queues.")] = "greedy",
    slots: Annotated[int, typer.Option(min=1, help="How many decisions long.")] = 200,
    seed: Annotated[int, typer.Option(min=0)] = 42,
    episode: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Record a trace of the simulator, or of whatever sensor a control file names."""
    from tacan.controller.recording import record_trace, simulated_settings
    from tacan.controller.settings import load_settings

    if config is None:
        settings = simulated_settings(scenario, policy, slots=slots, seed=seed, episode=episode)
        folder = Path()
    else:
        settings, folder = load_settings(config), config.parent
    reports = asyncio.run(record_trace(settings, folder, file, slots))
    typer.echo(f"{file}: {reports} reports")
