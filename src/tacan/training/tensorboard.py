"""TensorBoard event files of a run."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from torch.utils.tensorboard import SummaryWriter


class EventLog:
    """Writes every figure of every iteration; resuming hides what a killed run wrote beyond."""

    def __init__(self, folder: Path, iteration: int) -> None:
        self._writer = SummaryWriter(log_dir=str(folder / "tensorboard"), purge_step=iteration + 1)

    def write(self, iteration: int, row: dict[str, float]) -> None:
        """Record one row of the training curve."""
        for name, value in row.items():
            self._writer.add_scalar(name, value, iteration)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._writer.close()
