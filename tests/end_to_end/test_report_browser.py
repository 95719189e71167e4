"""The report in a real browser: opened from disk, at a desk and on a phone, in both themes."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

import browser as browsers
import papers_records
from tacan.reporting.paper_page import paper_page
from tacan.reporting.records import Records
from tacan.reporting.report import paper_report

ABSENT = browsers.missing()
pytestmark = pytest.mark.skipif(
    bool(ABSENT),
    reason=f"NOT CHECKED in a browser: {ABSENT} not installed (apt install chromium-driver)",
)
DESK, PHONE = 1280, 390

CONTRAST = """
const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
  .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const ground = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] > 0.99) return colour;
  }
  return [255, 255, 255];
};
const poor = [];
for (const node of document.querySelectorAll("body *")) {
  const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  if (!own || !node.getClientRects().length || ["SCRIPT", "STYLE"].includes(node.tagName)) continue;
  const style = getComputedStyle(node);
  if (style.visibility === "hidden") continue;
  const ink = node instanceof SVGElement ? style.fill : style.color;
  const [a, b] = [light(parse(ink)), light(ground(node))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) poor.push(`${node.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
}
return poor;
"""
FAULTS = """
const faults = [];
const levels = [...document.querySelectorAll("h1, h2, h3, h4")].map((h) => Number(h.tagName[1]));
if (levels.filter((level) => level === 1).length !== 1) faults.push("not one h1");
levels.forEach((level, i) => {
  if (i && level > levels[i - 1] + 1) faults.push(`h${level} skips`);
});
const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
ids.filter((id, i) => ids.indexOf(id) !== i).forEach((id) => faults.push(`id ${id} twice`));
for (const node of document.querySelectorAll("[aria-labelledby]"))
  for (const id of node.getAttribute("aria-labelledby").split(" "))
    if (!document.getElementById(id)) faults.push(`label ${id} missing`);
for (const chart of document.querySelectorAll("svg:not([aria-hidden])"))
  if (!chart.querySelector("title")?.textContent || !chart.querySelector("desc")?.textContent)
    faults.push("a drawing without words");
for (const image of document.querySelectorAll("img")) if (!image.alt) faults.push("no alt");
for (const button of document.querySelectorAll("button, a, summary"))
  if (!(button.textContent.trim() || button.getAttribute("aria-label"))) faults.push("no name");
for (const cell of document.querySelectorAll("th"))
  if (!cell.scope) faults.push("th without scope");
for (const link of document.querySelectorAll("a[href^='#']"))
  if (!document.getElementById(link.hash.slice(1))) faults.push(`${link.hash} leads nowhere`);
if (!document.documentElement.lang) faults.push("no language");
if (document.querySelectorAll("main").length !== 1) faults.push("not one main");
return faults;
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of records that say what the paper says."""
    folder = tmp_path_factory.mktemp("report")
    for stage, frame in papers_records.papers_frames().items():
        papers_records.save(folder / "records", stage, frame)
    page = folder / "report.html"
    found = paper_report(Records(folder / "records"), "tacan reproduce")
    page.write_text(paper_page(found), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def browser() -> Iterator[browsers.Browser]:
    """One browser for all tests here."""
    with browsers.browser() as found:
        yield found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESK, PHONE])
def test_the_page_is_whole_at_every_width_and_theme(
    browser: browsers.Browser, report: Path, width: int, theme: str
) -> None:
    """No message on the console, nothing fetched, nothing wider than the screen, all readable."""
    browser.console()
    browser.open(report, width, theme)
    assert browser.console() == []
    fetched = browser.run("return performance.getEntriesByType('resource').map((e) => e.name)")
    assert [name for name in fetched if not name.startswith("data:")] == []
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.run(CONTRAST) == []


def test_the_page_is_well_formed_for_those_who_listen(
    browser: browsers.Browser, report: Path
) -> None:
    """Headings in order, ids unique, drawings and buttons named, no inner link leads nowhere."""
    browser.open(report, DESK)
    assert browser.run(FAULTS) == []


def test_the_theme_follows_the_system_until_it_is_switched(
    browser: browsers.Browser, report: Path
) -> None:
    """Dark under a dark system; the button turns it light, and light it stays."""
    ground = "return getComputedStyle(document.body).backgroundColor"
    browser.open(report, DESK, "light")
    browser.run("localStorage.clear()")
    browser.open(report, DESK, "dark")
    dark = browser.run(ground)
    browser.run("document.getElementById('theme').click()")
    light = browser.run(ground)
    assert dark == "rgb(18, 23, 28)"
    assert light == "rgb(251, 250, 247)"
    browser.open(report, DESK, "dark")
    assert browser.run(ground) == light
    browser.run("localStorage.clear()")


def test_a_table_sorts_by_number(browser: browsers.Browser, report: Path) -> None:
    """A click on Access sorts the main table upwards, a second one downwards."""
    browser.open(report, DESK)
    sort = """
    const table = document.querySelector("table.sortable");
    table.tHead.rows[0].cells[2].querySelector("button").click();
    return [...table.tBodies[0].rows].map((row) => row.cells[0].textContent);
    """
    upwards = browser.run(sort)
    assert upwards[:3] == ["Random (coordinated)", "PPO+MLP", "Current-slot genie"]
    assert browser.run(sort) == upwards[::-1]
    state = "return document.querySelector('th[aria-sort]').getAttribute('aria-sort')"
    assert browser.run(state) == "descending"


def test_a_value_can_be_read_from_a_figure(browser: browsers.Browser, report: Path) -> None:
    """Focusing TACAN's bar at extreme load shows its value, on the screen."""
    browser.open(report, DESK)
    tip = browser.run("""
    const point = [...document.querySelectorAll("svg.wide [data-tip]")]
      .find((node) => node.dataset.tip.startsWith("TACAN · Extreme"));
    point.scrollIntoView({ block: "center", behavior: "instant" });
    point.dispatchEvent(new Event("focus"));
    const tip = document.getElementById("tip"), box = tip.getBoundingClientRect();
    return [tip.textContent, getComputedStyle(tip).visibility,
            box.top >= 0 && box.bottom <= innerHeight && box.left >= 0];
    """)
    assert tip == ["TACAN · Extreme: 88.96 % ± 0.56", "visible", True]


def test_the_page_prints(browser: browsers.Browser, report: Path) -> None:
    """A PDF comes out, and the bar with the buttons is not on it."""
    browser.open(report, DESK)
    content = base64.b64decode(browser.command("Page.printToPDF", printBackground=True)["data"])
    assert content.startswith(b"%PDF")
    browser.command("Emulation.setEmulatedMedia", media="print")
    shown = browser.run("return getComputedStyle(document.querySelector('.bar')).display")
    browser.command("Emulation.setEmulatedMedia", media="")
    assert shown == "none"
