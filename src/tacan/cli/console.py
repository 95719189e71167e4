"""Where commands print.

Rich reads [words] in what it prints as styles. A name that a user gave (a policy's file, a load) is
escaped wherever it is printed.
"""

from __future__ import annotations

from rich.console import Console

PIPE_WIDTH = 160


def wide_console(*, stderr: bool = False) -> Console:
    """Full width where nobody's terminal would break the lines."""
    console = Console(stderr=stderr, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console
