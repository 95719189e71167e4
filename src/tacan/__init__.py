"""TACAN: dynamic spectrum access under bursty primary users."""

from importlib.metadata import version

from tacan.environments.registration import register_environments

__version__ = version("tacan")

register_environments()
