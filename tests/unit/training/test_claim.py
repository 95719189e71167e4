"""One writer a run folder, and nothing left of the ones that were killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tacan.errors import UserError
from tacan.training.claim import claimed


def test_a_second_writer_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    """The claim ends with its process, even one that was killed."""
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from tacan.training.claim import claimed\n"
        "with claimed(Path(sys.argv[1]), new=True):\n"
        "    print('claimed', flush=True)\n"
        "    time.sleep(300)\n"
    )
    folder = tmp_path / "run"
    with subprocess.Popen(
        [sys.executable, "-c", program, folder], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "claimed\n"
        with pytest.raises(UserError, match="another 'tacan train' is writing"):
            claimed(folder, new=False).__enter__()
        other.kill()
        other.wait()
    with claimed(folder, new=False):
        pass


def test_half_written_checkpoints_of_killed_writers_are_removed(tmp_path: Path) -> None:
    """Only those: other files of the folder stay."""
    (tmp_path / ".checkpoint.tacan.4711.tmp").touch()
    (tmp_path / "notes.tmp").touch()
    with claimed(tmp_path, new=False):
        names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [".lock", "notes.tmp"]
