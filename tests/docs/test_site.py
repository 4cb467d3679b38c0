"""The site of the documentation: it builds without a warning, and a real browser shows it."""

from __future__ import annotations

import inspect
import os
import re
import runpy
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from support.nightly import nightly

from state_processor import Savepoint

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]

_TALLEST = 60_000
"""Pixels of a page of the reference; all of a savepoint on one had 81,000."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built anew."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_links_lead_to_files_and_places_of_the_site(site: Path) -> None:
    names = [page.resolve() for page in site.rglob("*.html") if page.name != "404.html"]
    pages = {page: page.read_text(encoding="utf-8") for page in names}
    assert len(pages) > 50
    links = 0
    for page, text in pages.items():
        for target in re.findall(r'href="((?!https?:|mailto:)[^"]+)"', text):
            path, _, anchor = target.partition("#")
            lead = (page.parent / path).resolve() if path else page
            links += 1
            assert lead.exists(), f"{page}: {target}"
            if anchor and lead in pages and not anchor.startswith("__"):
                assert f'id="{anchor}"' in pages[lead], f"{page}: {target}"
    assert links > 5000


def signature(page: str, name: str) -> str:
    """The signature below the heading of a name, without its colours."""
    _, _, after = page.partition(f'class="doc doc-object-name doc-function-name">{name}<')
    found = re.search(r'<div class="doc-signature highlight">(.*?)</div>', after, re.DOTALL)
    assert found, name
    return unescape(re.sub(r"<[^>]+>", "", found[1]))


def test_the_reference_shows_whole_signatures_and_where_names_are_imported_from(site: Path) -> None:
    names = ("savepoint", "spark-savepoint", "snapshots")
    page = "".join((site / "reference" / f"{name}.html").read_text("utf-8") for name in names)
    assert "from state_processor import Savepoint<" in page
    assert "split_size: " in signature(page, "read_keyed_state")
    assert "undescribed_subclasses: " in signature(page, "with_forms")
    assert "strict_paths: bool = False" in signature(page, "history")
    for path in (site / "reference").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        if path.stem != "errors":
            assert text.count("<code>from ") >= text.count('<h2 id="') - text.count(
                '.count_rows"'
            ), path


def test_the_reference_has_all_of_a_savepoint_and_begins_with_how_it_is_opened(site: Path) -> None:
    names = ("savepoint", "savepoint-changes")
    page = "".join((site / "reference" / f"{name}.html").read_text("utf-8") for name in names)
    found = re.findall(r'<h[34] id="[\w.]+\.Savepoint\.(\w+)"', page)
    methods = {name for name, _ in inspect.getmembers(Savepoint, callable) if name[0] != "_"}
    assert (found[:2], sorted(found)) == (["open", "load"], sorted(methods))


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=nightly)])
def test_a_browser_shows_the_site_from_a_disk(
    site: Path, browser: Browser, scheme: Literal["light", "dark"]
) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    requests: list[str] = []
    complaints: list[str] = []
    tab.on("request", lambda request: requests.append(request.url))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    shown = tab.evaluate
    for name in ("index", "how-to/audit-a-savepoint", "reference/savepoint", "formats/metadata"):
        tab.goto((site / f"{name}.html").as_uri(), wait_until="networkidle")
        assert tab.locator("h1").first.is_visible(), name
        assert shown("document.documentElement.scrollWidth") <= 1280, name
        assert shown("document.documentElement.scrollHeight") < _TALLEST, name
    assert tab.locator("table").count() > 5, "byte tables are tables"
    background = shown("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) > 384) is (scheme == "light")
    tab.keyboard.press("/")
    tab.locator("input.md-search__input").press_sequentially("rescale")
    tab.locator(".md-search-result__item").first.wait_for()
    assert all(request.startswith("file:") for request in requests), "nothing is fetched"
    assert complaints == []
    context.close()


def test_the_format_notes_are_those_of_the_code() -> None:
    collected = runpy.run_path(str(ROOT / "docs" / "collect_formats.py"))["format_pages"]()
    folder = ROOT / "docs" / "formats"
    assert collected == {page.name: page.read_text(encoding="utf-8") for page in folder.iterdir()}


def test_llms_txt_links_pages_of_the_site(site: Path) -> None:
    links = re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if not (site / link).is_file()] == []
