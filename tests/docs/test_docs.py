"""The documentation says what is so: its code runs, its pages are up to date."""

from __future__ import annotations

import os
import re
import runpy
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.interpreter import Interpreter
from support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _pytest.mark import ParameterSet

ROOT = Path(__file__).parents[2]
BY_NIGHT = {"aggregate-locally", "backlog-then-stream", "window-functions"}
"""Pages whose rows go through functions and streams for half a minute."""

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def code_of(page: Path) -> str:
    """The Python of a page, whose blocks go on from each other; its session is that of the next."""
    text = page.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    return code.replace("\nspark.stop()\n", "\n")


def pages_with_code() -> list[ParameterSet]:
    found = [(page, code_of(page)) for page in PAGES]
    return [
        pytest.param(
            code, id=str(page.relative_to(ROOT)), marks=nightly if page.stem in BY_NIGHT else ()
        )
        for page, code in found
        if code
    ]


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    """Not this process: a page that stops its session would stop that of all tests."""
    with Interpreter.running(ROOT) as running:
        yield running


@pytest.mark.parametrize("code", pages_with_code())
def test_the_python_of_a_page_runs(interpreter: Interpreter, code: str) -> None:
    assert interpreter.run(code) == ""


def test_a_page_that_stops_its_session_may_begin_another(interpreter: Interpreter) -> None:
    session = "from state_processor import local_session\nspark = local_session()"
    assert interpreter.run(f"{session}\nspark.stop()\n{session}\nspark.range(3).count()") == ""


def test_the_error_of_a_page_would_be_told(interpreter: Interpreter) -> None:
    assert "ValueError: of a page" in interpreter.run('print("so")\nraise ValueError("of a page")')


def test_the_page_of_the_command_line_is_what_help_says() -> None:
    generator = runpy.run_path(str(ROOT / "docs" / "generate_cli.py"))
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == generator["cli_page"]()


def test_the_page_of_compatibility_is_what_runs_came_to() -> None:
    generator = runpy.run_path(str(ROOT / "docs" / "generate_compatibility.py"))
    page = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    assert page == generator["compatibility_page"]()


@pytest.mark.parametrize(("page", "least"), [("security", 20), ("seeds", 20), ("incidents/*", 6)])
def test_the_tests_that_a_page_names_are_there(page: str, least: int) -> None:
    pages = (ROOT / "docs").glob(f"{page}.md")
    text = "".join(path.read_text(encoding="utf-8") for path in pages)
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text)
    assert len(named) > least
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), test


def test_nothing_is_to_be_installed_by_a_name_that_is_not_published() -> None:
    sources = [
        path
        for room in ("formats", "state_processor", "cli")
        for path in (ROOT / room).rglob("*.py")
    ]
    for path in [*PAGES, *sources, *(ROOT / "docs" / "notebooks").glob("*.ipynb")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"pip\s+(install|wheel)[^\n]*\s+['\"]*savepoint-state", text), path


def test_the_start_page_and_the_readme_put_the_command_on_the_path() -> None:
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        assert "source .venv/bin/activate" in page.read_text(encoding="utf-8"), page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_inside_the_documentation_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert os.path.exists(page.parent / target), target


def test_the_picture_of_the_house_is_that_of_the_code() -> None:
    drawing = runpy.run_path(str(ROOT / "docs" / "draw_house.py"))
    assert (ROOT / "docs" / "house.svg").read_text(encoding="utf-8") == drawing["picture"]()


def test_the_pictures_of_commands_show_what_they_print() -> None:
    taken = runpy.run_path(str(ROOT / "docs" / "take_pictures.py"))
    for name, screen in taken["SCREENS"].items():
        drawn, kept = taken["screen_picture"](screen), taken["PICTURES"] / f"{name}.svg"
        assert letters_of(drawn) == letters_of(kept.read_text(encoding="utf-8")), name
        assert letters_of(drawn).startswith(re.sub(r"\s", "", f"savepoint{name}$savepoint{name}"))


def test_the_plots_are_those_of_the_figures() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "draw_figures.py"))["pictures"]()
    folder = ROOT / "docs" / "pictures"
    assert drawn == {name: (folder / name).read_text(encoding="utf-8") for name in drawn}


def letters_of(picture: str) -> str:
    """The text of an SVG without its spaces, whatever the version of what drew it."""
    texts = re.findall(r"<text[^>]*>(.*?)</text>", picture, re.DOTALL)
    return re.sub(r"\s", "", unescape("".join(texts)))


def test_pictures_are_small_and_are_told_in_words() -> None:
    shown = [place for page in PAGES for place in pictures_of(page)]
    assert {path.name for path in (ROOT / "docs" / "pictures").iterdir()} <= {
        path.name for path, _ in shown
    }
    for path, words in shown:
        assert path.stat().st_size < 150_000, path
        assert len(words) > 20, path


def pictures_of(page: Path) -> Iterator[tuple[Path, str]]:
    """The pictures of a page, and the words that stand for them."""
    for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        yield page.parent / target, words
