"""Channels as rules of a switch, and which of them have to be sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacan.controller.messages import NO_CHANNEL, Plan, Rule


@dataclass(frozen=True)
class Layout:
    """Which port of the switch is whose."""

    user_ports: tuple[int, ...]
    """[U]"""
    channel_ports: tuple[int, ...]
    """[K]"""

    @staticmethod
    def numbered(users: int, channels: int, first_channel: int = 101) -> Layout:
        """Users at ports 1, 2, .. and channels from ``first_channel`` on."""
        return Layout(
            tuple(range(1, users + 1)), tuple(range(first_channel, first_channel + channels))
        )

    def channel_of(self, port: int) -> int:
        """The channel at a port, -1 if none is."""
        return self.channel_ports.index(port) if port in self.channel_ports else NO_CHANNEL


def make_plan(slot: int, channels: Sequence[int], layout: Layout) -> Plan:
    """The rules of an assignment."""
    rules = tuple(
        Rule(user, channel, layout.user_ports[user], layout.channel_ports[channel])
        for user, channel in enumerate(channels)
        if channel != NO_CHANNEL
    )
    return Plan(slot, tuple(channels), rules)


def withdrawn(slot: int, users: int) -> Plan:
    """Nobody transmits."""
    return Plan(slot, (NO_CHANNEL,) * users, ())


def without(plan: Plan, down: frozenset[int]) -> Plan:
    """The same plan, but whoever has one of these channels is silent."""
    if down.isdisjoint(plan.channels):
        return plan
    return Plan(
        plan.slot,
        tuple(NO_CHANNEL if channel in down else channel for channel in plan.channels),
        tuple(rule for rule in plan.rules if rule.channel not in down),
    )
