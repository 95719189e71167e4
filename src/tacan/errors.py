"""What a user can put right."""

from __future__ import annotations

MOST_LETTERS = 300
"""of what somebody else's code complains about: compilers complain at length"""


class UserError(ValueError):
    """Bad input: one sentence that names the thing and says what would be right.

    The command line prints it without a traceback and exits with 2.
    """


def described(error: BaseException) -> str:
    """The kind and text of what somebody else's code raised, on one line of bounded length."""
    try:
        text = " ".join(f"{type(error).__name__}: {error}".split())
    except BaseException:  # noqa: BLE001 - its own text may fail, too
        text = type(error).__name__
    return text if len(text) <= MOST_LETTERS else text[:MOST_LETTERS] + " .."
