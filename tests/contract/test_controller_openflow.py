"""The OpenFlow actuator against a switch of plain bytes: leases, bundles, errors, reconnects."""

import asyncio
import contextlib
import shutil
import ssl
import struct
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from certificates import certificate
from controller_fakes import FakeClock
from openflow_fakes import (
    BUNDLE_CONTROL,
    ECHO_REQUEST,
    EXPERIMENTER,
    FEATURES,
    FLOW_MOD,
    HELLO,
    MULTIPART,
    ONF,
    FakeSwitch,
    Flow,
    message,
)
from tacan.controller.actuators.openflow import MARK, OpenFlowSwitch, Terms, build_openflow
from tacan.controller.address import Address
from tacan.controller.messages import ActuatorError
from tacan.controller.rules import Layout, make_plan
from tacan.controller.settings import OpenFlowTarget, validate_settings
from tacan.controller.wiring import build_controller
from tacan.errors import UserError

LAYOUT = Layout.numbered(2, 4)
PORTS = (*LAYOUT.user_ports, *LAYOUT.channel_ports)
TERMS = Terms(lease=2, guard=0.006, timeout=0.3, echo=0.05, connect=2.0)

Story = Callable[[OpenFlowSwitch, FakeSwitch, FakeClock], Awaitable[None]]


def tell(tmp_path: Path, story: Story, terms: Terms = TERMS, **settings: object) -> OpenFlowSwitch:
    """Connect a fake switch, then play."""
    path = str(tmp_path / "of.sock")
    clock = FakeClock()
    actuator = OpenFlowSwitch(Address("unix", path, 0), LAYOUT, clock, terms)
    fake = FakeSwitch(path, PORTS, **settings)  # type: ignore[arg-type]

    async def run() -> None:
        await actuator.listen()
        await fake.connect()
        try:
            await actuator.start()
            async with asyncio.timeout(10.0):
                await story(actuator, fake, clock)
        finally:
            await fake.disconnect()
            await actuator.stop()

    asyncio.run(run())
    return actuator


async def until(happened: Callable[[], object]) -> None:
    async with asyncio.timeout(3.0):
        while not happened():  # noqa: ASYNC110 - what happens is seen from outside only
            await asyncio.sleep(0.005)


def outputs(fake: FakeSwitch) -> dict[int, int]:
    return {flow.in_port: flow.output for flow in fake.flows.values()}


def test_a_plan_becomes_leased_rules_with_our_mark(tmp_path: Path) -> None:
    """in_port -> output, the lease as hard_timeout, and a cookie that says whose rule it is."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        applied = await actuator.apply(make_plan(0, (2, 0), LAYOUT))
        assert outputs(fake) == {1: 103, 2: 101}
        assert {flow.hard_timeout for flow in fake.flows.values()} == {2}
        assert {flow.cookie >> 48 for flow in fake.flows.values()} == {MARK >> 48}
        assert applied.changed == 2
        assert applied.transmit_at_ns == clock.now_ns + 6_000_000

    tell(tmp_path, story)


def test_a_shadow_controller_only_asks_the_switch_what_it_is(tmp_path: Path) -> None:
    """From hello to goodbye: no role, no bundle, and the rules of a production controller stay."""
    settings = {
        "scenario": "tiny",
        "policy": "greedy",
        "pace": {"mode": "slot"},
        "safety": {"shadow": True},
        "sensor": {"kind": "simulator", "slots": 10},
        "actuator": {"kind": "openflow", "listen": "unix:of.sock"},
    }
    controller = build_controller(validate_settings(settings, "shadow"), tmp_path, print)
    fake = FakeSwitch(str(tmp_path / "of.sock"), PORTS)
    fake.flows = {1: Flow(1, 103, MARK | 5 << 16, 2), 2: Flow(2, 101, MARK | 5 << 16 | 1, 2)}

    async def run() -> None:
        running = asyncio.create_task(controller.loop.run())
        await until((tmp_path / "of.sock").exists)
        await fake.connect()
        await running
        await fake.disconnect()

    asyncio.run(run())
    assert controller.loop.parts.metrics.sources["policy"] == 10
    assert set(fake.seen) <= {HELLO, FEATURES, MULTIPART, ECHO_REQUEST}
    assert outputs(fake) == {1: 103, 2: 101}


def test_only_changed_rules_are_sent(tmp_path: Path) -> None:
    """One user moves: one message; nobody moves: none, and no guard time."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        await actuator.apply(make_plan(0, (2, 0), LAYOUT))
        await actuator.apply(make_plan(1, (2, 3), LAYOUT))
        assert len(fake.bundles[-1]) == 1
        assert outputs(fake) == {1: 103, 2: 104}
        before = len(fake.bundles)
        applied = await actuator.apply(make_plan(2, (2, 3), LAYOUT))
        assert len(fake.bundles) == before
        assert applied.transmit_at_ns == clock.now_ns

    tell(tmp_path, story)


def test_rules_never_travel_outside_a_bundle(tmp_path: Path) -> None:
    """Two users that swap channels never hold the same one in between."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        await actuator.apply(make_plan(0, (2, 0), LAYOUT))
        await actuator.apply(make_plan(1, (0, 2), LAYOUT))
        assert outputs(fake) == {1: 101, 2: 103}
        assert FLOW_MOD not in fake.seen

    tell(tmp_path, story)


def test_a_lease_is_renewed_at_its_half_life_by_a_decision(tmp_path: Path) -> None:
    """Nothing at 0.9 s of 2, everything at 1.1 s; and without a decision nothing ever."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        plan = make_plan(0, (2, 0), LAYOUT)
        await actuator.apply(plan)
        clock.pass_by(0.9)
        assert (await actuator.apply(plan)).renewed == 0
        clock.pass_by(0.2)
        applied = await actuator.apply(plan)
        assert (applied.renewed, applied.changed) == (2, 0)
        before = len(fake.bundles)
        clock.pass_by(60.0)
        await asyncio.sleep(0.05)
        assert len(fake.bundles) == before

    tell(tmp_path, story)


def test_a_user_without_channel_has_no_rule(tmp_path: Path) -> None:
    """Its rule is deleted, the other one stays."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        await actuator.apply(make_plan(0, (2, 0), LAYOUT))
        await actuator.apply(make_plan(1, (-1, 0), LAYOUT))
        assert outputs(fake) == {2: 101}

    tell(tmp_path, story)


def test_an_expired_lease_is_installed_again(tmp_path: Path) -> None:
    """The switch says that a rule ran out: the next plan sends it though it did not change."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        plan = make_plan(0, (2, 0), LAYOUT)
        await actuator.apply(plan)
        fake.expire(1)
        await until(lambda: actuator.counts()["leases_expired"])
        assert (await actuator.apply(plan)).changed == 1
        assert outputs(fake) == {1: 103, 2: 101}

    tell(tmp_path, story)


def test_a_refused_plan_fails_and_the_connection_is_set_up_anew(tmp_path: Path) -> None:
    """The error is matched to the plan; what the switch holds is unknown from then on."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        fake.refuse_commits = True
        with pytest.raises(ActuatorError, match="error type 65535, code 2302"):
            await actuator.apply(make_plan(0, (2, 0), LAYOUT))
        await until(lambda: not actuator.healthy())

    assert tell(tmp_path, story).counts()["errors"] == 1


class Talkative(FakeSwitch):
    """Says something else with the xid of what it was asked, and carries nothing out."""

    instead = (0, b"")

    def _bundle(self, body: bytes, xid: int, bundle: list[bytes]) -> list[bytes]:
        del body
        kind, content = self.instead
        self.say(message(kind, xid, content))
        return bundle


@pytest.mark.parametrize(
    "instead",
    [
        (10, bytes(24)),  # PACKET_IN: a switch numbers what it says of its own accord as it likes
        (21, b""),  # the answer to a barrier
        (EXPERIMENTER, struct.pack("!IIIHH", ONF, BUNDLE_CONTROL, 1, 1, 3)),  # opened, no more
        (EXPERIMENTER, struct.pack("!IIIHH", ONF, BUNDLE_CONTROL, 1, 7, 3)),  # discarded
    ],
)
def test_only_what_answers_a_request_confirms_it(
    tmp_path: Path, instead: tuple[int, bytes]
) -> None:
    """The right xid on a message of another kind, or of another step of a bundle, is not enough."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        await fake.disconnect()
        await until(lambda: not actuator.healthy())
        talkative = Talkative(fake.path, PORTS)
        talkative.instead = instead
        await talkative.connect()
        await until(actuator.healthy)
        with pytest.raises(ActuatorError, match=r"did not answer in 0\.3 s"):
            await actuator.apply(make_plan(0, (2, 0), LAYOUT))
        await talkative.disconnect()

    tell(tmp_path, story)


def test_a_silent_switch_does_not_keep_anybody_waiting(tmp_path: Path) -> None:
    """A plan ends after its timeout, 0.3 s here, and echoes that stay unanswered disconnect."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        fake.silent = True
        with pytest.raises(ActuatorError, match=r"did not answer in 0\.3 s|went away"):
            await actuator.apply(make_plan(0, (2, 0), LAYOUT))
        await until(lambda: not actuator.healthy())

    tell(tmp_path, story)


def test_a_reconnected_switch_is_cleared_and_gets_the_present_plan(tmp_path: Path) -> None:
    """An earlier epoch's rule is deleted, somebody else's stays, the latest plan is installed."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        await actuator.apply(make_plan(0, (2, 0), LAYOUT))
        old = fake.flows[1].cookie
        await fake.disconnect()
        await until(lambda: not actuator.healthy())
        with pytest.raises(ActuatorError, match="no switch is connected"):
            await actuator.apply(make_plan(1, (1, 3), LAYOUT))
        clock.pass_by(0.1)
        fake.flows[50] = Flow(50, 101, old, 0)
        fake.flows[51] = Flow(51, 101, 0x1234, 0)
        await fake.connect()
        await until(actuator.healthy)
        assert outputs(fake) == {51: 101, 1: 102, 2: 104}
        assert fake.flows[1].cookie != old
        assert actuator.counts()["rules_reinstalled"] == 2

    tell(tmp_path, story)


def test_a_withdrawal_holds_though_the_switch_was_away_when_it_was_decided(tmp_path: Path) -> None:
    """It reconnects within the old plan's lease, and stays empty."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        await actuator.apply(make_plan(0, (2, 0), LAYOUT))
        await fake.disconnect()
        await until(lambda: not actuator.healthy())
        with pytest.raises(ActuatorError, match="no switch is connected"):
            await actuator.apply(make_plan(1, (-1, -1), LAYOUT))
        await fake.connect()
        await until(actuator.healthy)
        assert outputs(fake) == {}

    tell(tmp_path, story)


def test_a_reinstalled_rule_has_what_is_left_of_its_lease(tmp_path: Path) -> None:
    """1.2 s of 2 are gone: it dies within a second, and the next decision renews it at once."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        plan = make_plan(0, (2, 0), LAYOUT)
        await actuator.apply(plan)
        await fake.disconnect()
        await until(lambda: not actuator.healthy())
        fake.flows.clear()
        clock.pass_by(1.2)
        await fake.connect()
        await until(actuator.healthy)
        assert {flow.hard_timeout for flow in fake.flows.values()} == {1}
        assert (await actuator.apply(plan)).renewed == 2
        assert {flow.hard_timeout for flow in fake.flows.values()} == {2}

    tell(tmp_path, story)


def test_a_plan_older_than_its_lease_is_not_reinstalled(tmp_path: Path) -> None:
    """After three seconds without a switch nobody may transmit until the next decision."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        await actuator.apply(make_plan(0, (2, 0), LAYOUT))
        await fake.disconnect()
        await until(lambda: not actuator.healthy())
        clock.pass_by(3.0)
        await fake.connect()
        await until(actuator.healthy)
        assert outputs(fake) == {}

    tell(tmp_path, story)


def test_a_port_that_goes_down_takes_its_channel_with_it(tmp_path: Path) -> None:
    """And gives it back; a channel whose port is missing is down from the start."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        assert actuator.down() == frozenset()
        fake.set_link(103, down=True)
        await until(lambda: actuator.down() == {2})
        fake.set_link(103, down=False)
        await until(lambda: not actuator.down())

    tell(tmp_path, story)


def test_a_port_that_is_gone_on_the_reconnect_gets_no_rule(tmp_path: Path) -> None:
    """Of two users the one whose channel is still there gets its rule back."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        await actuator.apply(make_plan(0, (2, 0), LAYOUT))
        await fake.disconnect()
        await until(lambda: not actuator.healthy())
        fake.ports = tuple(port for port in PORTS if port != 103)
        await fake.connect()
        await until(actuator.healthy)
        assert actuator.down() == {2}
        assert outputs(fake) == {2: 101}

    tell(tmp_path, story)


def test_another_switch_is_not_taken_for_ours(tmp_path: Path) -> None:
    """The first switch stays, the stranger is closed and counted."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        stranger = FakeSwitch(fake.path, PORTS, datapath_id=8)
        await stranger.connect()
        await until(lambda: actuator.counts()["strangers"])
        await stranger.disconnect()
        await actuator.apply(make_plan(0, (2, 0), LAYOUT))
        assert outputs(fake) == {1: 103, 2: 101}

    tell(tmp_path, story)


def test_a_stranger_that_only_said_hello_is_not_believed(tmp_path: Path) -> None:
    """It says that all ports are down and that a lease ran out: nothing changes."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        plan = make_plan(0, (2, 0), LAYOUT)
        await actuator.apply(plan)
        stranger = FakeSwitch(fake.path, PORTS, datapath_id=8, silent=True)
        stranger.flows = dict(fake.flows)
        await stranger.connect()
        for port in LAYOUT.channel_ports:
            stranger.set_link(port, down=True)
        stranger.expire(1)
        await until(lambda: actuator.counts()["failed_connections"])  # it never introduced itself
        await stranger.disconnect()
        assert actuator.down() == frozenset()
        assert (await actuator.apply(plan)).changed == 0

    tell(tmp_path, story)


class Hasty(FakeSwitch):
    """A port goes down while the switch introduces itself, just after it listed its ports."""

    def say(self, *parts: bytes) -> None:
        super().say(*parts)
        if parts[0][:2] == bytes((4, MULTIPART + 1)):
            self.set_link(103, down=True)


def test_a_port_that_goes_down_during_the_handshake_is_down(tmp_path: Path) -> None:
    """The list of ports is older than the news."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        await fake.disconnect()
        await until(lambda: not actuator.healthy())
        hasty = Hasty(fake.path, PORTS)
        await hasty.connect()
        await until(actuator.healthy)
        assert actuator.down() == {2}
        await hasty.disconnect()

    tell(tmp_path, story)


def test_only_the_ports_of_channels_are_remembered(tmp_path: Path) -> None:
    """News of thousands of ports that nobody asked about cost no memory."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        for port in range(1_000, 3_000):
            fake.set_link(port, down=False)
        await until(lambda: actuator.counts()["port_changes"] == 2_000)
        assert actuator._session is not None
        assert set(actuator._session.usable) == set(LAYOUT.channel_ports)

    tell(tmp_path, story)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00" * 8,
        b"\x04\x00\x00\x04\x00\x00\x00\x01",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x01\0\0\x08" * 2,
    ],
)
def test_nonsense_closes_only_its_own_connection(tmp_path: Path, data: bytes) -> None:
    """Zeros, a message shorter than its header, HTTP and OpenFlow 1.0."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        reader, writer = await asyncio.open_unix_connection(fake.path)
        writer.write(data)
        writer.write_eof()
        await reader.read()
        writer.close()
        await actuator.apply(make_plan(0, (2, 0), LAYOUT))
        assert outputs(fake) == {1: 103, 2: 101}

    tell(tmp_path, story)


def test_a_switch_may_take_its_time_to_list_its_ports(tmp_path: Path) -> None:
    """Longer than a plan may take, 0.3 s here: it is accepted, for no lease waits for that."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        assert actuator.counts()["connected"] == 1

    tell(tmp_path, story, replace(TERMS, echo=5.0), slow=0.6)


def test_who_asks_without_end_and_reads_nothing_is_cut_off(tmp_path: Path) -> None:
    """Twelve megabytes of echo requests: answers must not pile up."""

    async def story(actuator: OpenFlowSwitch, fake: FakeSwitch, clock: FakeClock) -> None:
        _, writer = await asyncio.open_unix_connection(fake.path)
        writer.write(message(HELLO, 1))
        writer.write(message(ECHO_REQUEST, 2, bytes(60_000)) * 200)
        await until(lambda: actuator.counts()["failed_connections"])
        writer.close()
        assert (await actuator.apply(make_plan(0, (2, 0), LAYOUT))).changed == 2

    tell(tmp_path, story, Terms(timeout=5.0))


def test_a_switch_that_never_comes_is_said_in_one_sentence(tmp_path: Path) -> None:
    """After the time to connect."""
    actuator = OpenFlowSwitch(
        Address("unix", str(tmp_path / "of.sock"), 0), LAYOUT, FakeClock(), Terms(connect=0.05)
    )

    async def run() -> None:
        try:
            await actuator.start()
        finally:
            await actuator.stop()

    with pytest.raises(UserError, match=r"no switch connected to unix:.* in 0\.05 s"):
        asyncio.run(run())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_tls_lets_only_the_switch_with_our_certificate_in(tmp_path: Path) -> None:
    """A switch whose certificate we trust is served; a stranger's and none at all are refused."""
    ours, switchs, strangers = (certificate(tmp_path, n) for n in ("ours", "switch", "stranger"))
    target = OpenFlowTarget(
        kind="openflow",
        listen="tls:127.0.0.1:0",
        certificate=ours[0].name,
        private_key=ours[1].name,
        authority=switchs[0].name,
    )
    address = Address("tls", "127.0.0.1", 0)
    actuator = build_openflow(target, address, LAYOUT, tmp_path, FakeClock())

    def shows(files: tuple[Path, Path] | None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(ours[0]))
        if files is not None:
            context.load_cert_chain(*files)
        return context

    async def run() -> None:
        await actuator.listen()
        try:
            for files in (strangers, None):
                refused = FakeSwitch("", PORTS)
                with contextlib.suppress(OSError):
                    await refused.connect(actuator.port, shows(files))
                    await asyncio.wait((refused._serving,), timeout=2.0)
                    await refused.disconnect()
                assert not actuator.healthy()
            fake = FakeSwitch("", PORTS)
            await fake.connect(actuator.port, shows(switchs))
            await actuator.start()
            await actuator.apply(make_plan(0, (2, 0), LAYOUT))
            assert outputs(fake) == {1: 103, 2: 101}
            await fake.disconnect()
        finally:
            await actuator.stop()

    asyncio.run(run())
