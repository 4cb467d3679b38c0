"""The page of ``savepoint stats --html`` in a real browser, without a window."""

from __future__ import annotations

import io
import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageStat
from support.commands import run
from support.long_names import LARGEST, NAMES, job_of_long_names

from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext

_PLOTS = 5
_WIDTH = 1200

_BOXES = """selector => [...document.querySelectorAll(selector)]
    .map(one => one.getBoundingClientRect())
    .map(({x, width, height}) => ({x, width, height}))"""
# What is painted of all marks of plots that have a colour of the page: colour, width, height.
_MARKS = """() => [...document.querySelectorAll('svg path')]
    .filter(mark => /fill: var\\(--(first|second)\\)/.test(mark.getAttribute('style')))
    .map(mark => [getComputedStyle(mark).fill, mark.getBBox().width, mark.getBBox().height])"""
_COLOURS = """() => {
    const style = getComputedStyle(document.querySelector('.savepoint-report'))
    return [style.color, style.backgroundColor].map(text => text.match(/\\d+/g).map(Number))
}"""


@dataclass
class Opened:
    """A page as a browser shows it."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    plots: list[dict[str, float]] = field(default_factory=list)
    labels: list[dict[str, float]] = field(default_factory=list)
    marks: list[tuple[str, float, float]] = field(default_factory=list)
    ink: list[int] = field(default_factory=list)
    sheet: list[int] = field(default_factory=list)
    scroll_width: int = 0
    brightness: float = 0


@contextmanager
def context_of(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    context = browser.new_context(**options)
    try:
        yield context
    finally:
        context.close()


def opened(browser: Browser, file: Path, scheme: str, width: int = _WIDTH) -> Opened:
    """A file in a browser, in light or dark colours."""
    seen = Opened()
    viewport = {"width": width, "height": 900}
    with context_of(browser, color_scheme=scheme, viewport=viewport) as context:
        tab = context.new_page()
        tab.on("request", lambda request: seen.requests.append(request.url))
        tab.on("console", lambda message: seen.complaints.append(message.text))
        tab.on("pageerror", lambda error: seen.complaints.append(str(error)))
        tab.goto(file.as_uri(), wait_until="networkidle")
        seen.plots = tab.evaluate(_BOXES, "svg")
        seen.labels = tab.evaluate(_BOXES, "svg text")
        seen.marks = tab.evaluate(_MARKS)
        seen.ink, seen.sheet = tab.evaluate(_COLOURS)
        seen.scroll_width = tab.evaluate("document.documentElement.scrollWidth")
        shot = Image.open(io.BytesIO(tab.screenshot(full_page=True))).convert("L")
        seen.brightness = ImageStat.Stat(shot).mean[0]
    return seen


def luminance(colour: list[int]) -> float:
    """Relative luminance of sRGB, by the guidelines for contrast (WCAG 2)."""
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(seen: Opened) -> float:
    dark, light = sorted(map(luminance, (seen.ink, seen.sheet)))
    return (light + 0.05) / (dark + 0.05)


def test_a_browser_shows_the_page_light_and_dark(
    browser: Browser, samples: Path, tmp_path: Path, slow: None
) -> None:
    file = tmp_path / "report.html"
    assert run("stats", samples / "states-2.2.1-hashmap-canonical", "--html", file)[0] == 0
    light, dark = opened(browser, file, "light"), opened(browser, file, "dark")
    for seen in (light, dark):
        assert seen.requests == [file.as_uri()], "nothing else is asked for"
        assert seen.complaints == []
        assert len(seen.plots) == _PLOTS
        assert all(plot["width"] > 500 and plot["height"] > 80 for plot in seen.plots)
        assert all(label["width"] > 0 and label["x"] >= 0 for label in seen.labels)
        assert sum(width > 0 and height > 0 for _, width, height in seen.marks) > 40
        assert contrast(seen) > 7
        assert seen.scroll_width == _WIDTH, "wide tables scroll by themselves"
    assert light.brightness > 200
    assert dark.brightness < 80
    assert {colour for colour, *_ in light.marks}.isdisjoint(colour for colour, *_ in dark.marks)
    assert opened(browser, file, "light", width=480).scroll_width == 480


def test_the_page_of_forty_operators_with_long_names_has_five_screens(
    browser: Browser, tmp_path: Path
) -> None:
    file, savepoint = tmp_path / "report.html", job_of_long_names(tmp_path)
    assert run("stats", savepoint, "--html", file)[0] == 0
    shutil.rmtree(savepoint)  # half a gigabyte
    with context_of(browser, viewport={"width": 1280, "height": 900}) as context:
        tab = context.new_page()
        tab.goto(file.as_uri())
        assert tab.evaluate("document.documentElement.scrollHeight") <= 5 * 900
        labels = tab.locator("svg text").all_text_contents()
        largest = {*NAMES[:9], NAMES[LARGEST]}
        assert largest <= {text.strip() for text in labels}, "bars are told apart"
        folded = tab.locator("details").all()
        assert folded
        for part in folded:
            assert re.match(r"\d+ more (rows|charts)", part.locator("summary").inner_text())
            part.evaluate("each => each.open = true")
        shown = tab.locator("body").inner_text()
        assert all(name in shown for name in NAMES)


# What a notebook does with lists of terms and with tables in an output.
_NOTEBOOK = """
.output dl, .output dt, .output dd { display: block; }
.output dl { width: 100%; overflow: hidden; padding: 0; margin: 0; }
.output dt { font-weight: bold; float: left; width: 20%; padding: 0; margin: 0; }
.output dd { float: left; width: 80%; padding: 0; margin: 0; }
.output table { table-layout: fixed; margin: 0 auto 1em auto; }
:not(.markdown).output td, :not(.markdown).output th { text-align: right; }
"""
_TEXTS = """selector => [...document.querySelectorAll(selector)].map(one => {
    const range = document.createRange()
    range.selectNodeContents(one)
    const {left, right, top, bottom} = range.getBoundingClientRect()
    return [left, right, top, bottom]
})"""
_ALIGNED = """() => [...document.querySelectorAll('td')]
    .map(one => [one.className, getComputedStyle(one).textAlign])"""


def test_a_notebook_shows_the_report_as_it_is(
    browser: Browser, samples: Path, tmp_path: Path
) -> None:
    report = Savepoint.open(samples / "windows-1.20.5-rocksdb-native").stats()
    file = tmp_path / "notebook.html"
    body = f'<div class="output">{report._repr_html_()}</div>'
    file.write_text(f"<style>{_NOTEBOOK}</style>{body}", "utf-8")
    with context_of(browser, viewport={"width": _WIDTH, "height": 900}) as context:
        tab = context.new_page()
        tab.goto(file.as_uri())
        facts = tab.evaluate(_TEXTS, ".facts *:not(div), dt, dd")
        aligned = tab.evaluate(_ALIGNED)
        plots = tab.evaluate(_BOXES, "svg")
        (sheet,) = tab.evaluate(_BOXES, ".savepoint-report")
    assert len(facts) >= 10
    for place, one in enumerate(facts):
        for other in facts[:place]:
            is_beside = one[0] >= other[1] or other[0] >= one[1]
            assert is_beside or one[2] >= other[3] or other[2] >= one[3], "texts overlap"
    assert set(map(tuple, aligned)) == {("", "left"), ("number", "right")}
    assert all(plot["width"] > sheet["width"] - 50 for plot in plots)


def test_a_notebook_aligns_texts_to_the_left(
    browser: Browser, samples: Path, tmp_path: Path
) -> None:
    operator = Savepoint.open(samples / "windows-1.20.5-rocksdb-native").operator("1228afe0")
    file = tmp_path / "notebook.html"
    body = f'<div class="output">{operator._repr_html_()}</div>'
    file.write_text(f"<style>{_NOTEBOOK}</style>{body}", "utf-8")
    with context_of(browser) as context:
        tab = context.new_page()
        tab.goto(file.as_uri())
        aligned = tab.evaluate(_ALIGNED)
    assert {align for kind, align in aligned if kind == ""} == {"left"}
