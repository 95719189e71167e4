"""TensorBoard event files of a run.

Written here and now, not by the library's background thread: what a full disk refuses then stops
the run in its own words, with the last checkpoint in place.
"""

from __future__ import annotations

import io
import socket
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from tacan.errors import UserError


class EventLog:
    """Writes every figure of every iteration; resuming hides what a killed run wrote beyond."""

    def __init__(self, run: Path, iteration: int) -> None:
        folder = run / "tensorboard"
        self._path = folder / f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}"
        try:
            folder.mkdir(exist_ok=True)
            self._file = self._path.open("xb")
        except OSError as error:
            raise self._complaint(error) from None
        self._append(Event(wall_time=time.time(), file_version="brain.Event:2"))
        start = SessionLog(status=SessionLog.START)
        self._append(Event(wall_time=time.time(), step=iteration + 1, session_log=start))

    def _complaint(self, error: OSError) -> UserError:
        run = self._path.parent.parent
        return UserError(
            f"{self._path}: cannot be written ({error.strerror}); "
            f"the last checkpoint is kept, go on with: tacan train --resume {run}"
        )

    def _append(self, event: Event) -> None:
        record = io.BytesIO()
        RecordWriter(record).write(event.SerializeToString())
        try:
            self._file.write(record.getvalue())
            self._file.flush()
        except OSError as error:
            raise self._complaint(error) from None

    def write(self, iteration: int, row: dict[str, float]) -> None:
        """Record one row of the training curve."""
        values = [Summary.Value(tag=name, simple_value=value) for name, value in row.items()]
        summary = Summary(value=values)
        self._append(Event(wall_time=time.time(), step=iteration, summary=summary))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):  # every event was flushed, so what fails here was said before
            self._file.close()
