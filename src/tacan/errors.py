"""What a user can put right."""

from __future__ import annotations


class UserError(ValueError):
    """Bad input: one sentence that names the thing and says what would be right.

    The command line prints it without a traceback and exits with 2.
    """
