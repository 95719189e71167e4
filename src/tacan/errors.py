"""What a user can put right."""

from __future__ import annotations

import traceback
from pathlib import Path

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


def placed(error: BaseException, ours: str) -> str:
    """``described``, and where: its author has to find it without a traceback.

    The place is the last one outside the file ``ours``, which called somebody else's code.
    """
    if isinstance(error, SyntaxError):  # says where by itself, and was raised by the importer
        return described(error)
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if frame.filename != ours]
    where = f" ({Path(theirs[-1].filename).name}, line {theirs[-1].lineno})" if theirs else ""
    return described(error) + where
