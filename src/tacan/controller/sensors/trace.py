"""Recorded traces: JSON Lines (one report a line) or NPZ (one array a field).

An NPZ trace holds slot [T], time [T], occupancy [T, K], entropy [T, K], queue_class [T, U],
queue_delay [T, U] and restart [T].
"""

from __future__ import annotations

import contextlib
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tacan.controller.messages import FIRST_DECISION, Report, SensorEnded
from tacan.controller.ports import NANOSECONDS, Clock, Sensor
from tacan.controller.sensors.report_format import MalformedReport, ReportFormat, plain_report
from tacan.destinations import real_file
from tacan.errors import UserError
from tacan.scenario import Scenario

FIELDS = ("slot", "time", "occupancy", "entropy", "queue_class", "queue_delay", "restart")


def read_trace(path: Path, scenario: Scenario) -> Iterator[Report]:
    """The reports of a file; a bad one is a UserError that names the line."""
    form = ReportFormat(scenario)
    for number, content in enumerate(_contents(path), start=1):
        try:
            if isinstance(content, bytes):
                yield form.read_json(content)
            else:
                yield form.read(content)
        except MalformedReport as error:
            raise UserError(f"trace {path}: report {number}: {error}") from None


def _contents(path: Path) -> Iterator[bytes | dict[str, Any]]:
    if path.suffix == ".npz":
        yield from _rows(path)
    elif path.suffix == ".jsonl":
        try:
            with path.open("rb") as lines:
                yield from lines
        except OSError as error:
            raise UserError(f"trace {path}: cannot be read: {error.strerror}") from None
    else:
        raise UserError(f"trace {path}: must end in .jsonl or .npz")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        arrays = _arrays(path)
    except Exception as error:  # noqa: BLE001 - damage makes zipfile and numpy raise anything
        raise UserError(f"trace {path}: cannot be read as NPZ: {error}") from None
    missing = [name for name in FIELDS if name not in arrays]
    if missing:
        raise UserError(f"trace {path}: there is no array {missing[0]!r}")
    columns = {name: arrays[name] for name in FIELDS}
    lengths = {tuple(column.shape)[:1] for column in columns.values()}
    if len(lengths) != 1 or () in lengths:
        raise UserError(f"trace {path}: its arrays must be equally long")
    for row in range(lengths.pop()[0]):
        yield {"version": 1} | {name: column[row].tolist() for name, column in columns.items()}


def _arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    with zipfile.ZipFile(path), np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in FIELDS if name in file.files}


class TraceSensor:
    """Plays a trace: as fast as it is read (speed 0), or at a multiple of its own time.

    As fast as it is read, each read gives one slot to decide upon.
    """

    def __init__(self, path: Path, scenario: Scenario, clock: Clock, speed: float = 0.0) -> None:
        """Read the first report at once, so that a check of the settings meets a wrong trace."""
        self._clock, self._speed = clock, speed
        self._reports = read_trace(path, scenario)
        self._next = next(self._reports, None)
        if self._next is None:
            raise UserError(f"trace {path}: holds no report")
        self._began = self._next.time

    async def start(self) -> None:
        """Time starts with the first report."""
        self._started_ns = self._clock.monotonic_ns()

    async def read(self, patience: float) -> Sequence[Report]:
        """The reports whose time has come."""
        if self._next is None:
            raise SensorEnded
        if not self._speed:
            return self._up_to_decision()
        until = self._clock.monotonic_ns() + int(patience * NANOSECONDS)
        await self._clock.sleep_until(min(self._due_ns(self._next), until))
        now = self._clock.monotonic_ns()
        due: list[Report] = []
        while (report := self._peek()) is not None and self._due_ns(report) <= now:
            due.append(self._advance(report))
        return due

    def _peek(self) -> Report | None:
        return self._next

    def _due_ns(self, report: Report) -> int:
        passed = (report.time - self._began) / self._speed
        return self._started_ns + int(passed * NANOSECONDS)

    def _advance(self, report: Report) -> Report:
        self._next = next(self._reports, None)
        return report

    def _up_to_decision(self) -> list[Report]:
        reports: list[Report] = []
        while (report := self._peek()) is not None:
            reports.append(self._advance(report))
            if reports[-1].slot >= FIRST_DECISION:
                break
        return reports

    async def stop(self) -> None:
        """Nothing stays open."""

    def counts(self) -> Mapping[str, int]:
        """A bad report ends the trace, so none is ever refused."""
        return {}


class TraceWriter:
    """Writes a trace under a temporary name and renames it when it is complete."""

    def __init__(self, path: Path) -> None:
        if path.suffix not in {".jsonl", ".npz"}:
            raise UserError(f"trace {path}: must end in .jsonl or .npz")
        self._path = real_file(path, "trace")
        self._partial = self._path.with_name(self._path.name + ".partial")
        self._rows: list[Report] = []
        self.reports = 0

    def __enter__(self) -> Self:
        with _writing(self._path):
            self._file = self._partial.open("wb")
        return self

    def write(self, report: Report) -> None:
        """One more report."""
        self.reports += 1
        if self._path.suffix == ".npz":
            self._rows.append(report)
        else:
            with _writing(self._path):
                self._file.write(json.dumps(plain_report(report)).encode() + b"\n")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                with _writing(self._path):
                    self._complete()
        finally:
            with contextlib.suppress(OSError):
                self._file.close()
            self._partial.unlink(missing_ok=True)

    def _complete(self) -> None:
        if self._path.suffix == ".npz":
            columns: dict[str, Any] = {
                name: np.array([getattr(row, name) for row in self._rows]) for name in FIELDS
            }
            np.savez_compressed(self._file, **columns)
        self._file.close()
        self._partial.replace(self._path)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(f"trace {path}: cannot be written: {error.strerror}") from None


class RecordingSensor:
    """A sensor whose reports are also written to a trace."""

    def __init__(self, inner: Sensor, writer: TraceWriter) -> None:
        self._inner, self._writer = inner, writer

    async def start(self) -> None:
        """Start the sensor."""
        await self._inner.start()

    async def read(self, patience: float) -> Sequence[Report]:
        """The sensor's reports."""
        reports = await self._inner.read(patience)
        for report in reports:
            self._writer.write(report)
        return reports

    async def stop(self) -> None:
        """Stop the sensor."""
        await self._inner.stop()

    def counts(self) -> Mapping[str, int]:
        """The sensor's."""
        return self._inner.counts()
