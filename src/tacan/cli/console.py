"""Where commands print."""

from __future__ import annotations

from rich.console import Console

PIPE_WIDTH = 160


def wide_console(*, stderr: bool = False) -> Console:
    """Full width where nobody's terminal would break the lines."""
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console
