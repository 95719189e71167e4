"""``python -m tacan`` is the command."""

from tacan.cli import main

main()
