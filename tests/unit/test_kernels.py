"""Compiled kernels are kept, and never after what they are made from has changed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numba
import pytest

from tacan import kernels

PACKAGE = Path(kernels.__file__).parent
DRAW = """
import numpy as np
from tacan.simulator.traffic import draw_load
index = draw_load(0, 42, 0, np.array([0.25, 0.5, 0.75, 1.0]))
print(index, sum(draw_load.stats.cache_hits.values()))
"""
"""A kernel of traffic.py that holds kernels and constants of streams.py."""


def run(script: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """A process of its own, in which nobody has chosen a folder for numba."""
    kept = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


def draw(source: Path, environment: Mapping[str, str]) -> list[str]:
    """The kernel's answer, and how often it was found kept."""
    return run(DRAW, {"PYTHONPATH": str(source), **environment}).stdout.split()


@pytest.mark.parametrize("chosen", ["TACAN_CACHE", "NUMBA_CACHE_DIR"])
def test_a_kernel_is_compiled_anew_when_a_file_that_it_inlines_changes(
    chosen: str, tmp_path: Path
) -> None:
    """Kept for the next process, but not beyond an edit of another file than the kernel's own."""
    ignored = shutil.ignore_patterns("zoo", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "src" / "tacan", ignore=ignored)
    environment = {chosen: str(tmp_path / "cache")}
    assert draw(tmp_path / "src", environment) == ["1", "0"]
    assert draw(tmp_path / "src", environment) == ["1", "1"]
    streams = tmp_path / "src" / "tacan" / "simulator" / "streams.py"
    marker = "def to_unit(word: Any) -> Any:\n"
    streams.write_text(streams.read_text().replace(marker, f"{marker}    return 0.9\n"))
    assert draw(tmp_path / "src", environment) == ["3", "0"]
    assert not list((tmp_path / "src").rglob("*.nbi"))


def test_kernels_work_where_nothing_can_be_kept(tmp_path: Path) -> None:
    """A file stands where the folder should be: compiled in memory, and a sentence says so."""
    (tmp_path / "file").write_text("in the way")
    found = run(DRAW, {"TACAN_CACHE": str(tmp_path / "file")})
    assert found.stdout.split() == ["1", "0"]
    assert "set NUMBA_CACHE_DIR to a folder that can be written to" in found.stderr


def test_other_packages_kernels_stay_where_they_were(tmp_path: Path) -> None:
    """Numba's own setting is as it was before our kernels were defined."""
    script = "import tacan.simulator.world, numba; print(repr(numba.config.CACHE_DIR))"
    for chosen in ({}, {"NUMBA_CACHE_DIR": str(tmp_path)}):
        found = run(script, chosen)
        assert found.stdout.strip() == repr(chosen.get("NUMBA_CACHE_DIR", ""))


def test_every_file_with_a_kernel_is_in_the_digest() -> None:
    """A kernel elsewhere would go unnoticed when it changes; numba itself is imported once."""
    importing = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "from tacan.kernels import" in path.read_text()
    ]
    assert len(importing) > 15
    known = [PACKAGE / name for name in kernels.SOURCES]
    assert all(path.exists() for path in known)
    assert not [
        name
        for name in importing
        if PACKAGE / name not in known and (PACKAGE / name).parent not in known
    ]
    direct = [path.name for path in PACKAGE.rglob("*.py") if "from numba" in path.read_text()]
    assert not direct


def test_digests_nobody_uses_any_more_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Untouched for a week and a new one comes: gone; a younger one may be a running process's."""
    old, young = tmp_path / "tacan" / "0", tmp_path / "tacan" / "1"
    for folder in (old, young):
        (folder / "simulator_1").mkdir(parents=True)
    os.utime(old, (0, 0))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    kernels._kernel_folder.cache_clear()
    try:
        fresh = kernels._kernel_folder()
    finally:
        kernels._kernel_folder.cache_clear()
    assert {path.name for path in (tmp_path / "tacan").iterdir()} == {"1", fresh.name}
