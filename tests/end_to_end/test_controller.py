"""``tacan control``, ``check``, ``audit`` and ``record`` as a user runs them."""

import gc
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tacan.cli import main
from tacan.controller.audit_check import check_audit
from tacan.controller.sensors.trace import read_trace
from tacan.scenario import load_scenario

DRY = """
scenario = "tiny"
policy = "greedy"
[pace]
mode = "slot"
[sensor]
kind = "simulator"
slots = {slots}
slot_ms = {slot_ms}
[actuator]
kind = "dry-run"
[audit]
path = "audit.jsonl"
[http]
listen = "tcp:127.0.0.1:{port}"
"""


def at_once(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> int:
    """The same in this process; the exit code."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["tacan", *arguments])
    with pytest.raises(SystemExit) as ending:
        main()
    return int(ending.value.code or 0)


def tacan(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tacan", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a control file that runs for twenty slots."""
    text = DRY.format(slots=20, slot_ms=0.0, port=free_port())
    (tmp_path / "control.toml").write_text(text)
    return tmp_path


def test_a_dry_run_prints_rules_and_keeps_a_whole_log(folder: Path) -> None:
    """The paper's rule descriptions on stdout; 20 cycles and the end in the log."""
    done = tacan("control", "--config", "control.toml", folder=folder)
    assert done.returncode == 0, done.stderr
    first = json.loads(done.stdout.splitlines()[0])
    assert first["add"]["match"] == {"in_port": 1}
    assert first["add"]["actions"][0]["type"] == "OUTPUT"
    log = check_audit(folder / "audit.jsonl")
    assert list(log.runs.values()) == [21]
    assert log.faults == ()


def test_audit_says_whether_a_log_is_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 0 if it is, 1 with what is wrong if it is not, 2 for what is no log."""
    log = folder / "audit.jsonl"
    assert tacan("control", "--config", "control.toml", folder=folder).returncode == 0
    assert at_once(monkeypatch, folder, "control", "audit", log.name) == 0
    assert capsys.readouterr().out.endswith(": 21 lines\nwhole: nothing is missing\n")
    log.write_bytes(log.read_bytes()[:-30])
    assert at_once(monkeypatch, folder, "control", "audit", log.name) == 1
    assert "20 lines\nline 21 is torn\n" in capsys.readouterr().out
    log.write_bytes(bytes(range(256)))
    assert at_once(monkeypatch, folder, "control", "audit", log.name) == 2
    assert "line 1 is not a record" in capsys.readouterr().err


def test_what_is_loaded_is_not_collected_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full collection of a hundred thousand objects would hold up the loop for 0.1 s."""
    try:
        assert at_once(monkeypatch, folder, "control", "--config", "control.toml") == 0
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()


def test_check_says_what_is_wrong_without_starting(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Valid as it is; one sentence and exit code 2 for a policy that no radio could feed."""
    path = folder / "control.toml"
    assert at_once(monkeypatch, folder, "control", "check", path.name) == 0
    assert "valid: simulator -> greedy -> dry-run" in capsys.readouterr().out
    path.write_text(path.read_text().replace("greedy", "oracle-state"))
    assert at_once(monkeypatch, folder, "control", "check", path.name) == 2
    assert "no radio could tell it" in " ".join(capsys.readouterr().err.split())
    assert not (folder / "audit.jsonl").exists()


def test_it_serves_its_pages_and_stops_in_order(tmp_path: Path) -> None:
    """Healthy while it runs; SIGTERM withdraws the rules and completes the log."""
    port = free_port()
    (tmp_path / "control.toml").write_text(DRY.format(slots=0, slot_ms=20.0, port=port))
    child = subprocess.Popen(
        [sys.executable, "-m", "tacan", "control", "--config", "control.toml"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline().startswith('{"slot"')
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            assert json.load(answer) == {"healthy": True, "problems": []}
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            assert b'tacan_decisions_total{source="policy"}' in answer.read()
        time.sleep(0.1)
        child.send_signal(signal.SIGTERM)
        output, complaint = child.communicate(timeout=20)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 0, complaint
    assert '"delete"' in output.splitlines()[-1]
    last = json.loads((tmp_path / "audit.jsonl").read_text().splitlines()[-1])
    assert last["source"] == "withdrawn: controller stops"


def test_it_can_be_stopped_while_it_waits_for_its_switch(tmp_path: Path) -> None:
    """SIGTERM ends it at once and in order, long before the time to connect is over."""
    text = DRY.format(slots=0, slot_ms=20.0, port=free_port())
    target = 'kind = "openflow"\nlisten = "unix:of.sock"'
    (tmp_path / "control.toml").write_text(text.replace('kind = "dry-run"', target))
    child = subprocess.Popen(
        [sys.executable, "-m", "tacan", "control", "--config", "control.toml"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not (tmp_path / "of.sock").exists() and child.poll() is None:
            time.sleep(0.02)
        child.send_signal(signal.SIGTERM)
        _, complaint = child.communicate(timeout=15)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 0, complaint
    assert list(check_audit(tmp_path / "audit.jsonl").runs.values()) == [1]


def test_a_trace_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nine decisions of ``tiny`` are twelve reports: three more slots of history come before."""
    command = ("record", "t.npz", "--scenario", "tiny", "--slots", "9")
    assert at_once(monkeypatch, tmp_path, *command) == 0
    assert capsys.readouterr().out == "t.npz: 12 reports\n"
    assert len(list(read_trace(tmp_path / "t.npz", load_scenario("tiny")))) == 12


def test_a_silent_radio_gives_no_trace(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence, exit code 2, no file; and the controller's own log is left alone."""
    text = (folder / "control.toml").read_text().replace("slots = 20\nslot_ms = 0.0\n", "")
    text = text.replace('"simulator"', '"network"\nlisten = "unix:sensor.sock"')
    text = text.replace('mode = "slot"', "interval_ms = 5.0")
    (folder / "silent.toml").write_text(text)
    command = ("record", "t.jsonl", "--config", "silent.toml", "--slots", "3")
    assert at_once(monkeypatch, folder, *command) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "trace t.jsonl: not written, for nothing was reported in 3 cycles" in said
    assert {path.suffix for path in folder.iterdir()} == {".toml", ".sock"}
