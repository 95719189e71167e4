"""The README and docs/environments.md do what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = {"README.md": 1, "docs/environments.md": 6}
EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n(?P<printed>.*?)```", re.DOTALL)


def _text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


EXAMPLES = [
    pytest.param(page, found["code"], found["printed"], id=f"{page}-{number}")
    for page in BLOCKS
    for number, found in enumerate(EXAMPLE.finditer(_text(page)))
]


@pytest.mark.parametrize("page", BLOCKS)
def test_every_block_of_code_is_an_example_with_its_output(page: str) -> None:
    """No block escapes the next test."""
    assert len(EXAMPLE.findall(_text(page))) == _text(page).count("```python") == BLOCKS[page]


@pytest.mark.parametrize(("page", "code", "printed"), EXAMPLES)
def test_an_example_prints_what_the_page_shows(
    page: str,
    code: str,
    printed: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each block runs by itself, as a reader would paste it."""
    monkeypatch.chdir(tmp_path)
    exec(compile(code, page, "exec"), {})  # noqa: S102
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))], ids=lambda page: page.name
)
def test_no_link_leads_nowhere(page: Path) -> None:
    """Every relative link of the README and the guides is a file that is there."""
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
