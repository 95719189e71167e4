"""Control files: what is wrong is said in one sentence that names it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from controller_fakes import report
from tacan.controller.sensors.report_format import plain_report
from tacan.controller.settings import load_settings, validate_settings
from tacan.controller.wiring import build_controller
from tacan.errors import UserError

GOOD: dict[str, Any] = {
    "policy": "greedy",
    "sensor": {"kind": "simulator"},
    "actuator": {"kind": "dry-run"},
}
WIFI = {"kind": "wifi", "interfaces": ["w0"], "frequencies_mhz": [2412]}
OPENFLOW = {"kind": "openflow", "listen": "unix:of.sock"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"polcy": "x"}, "polcy is not a known key"),
        ({"pace": {"interval_ms": -1.0}}, "pace.interval_ms = -1.0: should be greater than or"),
        ({"pace": {"deadline_ms": 9e3}}, r"deadline_ms \(9000\) must not exceed abandon_ms"),
        ({"pace": {"interval_ms": 1e-7}}, "interval_ms = 1e-07: should be .* equal to 0.1"),
        ({"sensor": {"kind": "simulator", "slot_ms": np.inf}}, "sensor.slot_ms = inf: should be"),
        ({"sensor": {"kind": "simulator", "seed": 2**64}}, "seed = 18446744073709551616: should"),
        ({"sensor": {"kind": "simulator", "episode": 2**63}}, "sensor.episode = 92233720368"),
        ({"policy_seed": 2**64}, "policy_seed = 18446744073709551616: should be less than"),
        ({"policy": "a\0b"}, r"policy = 'a\\x00b': must not hold a NUL"),
        ({"scenario": "a" * 256}, "must not hold a name longer than 255 bytes"),
        ({"audit": {"path": "a\0b"}}, r"audit.path = 'a\\x00b': must not hold a NUL"),
        (
            {"sensor": {"kind": "network", "listen": "unix:a\0b"}},
            r"sensor.listen = 'unix:a\\x00b': must not hold a NUL",
        ),
        ({"sensor": {"kind": "radar"}}, "sensor.kind = 'radar': must be one of"),
        ({"sensor": {}}, "sensor.kind is missing"),
        ({"sensor": {"kind": "trace"}}, "sensor.path is missing"),
        (
            {"sensor": {"kind": "network", "listen": "tcp:0.0.0.0:7000"}},
            "'tcp:0.0.0.0:7000' is open to other machines",
        ),
        ({"sensor": {"kind": "network", "listen": "7000"}}, "must be unix:PATH, tcp:HOST:PORT"),
        ({"http": {"listen": "tcp:192.0.2.1:80"}}, "is open to other machines"),
        ({"actuator": OPENFLOW | {"listen": "tls:127.0.0.1:6653"}}, "tls needs certificate"),
        (
            {"actuator": OPENFLOW | {"lease_seconds": 1}},
            r"half of lease_seconds \(500 ms\) must exceed .* \(900 ms: .*request_ms, 300; plus",
        ),
        (
            {"actuator": OPENFLOW | {"lease_seconds": 1}, "pace": {"mode": "slot"}},
            "or rules die between decisions",
        ),
        (  # 500 + 200 + 300 ms, the half of 2 s exactly: too late
            {"actuator": OPENFLOW, "pace": {"deadline_ms": 200.0}},
            r"half of lease_seconds \(1000 ms\) must exceed",
        ),
        (
            {"actuator": {"kind": "wifi", "interfaces": ["a; rm"], "frequencies_mhz": [2412]}},
            "is not the name of a network interface",
        ),
        (
            {"actuator": WIFI | {"interfaces": ["w0", "w1", "w0"]}},
            "interfaces .*must all differ, and 'w0' stands there twice",
        ),
        (
            {"actuator": WIFI | {"frequencies_mhz": [2412, 2437, 2412]}},
            "frequencies_mhz .*must all differ, and 2412 stands there twice",
        ),
        (
            {
                "actuator": {
                    "kind": "wifi",
                    "interfaces": ["w0"],
                    "frequencies_mhz": [2412],
                    "bssid": "ff:ff:ff:ff:ff:ff",
                }
            },
            r"bssid.*pattern",
        ),
    ],
)
def test_a_fault_is_named(changes: dict[str, Any], sentence: str) -> None:
    """The key, the value and what would be right."""
    content = GOOD | changes
    if "sensor" in changes and "kind" not in changes["sensor"]:
        content["sensor"] = {}
    with pytest.raises(UserError, match=sentence):
        validate_settings(content, "control file x.toml")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"safety": {"masked_channels": [20]}}, "20 is not a channel of scenario 'paper'"),
        ({"sensor": {"kind": "trace", "path": "none.jsonl"}}, "'none.jsonl': there is no such"),
        ({"sensor": {"kind": "trace", "path": "empty.jsonl"}}, "empty.jsonl: holds no report"),
        ({"sensor": {"kind": "trace", "path": "tiny.jsonl"}}, "occupancy must be a list of 20"),
        ({"actuator": OPENFLOW | {"user_ports": [1]}}, "user_ports holds 1 ports, but scenario"),
        (
            {"actuator": OPENFLOW | {"user_ports": [1, 2, 3, 101]}},
            "user_ports and actuator.channel_ports must all differ",
        ),
        (
            {"actuator": {"kind": "wifi", "interfaces": ["w0"], "frequencies_mhz": [2412]}},
            "interfaces holds 1 entries, but scenario 'paper' needs 4",
        ),
    ],
)
def test_what_does_not_fit_the_scenario_is_named(
    changes: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    """Masks, ports and files are checked before anything starts."""
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "tiny.jsonl").write_text(json.dumps(plain_report(report(0))))
    settings = validate_settings(GOOD | changes, "x")
    with pytest.raises(UserError, match=sentence):
        build_controller(settings, tmp_path, print)


def test_leases_outlive_the_papers_interval_by_default() -> None:
    """2 s, half a second between decisions, and room for a late policy and a slow switch."""
    settings = validate_settings(GOOD | {"actuator": OPENFLOW}, "x")
    assert settings.actuator.kind == "openflow"


def test_the_papers_interval_is_the_default() -> None:
    """500 ms, nothing masked, no shadow."""
    settings = validate_settings(GOOD, "x")
    assert settings.pace.interval_ms == 500.0
    assert settings.safety.masked_channels == ()
    assert settings.safety.shadow is False


def test_the_largest_seeds_are_seeds() -> None:
    """What is accepted can be built and played."""
    largest = {"kind": "simulator", "seed": 2**64 - 1, "episode": 2**63 - 1, "slots": 2}
    settings = validate_settings(
        GOOD | {"sensor": largest, "policy_seed": 2**64 - 1, "scenario": "tiny"}, "x"
    )
    controller = build_controller(settings, Path(), lambda _: None)
    asyncio.run(controller.loop.run(2))
    assert controller.loop.cycle == 2


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    """The sentence says where."""
    path = tmp_path / "control.toml"
    path.write_text("policy = ")
    with pytest.raises(UserError, match="not valid TOML"):
        load_settings(path)
