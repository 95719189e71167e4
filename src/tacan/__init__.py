"""TACAN: dynamic spectrum access under bursty primary users."""

from importlib.metadata import version

__version__ = version("tacan")
