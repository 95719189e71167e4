"""TensorBoard's own reader finds what a run wrote, and a full disk is said in a sentence."""

import os
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tacan.errors import UserError
from tacan.training.tensorboard import EventLog


def test_the_events_of_a_resumed_run_are_one_curve(tmp_path: Path) -> None:
    """What a killed run wrote beyond its checkpoint is replaced by what the resumed one wrote."""
    with EventLog(tmp_path, 0) as events:
        for iteration in (1, 2, 3):
            events.write(iteration, {"reward": float(iteration), "value": 0.5})
    with EventLog(tmp_path, 2) as events:
        events.write(3, {"reward": 30.0, "value": 0.5})
    reader = EventAccumulator(str(tmp_path / "tensorboard"))
    reader.Reload()
    assert sorted(reader.Tags()["scalars"]) == ["reward", "value"]
    curve = [(event.step, event.value) for event in reader.Scalars("reward")]
    assert curve == [(1, 1.0), (2, 2.0), (3, 30.0)]


def test_a_full_disk_is_said_in_a_sentence(tmp_path: Path) -> None:
    """The complaint names the file and how to go on; closing adds no second one."""
    events = EventLog(tmp_path, 0)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, events._file.fileno())
    os.close(full)
    complaint = r"No space left on device\); the last checkpoint is kept, go on with: tacan train"
    with pytest.raises(UserError, match=complaint), events:
        events.write(1, {"reward": 1.0})


def test_a_folder_for_events_that_cannot_be_made_is_said_in_a_sentence(tmp_path: Path) -> None:
    """A file of its name stands in the way."""
    (tmp_path / "tensorboard").touch()
    with pytest.raises(UserError, match="cannot be written"):
        EventLog(tmp_path, 0)
