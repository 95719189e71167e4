"""docs/environments.md does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "environments.md"
EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n(?P<printed>.*?)```", re.DOTALL)
EXAMPLES = list(EXAMPLE.finditer(GUIDE.read_text(encoding="utf-8")))


def test_every_block_of_code_is_an_example_with_its_output() -> None:
    """No block escapes the next test."""
    assert len(EXAMPLES) == GUIDE.read_text(encoding="utf-8").count("```python") == 6


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda found: found["code"].splitlines()[-1])
def test_an_example_of_the_guide_prints_what_the_guide_shows(
    example: re.Match[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each block runs by itself, as a reader would paste it."""
    monkeypatch.chdir(tmp_path)
    exec(compile(example["code"], "docs/environments.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out == example["printed"]
