"""OpenFlow 1.3 on the wire, by os-ken: used for encoding and decoding only.

What comes from a switch is decoded into a few small messages. Parts of fixed layout go through
os-ken; of lists (hello elements, bundle properties) only what we need is read, because a length of
zero in one of them would keep os-ken's parser busy for ever.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from tacan.controller.actuators.openflow_messages import (
    BarrierReply,
    BundleCommitted,
    BundleOpened,
    CodecError,
    EchoReply,
    EchoRequest,
    Features,
    FlowRemoved,
    Hello,
    Message,
    Other,
    PortList,
    PortStatus,
    RoleReply,
    SwitchError,
)
from tacan.errors import UserError

try:
    from os_ken.ofproto import ofproto_common, ofproto_v1_3, ofproto_v1_3_parser
    from os_ken.ofproto.ofproto_protocol import ProtocolDesc
except ImportError as error:  # pragma: no cover - depends on the installation
    raise UserError(
        "the OpenFlow actuator needs os-ken, which is not installed: "
        "pip install 'tacan[controller]'"
    ) from error

VERSION = ofproto_v1_3.OFP_VERSION
HEADER = struct.Struct("!BBHI")
HELLO_ELEMENT = struct.Struct("!HH")
EXPERIMENTER = struct.Struct("!II")
BUNDLE_CONTROL = struct.Struct("!IHH")
BUNDLE_STEP_LENGTH = HEADER.size + EXPERIMENTER.size + BUNDLE_CONTROL.size
XID = struct.Struct("!I")
LONGEST_MESSAGE = 65_535
MOST_TEMPLATES = 4_096
ATOMIC = ofproto_v1_3.ONF_BF_ATOMIC | ofproto_v1_3.ONF_BF_ORDERED
BUNDLE_EXPERIMENTER = ofproto_common.ONF_EXPERIMENTER_ID

PROTOCOL = ProtocolDesc(version=VERSION)


def message_length(header: bytes) -> int:
    """The length of the message that starts with these eight bytes."""
    version, _, length, _ = HEADER.unpack(header)
    if length < HEADER.size:
        raise CodecError(f"a message of {length} bytes")
    if version == 0:
        raise CodecError("version 0")
    return int(length)


def decode(data: bytes) -> Message:
    """One whole message."""
    if len(data) < HEADER.size:
        raise CodecError(f"a message of {len(data)} bytes")
    version, kind, length, xid = HEADER.unpack_from(data)
    if length != len(data):
        raise CodecError(f"{len(data)} bytes that say they are {length}")
    if kind == ofproto_v1_3.OFPT_HELLO:
        return _hello(version, data, xid)
    if version != VERSION:
        raise CodecError(f"version {version}, not {VERSION}")
    try:
        return _decode(kind, data, xid)
    except CodecError:
        raise
    except Exception as error:  # noqa: BLE001 - os-ken's parsers raise whatever they stumble over
        raise CodecError(f"a message of type {kind} that cannot be read: {error!r}") from None


def _hello(version: int, data: bytes, xid: int) -> Hello:
    """Agree on 1.3: by the version bitmap if there is one, else by the header's version."""
    rest = data[HEADER.size :]
    while len(rest) >= HELLO_ELEMENT.size:
        kind, length = HELLO_ELEMENT.unpack_from(rest)
        if length < HELLO_ELEMENT.size or length > len(rest):
            raise CodecError("a hello with a broken element")
        if kind == ofproto_v1_3.OFPHET_VERSIONBITMAP and length >= HELLO_ELEMENT.size + 4:
            (versions,) = struct.unpack_from("!I", rest, HELLO_ELEMENT.size)
            if not versions & (1 << VERSION):
                raise CodecError("the switch does not speak OpenFlow 1.3")
            return Hello(xid)
        rest = rest[(length + 7) // 8 * 8 :]
    if version < VERSION:
        raise CodecError(f"the switch speaks nothing newer than version {version}")
    return Hello(xid)


def _decode(kind: int, data: bytes, xid: int) -> Message:  # noqa: PLR0911 - one a message type
    match kind:
        case ofproto_v1_3.OFPT_BARRIER_REPLY:
            return BarrierReply(xid)
        case ofproto_v1_3.OFPT_ECHO_REQUEST:
            return EchoRequest(xid, data[HEADER.size :])
        case ofproto_v1_3.OFPT_ECHO_REPLY:
            return EchoReply(xid)
        case ofproto_v1_3.OFPT_EXPERIMENTER:
            return _experimenter(data, xid)
        case ofproto_v1_3.OFPT_MULTIPART_REPLY:
            return _multipart(data, xid)
        case ofproto_v1_3.OFPT_ERROR:
            error, code = struct.unpack_from("!HH", data, HEADER.size)
            return SwitchError(xid, error, code)
        case ofproto_v1_3.OFPT_FLOW_REMOVED:
            cookie, _, reason = struct.unpack_from("!QHB", data, HEADER.size)
            return FlowRemoved(xid, cookie, reason == ofproto_v1_3.OFPRR_HARD_TIMEOUT)
        case ofproto_v1_3.OFPT_FEATURES_REPLY:
            return Features(xid, int(_parsed("OFPSwitchFeatures", kind, data, xid).datapath_id))
        case ofproto_v1_3.OFPT_PORT_STATUS:
            return _port_status(_parsed("OFPPortStatus", kind, data, xid), xid)
        case ofproto_v1_3.OFPT_ROLE_REPLY:
            return RoleReply(xid, int(_parsed("OFPRoleReply", kind, data, xid).generation_id))
    return Other(xid)


def _parsed(name: str, kind: int, data: bytes, xid: int) -> Any:
    parser = getattr(ofproto_v1_3_parser, name).parser
    return parser(PROTOCOL, VERSION, kind, len(data), xid, bytearray(data))


def _usable(port: Any) -> bool:
    down = port.config & ofproto_v1_3.OFPPC_PORT_DOWN or port.state & ofproto_v1_3.OFPPS_LINK_DOWN
    return not down


def _port_status(status: Any, xid: int) -> PortStatus:
    gone = status.reason == ofproto_v1_3.OFPPR_DELETE
    return PortStatus(xid, int(status.desc.port_no), not gone and _usable(status.desc))


def _multipart(data: bytes, xid: int) -> Message:
    kind, flags = struct.unpack_from("!HH", data, HEADER.size)
    if kind != ofproto_v1_3.OFPMP_PORT_DESC:
        return Other(xid)
    ports: list[tuple[int, bool]] = []
    place = HEADER.size + 8
    while len(data) - place >= ofproto_v1_3.OFP_PORT_SIZE:
        port = ofproto_v1_3_parser.OFPPort.parser(data, place)
        ports.append((int(port.port_no), _usable(port)))
        place += ofproto_v1_3.OFP_PORT_SIZE
    return PortList(xid, tuple(ports), bool(flags & ofproto_v1_3.OFPMPF_REPLY_MORE))


def _experimenter(data: bytes, xid: int) -> Message:
    vendor, kind = EXPERIMENTER.unpack_from(data, HEADER.size)
    if vendor != BUNDLE_EXPERIMENTER or kind != ofproto_v1_3.ONF_ET_BUNDLE_CONTROL:
        return Other(xid)
    _, step, _ = BUNDLE_CONTROL.unpack_from(data, HEADER.size + EXPERIMENTER.size)
    match step:
        case ofproto_v1_3.ONF_BCT_OPEN_REPLY:
            return BundleOpened(xid)
        case ofproto_v1_3.ONF_BCT_COMMIT_REPLY:
            return BundleCommitted(xid)
    return Other(xid)


def _steering(in_port: int, output: int, priority: int, cookie: int, lease: int) -> Any:
    parser = ofproto_v1_3_parser
    action = parser.OFPActionOutput(output, ofproto_v1_3.OFPCML_NO_BUFFER)
    return parser.OFPFlowMod(
        PROTOCOL,
        cookie=cookie,
        command=ofproto_v1_3.OFPFC_ADD,
        hard_timeout=lease,
        priority=priority,
        flags=ofproto_v1_3.OFPFF_SEND_FLOW_REM,
        match=parser.OFPMatch(in_port=in_port),
        instructions=[parser.OFPInstructionActions(ofproto_v1_3.OFPIT_APPLY_ACTIONS, [action])],
    )


def _deletion(cookie: int, mask: int, in_port: int | None) -> Any:
    parser = ofproto_v1_3_parser
    return parser.OFPFlowMod(
        PROTOCOL,
        cookie=cookie,
        cookie_mask=mask,
        table_id=0,
        command=ofproto_v1_3.OFPFC_DELETE,
        out_port=ofproto_v1_3.OFPP_ANY,
        out_group=ofproto_v1_3.OFPG_ANY,
        match=parser.OFPMatch() if in_port is None else parser.OFPMatch(in_port=in_port),
    )


class Encoder:
    """Makes messages, each with the next xid."""

    def __init__(self) -> None:
        self._xid = 0
        self._made: dict[tuple[int | None, ...], bytes] = {}

    def _next_xid(self) -> int:
        self._xid = self._xid % 0xFFFF_FFFF + 1
        return self._xid

    def _serialised(self, message: Any, xid: int | None = None) -> tuple[int, bytes]:
        xid = self._next_xid() if xid is None else xid
        message.set_xid(xid)
        message.serialize()
        return xid, bytes(message.buf)

    def hello(self) -> bytes:
        """We speak OpenFlow 1.3 and nothing else."""
        bitmap = ofproto_v1_3_parser.OFPHelloElemVersionBitmap([VERSION])
        return self._serialised(ofproto_v1_3_parser.OFPHello(PROTOCOL, [bitmap]))[1]

    def echo_request(self) -> tuple[int, bytes]:
        """Are you there?"""
        return self._serialised(ofproto_v1_3_parser.OFPEchoRequest(PROTOCOL, b""))

    def echo_reply(self, request: EchoRequest) -> bytes:
        """I am here."""
        reply = ofproto_v1_3_parser.OFPEchoReply(PROTOCOL, request.data)
        return self._serialised(reply, request.xid)[1]

    def features_request(self) -> tuple[int, bytes]:
        """Which switch are you?"""
        return self._serialised(ofproto_v1_3_parser.OFPFeaturesRequest(PROTOCOL))

    def port_list_request(self) -> tuple[int, bytes]:
        """Which ports do you have?"""
        return self._serialised(ofproto_v1_3_parser.OFPPortDescStatsRequest(PROTOCOL, 0))

    def role_question(self) -> tuple[int, bytes]:
        """Which generation was the last election?"""
        same = ofproto_v1_3.OFPCR_ROLE_NOCHANGE
        return self._serialised(ofproto_v1_3_parser.OFPRoleRequest(PROTOCOL, same, 0))

    def role_request(self, generation: int) -> tuple[int, bytes]:
        """I am the one who writes."""
        master = ofproto_v1_3.OFPCR_ROLE_MASTER
        return self._serialised(ofproto_v1_3_parser.OFPRoleRequest(PROTOCOL, master, generation))

    def barrier_request(self) -> tuple[int, bytes]:
        """Tell me when all before this was carried out."""
        return self._serialised(ofproto_v1_3_parser.OFPBarrierRequest(PROTOCOL))

    def steer(
        self, in_port: int, output: int, *, priority: int, cookie: int, lease: int
    ) -> tuple[int, bytes]:
        """Add the rule in_port -> output, in place of the one there; it dies after its lease."""
        key = (in_port, output, priority, cookie, lease)
        return self._stamped(key, lambda: _steering(*key))

    def delete(self, *, cookie: int, mask: int, in_port: int | None = None) -> tuple[int, bytes]:
        """Remove the rules whose cookie fits, of one port or of all."""
        return self._stamped((cookie, mask, in_port), lambda: _deletion(cookie, mask, in_port))

    def _stamped(self, key: tuple[int | None, ...], make: Callable[[], Any]) -> tuple[int, bytes]:
        """A message that was made before needs only its new xid."""
        known = self._made.get(key)
        if known is None:
            if len(self._made) >= MOST_TEMPLATES:
                self._made.clear()
            xid, data = self._serialised(make())
            self._made[key] = data
            return xid, data
        xid = self._next_xid()
        return xid, known[:4] + XID.pack(xid) + known[8:]

    def bundle(self, number: int, step: int) -> tuple[int, bytes]:
        """Open, close or commit an atomic bundle."""
        xid = self._next_xid()
        data = (
            HEADER.pack(VERSION, ofproto_v1_3.OFPT_EXPERIMENTER, BUNDLE_STEP_LENGTH, xid)
            + EXPERIMENTER.pack(BUNDLE_EXPERIMENTER, ofproto_v1_3.ONF_ET_BUNDLE_CONTROL)
            + BUNDLE_CONTROL.pack(number, step, ATOMIC)
        )
        return xid, data

    def bundled(self, number: int, message: tuple[int, bytes]) -> bytes:
        """A message as part of a bundle; it keeps its xid, by which errors name it."""
        xid, data = message
        length = BUNDLE_STEP_LENGTH + len(data)
        return (
            HEADER.pack(VERSION, ofproto_v1_3.OFPT_EXPERIMENTER, length, xid)
            + EXPERIMENTER.pack(BUNDLE_EXPERIMENTER, ofproto_v1_3.ONF_ET_BUNDLE_ADD_MESSAGE)
            + BUNDLE_CONTROL.pack(number, 0, ATOMIC)
            + data
        )


OPEN = ofproto_v1_3.ONF_BCT_OPEN_REQUEST
COMMIT = ofproto_v1_3.ONF_BCT_COMMIT_REQUEST
