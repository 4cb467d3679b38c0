"""The page of what state weighs, as a parser of HTML and one of XML see it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from support.sample_rows import Sample

from savepoint_extensions.sizes.statistics_views import fragment, page
from savepoint_formats.quantities import ByteCount

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_database.snapshot.description import SavepointDescription
    from savepoint_extensions.sizes.statistics import SavepointStatistics

pytestmark = pytest.mark.usefixtures("slow")

AT = datetime(2030, 1, 1, tzinfo=UTC)
_VOID = {"meta"}
_SVG = "{http://www.w3.org/2000/svg}"


class Parsed(HTMLParser):
    """Tags, attributes and texts of a page; every tag that opens has to close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


@cache
def report() -> tuple[SavepointStatistics, SavepointDescription]:
    savepoint = Sample("states-2.2.1-hashmap-canonical").open()
    return savepoint.stats(at=AT), savepoint.describe()


@cache
def whole_page() -> str:
    """The page of the report, whose plots are drawn once."""
    return page(*report())


def svgs(text: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]


def texts(svg: ElementTree.Element) -> set[str]:
    return {"".join(text.itertext()) for text in svg.iter(f"{_SVG}text")}


def test_the_page_has_plots_and_tables_of_all_parts() -> None:
    told, _ = report()
    text = whole_page()
    parsed = Parsed(text)
    for title in ("Operators", "Timers", "Skew", "Subtasks", "Largest keys"):
        assert title in parsed.texts
    assert ByteCount(told.size).text in parsed.texts
    assert told.verdict in parsed.texts
    for state in told.states:
        assert state.state in parsed.texts
        assert ByteCount(state.size).text in parsed.texts
        assert ("title", f"{state.size} bytes") in parsed.attributes
    for key in told.largest_keys:
        assert key.key in parsed.texts
    by_operator, by_state, *timers, key_groups = svgs(text)
    assert {one.operator for one in told.states} <= texts(by_operator)
    named = {f"{one.operator}.{one.state}" for one in told.states}
    assert {one for one in texts(by_state) if "…" not in one} & named
    assert len(timers) == len(told.timers) == 2
    for plot, one in zip(timers, told.timers, strict=True):
        assert one.earliest in texts(plot)
    assert {"key group", "bytes", "keys"} <= texts(key_groups)


def test_bars_are_as_long_as_what_they_stand_for() -> None:
    told, _ = report()
    by_operator, by_state, *_ = svgs(whole_page())
    sizes: Counter[str] = Counter()
    for one in told.states:
        sizes[one.operator] += one.size
    assert_bars(by_operator, sizes.values(), bars=3)
    assert_bars(by_state, [one.size for one in told.states], bars=10)


def assert_bars(plot: ElementTree.Element, sizes: Iterable[int], bars: int) -> None:
    """Has a plot so many bars, of these sizes, the largest first?"""
    filled = [
        path.get("d", "") for path in plot.iter(f"{_SVG}path") if "--first" in path.get("style", "")
    ]
    widths = []
    for path in filled:
        across = [float(x) for x, _ in re.findall(r"[ML] ([\d.]+) ([\d.]+)", path)]
        widths.append(max(across) - min(across))
    assert len(widths) == bars
    largest = sorted(sizes, reverse=True)[:bars]
    for width, size in zip(widths, largest, strict=True):
        assert width / widths[0] == pytest.approx(size / largest[0], abs=1e-3)


def test_overdue_timers_are_told_apart_by_colour() -> None:
    savepoint = Sample("states-2.2.1-hashmap-canonical").open()
    told = savepoint.stats("stateful.timers", at=datetime(2101, 1, 1, tzinfo=UTC))
    assert {service.overdue for service in told.timers} == {62, None}
    plots = svgs(fragment(told))[1:3]
    for plot, one in zip(plots, told.timers, strict=True):
        styles = " ".join(path.get("style", "") for path in plot.iter(f"{_SVG}path"))
        assert ("--second" in styles) == bool(one.overdue)


def test_nothing_is_loaded_from_anywhere_and_nothing_runs() -> None:
    text = whole_page()
    parsed = Parsed(text)
    assert not parsed.tags & {"script", "link", "img", "iframe", "object", "embed", "base", "image"}
    for name, value in parsed.attributes:
        if name in ("href", "src", "xlink:href"):
            assert (value or "").startswith("#")
        assert not name.startswith("on")
    assert "@import" not in text
    assert set(re.findall(r"url\(\s*['\"]?(.)", text)) <= {"#"}
    others = set(re.findall(r"https?://[^\"'\s<]+", text))
    assert others <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_all_colours_of_plots_are_those_of_the_page_light_or_dark() -> None:
    text = whole_page()
    assert "prefers-color-scheme:dark" in text
    used = set(re.findall(r"var\((--\w+)\)", text))
    light, _, dark = text.partition("@media (prefers-color-scheme:dark){.savepoint-report{")
    for name in used:
        assert f"{name}:" in light
        assert f"{name}:" in dark.partition("}")[0]
    for svg in svgs(text):
        styles = " ".join(one.get("style", "") for one in svg.iter())
        assert not set(re.findall(r"#[0-9a-f]{6}", styles)) - {"#000000"}


def test_ids_of_plots_are_not_shared() -> None:
    ids = [one.get("id") for svg in svgs(whole_page()) for one in svg.iter(f"{_SVG}clipPath")]
    assert len(ids) == len(set(ids)) > 0


def test_names_are_texts_and_no_markup() -> None:
    told, described = report()
    name = "<script>alert('$x_1$')</script>\u202e"
    states = (replace(told.states[0], state=name, size=1 << 30), *told.states[1:])
    text = page(replace(told, states=states, problems=(name,)), described)
    parsed = Parsed(text)
    assert "script" not in parsed.tags
    assert "\u202e" not in text
    assert "<script>alert('$x_1$')</script>\\u202e" in parsed.texts


def test_a_notebook_shows_the_same_without_a_page_around_it() -> None:
    told, _ = report()
    text = told._repr_html_()
    assert text == fragment(told)
    parsed = Parsed(text)
    assert "html" not in parsed.tags
    assert {"svg", "table", "style"} <= parsed.tags
    assert parsed.texts.count("Skew") == 1
