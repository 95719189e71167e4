"""What a stage's records depend on, so that they are made anew when it changes."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

import tacan
from tacan.cli.decision_path import controller_stage
from tacan.evaluation import experiments
from tacan.evaluation.experiments import paper_plans
from tacan.evaluation.protocol import Protocol
from tacan.evaluation.stages import Stage, replay_stage
from tacan.scenario import load_scenario

TINY = load_scenario("tiny")
PLAN = Protocol((42, 7), 40)


def stages() -> tuple[Stage, Stage]:
    """The stage that plays, and the one that measures the controller, by the code as it is now."""
    experiments.code_digest.cache_clear()
    main = replay_stage(paper_plans(TINY)[0], TINY, PLAN, command="", threads=1)
    return main, controller_stage(TINY, PLAN)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # noqa: ANN201
    """A copy of the package whose code is hashed instead of the package's own."""
    source = Path(tacan.__file__).parent
    shutil.copytree(source, tmp_path / "tacan", ignore=shutil.ignore_patterns("*.onnx", "*.pyc"))
    copy = SimpleNamespace(files=lambda _: tmp_path / "tacan")
    monkeypatch.setattr(experiments, "resources", copy)
    yield tmp_path / "tacan"
    experiments.code_digest.cache_clear()


@pytest.mark.parametrize(
    ("file", "changes_main", "changes_controller"),
    [
        ("controller/rules.py", False, True),
        ("controller/sensors/simulator.py", False, True),
        ("policies/assignment.py", True, True),
        ("scenario.py", True, True),
        ("reporting/page.py", False, False),
        ("evaluation/statistics.py", False, False),
    ],
)
def test_a_stage_depends_on_the_code_it_runs(
    package: Path, file: str, changes_main: bool, changes_controller: bool
) -> None:
    """Latencies of other controller code are not reused, and nothing that it does not touch."""
    before = stages()
    path = package / file
    path.write_text(path.read_text() + "# changed\n")
    after = stages()
    changed = [dict(a.inputs) != dict(b.inputs) for a, b in zip(before, after, strict=True)]
    assert changed == [changes_main, changes_controller]
