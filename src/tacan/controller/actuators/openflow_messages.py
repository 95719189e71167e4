"""What a switch says, as far as we need it."""

from __future__ import annotations

from dataclasses import dataclass


class CodecError(Exception):
    """Bytes that are no OpenFlow 1.3 message."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message without content of interest, and the base of all others."""

    xid: int


class Hello(Message):
    """The switch speaks OpenFlow 1.3."""


@dataclass(frozen=True, slots=True)
class EchoRequest(Message):
    """To be answered with its own content."""

    data: bytes


class EchoReply(Message):
    """The switch is alive."""


@dataclass(frozen=True, slots=True)
class Features(Message):
    """Which switch it is."""

    datapath_id: int


@dataclass(frozen=True, slots=True)
class PortStatus(Message):
    """A port came, went or changed."""

    port: int
    usable: bool
    """it exists and its link is up"""


@dataclass(frozen=True, slots=True)
class PortList(Message):
    """All ports (one part of the list), as (port, usable)."""

    ports: tuple[tuple[int, bool], ...]
    more: bool


@dataclass(frozen=True, slots=True)
class SwitchError(Message):
    """The switch refused the message of this xid."""

    kind: int
    code: int

    def __str__(self) -> str:
        return f"the switch refused it (error type {self.kind}, code {self.code})"


@dataclass(frozen=True, slots=True)
class FlowRemoved(Message):
    """A rule is gone from the switch."""

    cookie: int
    expired: bool
    """its lease ran out"""


class BarrierReply(Message):
    """Everything before it was carried out."""


@dataclass(frozen=True, slots=True)
class RoleReply(Message):
    """The role we have, and the generation of the last election."""

    generation: int


class BundleOpened(Message):
    """The bundle can be filled."""


class BundleCommitted(Message):
    """All of the bundle was carried out at once."""


class Other(Message):
    """Something we did not ask for and do not need."""
