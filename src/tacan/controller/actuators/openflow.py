"""An OpenFlow 1.3 switch: every user's rule is a lease, and changes are atomic.

The switch connects to us. Each user has one rule, in_port -> output, that dies by itself after
``lease`` seconds (hard_timeout) unless the loop applies its plan again, be it new or held: rules
live only as long as somebody does. The lease counts from then, even if the switch was away and gets
its rules later. A plan is one atomic bundle that holds the changed rules and those older than half
their lease. It holds once the bundle is committed and a barrier answered, and users may transmit
``guard`` seconds later, because a switch answers the barrier before its flow cache is refreshed.

A cookie says whose rule it is (MARK), of which connection (epoch) and which user. The first plan of
a connection takes the master's role; it, or one after a plan of unknown fate, deletes all rules
with our mark before it installs anything. Until there is a plan the switch is only asked what it
is and which ports it has: a controller that never has one, in shadow mode, changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import ssl
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tacan.controller.actuators import openflow_codec as codec
from tacan.controller.actuators import openflow_messages as said
from tacan.controller.actuators.openflow_session import Awaited, Request, Session, kept_alive
from tacan.controller.address import Address, listen
from tacan.controller.messages import ActuatorError, Applied, Plan, Rule
from tacan.controller.ports import NANOSECONDS, Clock
from tacan.controller.rules import Layout, without
from tacan.controller.settings import OpenFlowTarget
from tacan.errors import UserError

logger = logging.getLogger("tacan.controller")

MARK = 0x7ACA << 48
MARK_MASK = 0xFFFF << 48
USER_BITS = 16
EPOCHS = 1 << 32
MOST_CONNECTIONS = 8


@dataclass(frozen=True)
class Terms:
    """How rules are sent."""

    priority: int = 100
    lease: int = 2
    guard: float = 0.006
    timeout: float = 0.3
    echo: float = 2.0
    connect: float = 30.0


@dataclass(slots=True)
class _Lease:
    rule: Rule
    since_ns: int


class OpenFlowSwitch:
    """An Actuator for one switch; its latest connection is the one that counts."""

    def __init__(
        self,
        address: Address,
        layout: Layout,
        clock: Clock,
        terms: Terms,
        tls: ssl.SSLContext | None = None,
        datapath_id: int | None = None,
    ) -> None:
        self._address, self._layout, self._clock = address, layout, clock
        self._terms, self._tls = terms, tls
        self._datapath_id = datapath_id
        self._server: asyncio.Server | None = None
        self._session: Session | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._ready = asyncio.Event()
        self._busy = asyncio.Lock()
        self._leases: dict[int, _Lease] = {}
        self._unknown = True
        self._down = frozenset(range(len(layout.channel_ports)))
        self._epoch = secrets.randbelow(EPOCHS)
        self._bundle = 0
        self._plan: Plan | None = None
        self._plan_ns = 0
        self._counts: Counter[str] = Counter()

    @property
    def port(self) -> int:
        """The TCP port it listens on (a free one was chosen for port 0)."""
        if self._server is None or self._address.kind == "unix":
            return self._address.port
        return int(self._server.sockets[0].getsockname()[1])

    async def listen(self) -> None:
        """Listen only; ``start`` also waits for the switch."""
        self._server = await listen(
            self._address, self._serve, codec.LONGEST_MESSAGE + 1, self._tls
        )

    async def start(self) -> None:
        """Listen, and wait for the switch."""
        if self._server is None:
            await self.listen()
        try:
            async with asyncio.timeout(self._terms.connect):
                await self._ready.wait()
        except TimeoutError:
            raise UserError(
                f"no switch connected to {self._address} in {self._terms.connect:g} s"
            ) from None

    async def stop(self) -> None:
        """Cut the connection, listen no more."""
        if self._server is None:
            return
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    def healthy(self) -> bool:
        """Whether the switch is connected."""
        return self._ready.is_set()

    def counts(self) -> Mapping[str, int]:
        """Connections, rules, errors."""
        return self._counts

    def down(self) -> frozenset[int]:
        """The channels whose port is missing or whose link is down."""
        return self._down

    async def apply(self, plan: Plan) -> Applied:
        """Send what changed and what must be renewed; return when the switch has confirmed it.

        A switch that is away gets it when it comes back, unless there is a newer one by then.
        """
        self._plan, self._plan_ns = plan, self._clock.monotonic_ns()
        async with self._busy:
            if self._session is None:
                raise ActuatorError("no switch is connected")
            return await self._send(self._session, plan)

    async def _send(self, session: Session, plan: Plan) -> Applied:
        began = time.perf_counter_ns()
        now, decided = self._clock.monotonic_ns(), self._plan_ns
        whole = self._terms.lease * NANOSECONDS
        # a lease counts from the decision, however late it is sent: whole seconds, rounded up
        left = -((now - decided - whole) // NANOSECONDS)
        rules = without(plan, self.down()).rules if left > 0 else ()
        wanted = {rule.user: rule for rule in rules}
        changed: list[Rule] = []
        renewed: list[Rule] = []
        for user, rule in wanted.items():
            lease = self._leases.get(user)
            if self._unknown or lease is None or lease.rule != rule:
                changed.append(rule)
            elif now - lease.since_ns >= whole // 2:
                renewed.append(rule)
        gone = [user for user in self._leases if user not in wanted]
        sent = [self._steer(session, rule, left) for rule in changed + renewed]
        if self._unknown:
            sent.insert(0, session.encoder.delete(cookie=MARK, mask=MARK_MASK))
        else:
            sent += [self._delete(session, user) for user in gone]
        if not sent:
            return Applied(0, 0, time.perf_counter_ns() - began, 0, now)
        requests, awaited = self._bundled(session, sent)
        encoded = time.perf_counter_ns()
        self._unknown = True
        try:
            if not session.in_charge:
                await session.take_charge()
            await session.exchange(requests, awaited)
        except ActuatorError:
            self._counts["failed_plans"] += 1
            session.close()  # what it holds is unknown: it reconnects, and is set up anew
            raise
        confirmed = time.perf_counter_ns()
        self._unknown = False
        self._leases = {
            user: self._leases[user]
            if user in self._leases and rule not in changed and rule not in renewed
            else _Lease(rule, decided)
            for user, rule in wanted.items()
        }
        self._counts["rules_changed"] += len(changed) + len(gone)
        self._counts["rules_renewed"] += len(renewed)
        moved = bool(changed or gone)
        guard = int(self._terms.guard * NANOSECONDS) if moved else 0
        return Applied(
            changed=len(changed) + len(gone),
            renewed=len(renewed),
            encode_ns=encoded - began,
            confirm_ns=confirmed - encoded,
            transmit_at_ns=self._clock.monotonic_ns() + guard,
        )

    def _steer(self, session: Session, rule: Rule, lease: int) -> Request:
        return session.encoder.steer(
            rule.in_port,
            rule.output,
            priority=self._terms.priority,
            cookie=MARK | self._epoch << USER_BITS | rule.user,
            lease=lease,
        )

    def _delete(self, session: Session, user: int) -> Request:
        in_port = self._layout.user_ports[user]
        return session.encoder.delete(cookie=MARK, mask=MARK_MASK, in_port=in_port)

    def _bundled(self, session: Session, messages: list[Request]) -> tuple[list[Request], Awaited]:
        self._bundle = self._bundle % 0xFFFF_FFFE + 1
        opened = session.encoder.bundle(self._bundle, codec.OPEN)
        inside = [
            (message[0], session.encoder.bundled(self._bundle, message)) for message in messages
        ]
        committed = session.encoder.bundle(self._bundle, codec.COMMIT)
        barrier = session.encoder.barrier_request()
        awaited = {
            opened[0]: said.BundleOpened,
            committed[0]: said.BundleCommitted,
            barrier[0]: said.BarrierReply,
        }
        return [opened, *inside, committed, barrier], awaited

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if len(self._serving) >= MOST_CONNECTIONS:
            self._counts["connections_refused"] += 1
            return
        ports = self._layout.channel_ports
        session = Session(reader, writer, self._terms.timeout, ports, self._event)
        if task is not None:
            self._serving.add(task)
        try:
            await session.greet()
            async with kept_alive(session, self._terms.echo) as listening:
                await self._welcome(session)
                await asyncio.wait((listening,))
                listening.result()
        except said.CodecError as error:
            self._counts["malformed"] += 1
            logger.warning("OpenFlow: %s; connection closed", error)
        except (ActuatorError, TimeoutError, asyncio.IncompleteReadError, ConnectionError) as error:
            self._counts["failed_connections"] += 1
            logger.warning("OpenFlow: the connection failed: %s", error)
        except asyncio.CancelledError:
            if self._server is not None and self._server.is_serving():
                raise
        finally:
            session.close()
            if self._session is session:
                self._session = None
                self._ready.clear()
                self._counts["disconnected"] += 1
            if task is not None:
                self._serving.discard(task)

    async def _welcome(self, session: Session) -> None:
        features = await session.introduce()
        if self._datapath_id is None:
            self._datapath_id = features.datapath_id
        if features.datapath_id != self._datapath_id:
            self._counts["strangers"] += 1
            raise ActuatorError(
                f"switch {features.datapath_id:016x} is not {self._datapath_id:016x}"
            )
        async with self._busy:
            if self._session is not None:
                self._session.close()
            self._session = session
            self._look_at_ports(session)
            self._epoch = (self._epoch + 1) % EPOCHS
            self._leases.clear()
            self._unknown = True
            self._counts["connected"] += 1
            if self._plan is not None:
                self._counts["rules_reinstalled"] += (await self._send(session, self._plan)).changed
            self._ready.set()
        logger.info("OpenFlow: switch %016x is ready", features.datapath_id)

    def _look_at_ports(self, session: Session) -> None:
        ports = enumerate(self._layout.channel_ports)
        usable = session.usable
        self._down = frozenset(channel for channel, port in ports if not usable.get(port, False))

    def _event(self, session: Session, message: said.Message) -> None:
        if session is not self._session:
            return  # anybody can say hello: only the switch that we know is believed
        match message:
            case said.PortStatus(port=port, usable=usable):
                self._counts["port_changes"] += 1
                self._look_at_ports(session)
                channel = self._layout.channel_of(port)
                if channel >= 0:
                    state = "up" if usable else "down"
                    logger.warning("OpenFlow: port %d of channel %d is %s", port, channel, state)
            case said.FlowRemoved(cookie=cookie, expired=expired):
                if expired and cookie >> USER_BITS == (MARK >> USER_BITS) | self._epoch:
                    self._leases.pop(cookie & 0xFFFF, None)
                    self._counts["leases_expired"] += 1
            case said.SwitchError():
                self._counts["errors"] += 1
                logger.warning("OpenFlow: xid %d: %s", message.xid, message)


def build_openflow(
    target: OpenFlowTarget, address: Address, layout: Layout, folder: Path, clock: Clock
) -> OpenFlowSwitch:
    """The switch of a control file."""
    terms = Terms(
        priority=target.priority,
        lease=target.lease_seconds,
        guard=target.guard_ms / 1_000.0,
        timeout=target.request_ms / 1_000.0,
        echo=target.echo_ms / 1_000.0,
        connect=target.connect_ms / 1_000.0,
    )
    tls = _tls_context(target, folder) if address.kind == "tls" else None
    return OpenFlowSwitch(address, layout, clock, terms, tls, target.datapath_id)


def _tls_context(target: OpenFlowTarget, folder: Path) -> ssl.SSLContext:
    """Ours is shown, the switch's is demanded and checked."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED
    names = (target.certificate, target.private_key, target.authority)
    certificate, private_key, authority = (folder / (name or "") for name in names)
    try:
        context.load_cert_chain(certificate, private_key)
        context.load_verify_locations(authority)
    except (OSError, ssl.SSLError) as error:
        raise UserError(f"actuator: the TLS files cannot be used: {error}") from None
    return context
