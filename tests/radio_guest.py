"""A guest with simulated radios, and an iw and an ip that run there and can stand on PATH here.

The guest is emulated, never virtualised: that works on every machine, and always at the same pace.
"""

import base64
import contextlib
import itertools
import json
import shlex
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from radio_image import build_initramfs, kernel, program

BOOT_SECONDS = 120.0
ANSWER_SECONDS = 20.0
OWN_PROGRAMS = ("iw", "ip", "perl")

SHIM = """#!{python} -IS
import json, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({path!r})
    line.sendall(json.dumps([{name!r}, *sys.argv[1:]]).encode() + b"\\n")
    code, output, errors = json.loads(line.makefile().read())
sys.stdout.write(output)
sys.stderr.write(errors)
sys.exit(code)
"""


@dataclass(frozen=True)
class Answer:
    """What a command in the guest came to."""

    code: int
    output: str
    errors: str


class Guest:
    """A running guest; commands may be given from several threads at once."""

    def __init__(self, folder: Path) -> None:
        self._console = folder / "console"
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Answer]] = {0: Future()}
        self._process = subprocess.Popen(
            [
                *("setpriv", "--pdeathsig", "KILL", "--"),
                *(str(program("qemu-system-x86_64")), "-accel", "tcg", "-cpu", "max"),
                *("-m", "256", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
                *("-kernel", str(kernel()), "-initrd", str(build_initramfs(folder))),
                *("-append", "console=ttyS0 panic=-1 loglevel=6 mitigations=off"),
                *("-chardev", f"file,id=console,path={self._console}"),
                *("-serial", "chardev:console"),
                *("-chardev", "stdio,id=agent,signal=off", "-device", "virtio-serial-pci"),
                *("-device", "virtserialport,chardev=agent,name=agent"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._reader = threading.Thread(target=self._read, name="radio guest", daemon=True)
        self._reader.start()
        try:
            began = time.monotonic()
            self._waiting[0].result(BOOT_SECONDS)
            self.boot_seconds = time.monotonic() - began
        except BaseException as error:
            self.stop()
            raise RuntimeError(f"the guest did not start: {self.console_end()}") from error

    def run(self, *command: str) -> Answer:
        """Run a program of the guest to its end."""
        name = f"/bin/{command[0]}" if command[0] in OWN_PROGRAMS else command[0]
        return self.shell(shlex.join([name, *command[1:]]))

    def shell(self, line: str) -> Answer:
        """Run one line of shell; iw, ip and perl are /bin/iw, /bin/ip and /bin/perl there."""
        assert self._process.stdin is not None
        with self._lock:
            number = next(self._numbers)
            answer = self._waiting[number] = Future()
            self._process.stdin.write(f"{number} {line}\n".encode())
            self._process.stdin.flush()
        try:
            return answer.result(ANSWER_SECONDS)
        except TimeoutError:
            raise RuntimeError(f"the guest did not answer {line!r}: {self.console_end()}") from None

    def do(self, *lines: str) -> str:
        """Shell lines, each of which must succeed; the output of the last one."""
        answer = Answer(0, "", "")
        for line in lines:
            answer = self.shell(line)
            assert answer.code == 0, f"{line}: {answer.errors or answer.output}"
        return answer.output

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            number, _, rest = line.rstrip(b"\n").partition(b" ")
            fields = rest.split(b" ")
            if number.isdigit() and len(fields) == 3:
                output, errors = (base64.b64decode(field).decode() for field in fields[1:])
                self._waiting.pop(int(number)).set_result(Answer(int(fields[0]), output, errors))
            else:
                with self._console.open("ab") as console:
                    console.write(line)

    def console_end(self) -> str:
        """The last that the guest's kernel said, for a failure's report."""
        return self._console.read_text(errors="replace")[-2_000:] if self._console.exists() else ""

    def stop(self) -> None:
        """End it at once; nothing of it is worth keeping."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


@contextlib.contextmanager
def running_guest() -> Iterator[tuple[Guest, Path]]:
    """A guest, and the folder whose iw and ip run in it; both gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="radios-") as name:
        folder = Path(name)
        guest = Guest(folder)
        try:
            with _shims(guest, folder) as programs:
                yield guest, programs
        finally:
            guest.stop()


@contextlib.contextmanager
def _shims(guest: Guest, folder: Path) -> Iterator[Path]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            answer = guest.run(*json.loads(self.rfile.readline()))
            said = json.dumps([answer.code, answer.output, answer.errors])
            # a caller that was killed meanwhile wants no answer
            with contextlib.suppress(BrokenPipeError):
                self.wfile.write(said.encode())

    programs = folder / "programs"
    programs.mkdir()
    path = str(folder / "line")
    for name in ("iw", "ip"):
        script = programs / name
        script.write_text(SHIM.format(python=sys.executable, path=path, name=name))
        script.chmod(0o755)
    with socketserver.ThreadingUnixStreamServer(path, Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield programs
        finally:
            server.shutdown()
            thread.join()
