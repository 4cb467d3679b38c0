"""The documentation says what is so: its code runs, its pages are up to date."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def python_blocks() -> list[ParameterSet]:
    return [
        pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
        for page in PAGES
        for number, block in enumerate(
            re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        )
    ]


@pytest.mark.parametrize("block", python_blocks())
def test_every_python_block_runs(block: str) -> None:
    # In a process of its own: a page that stops its session would stop that of all tests.
    command = [sys.executable, "-c", block]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_page_of_the_command_line_is_what_help_says() -> None:
    generator = runpy.run_path(str(ROOT / "docs" / "generate_cli.py"))
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == generator["cli_page"]()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_inside_the_documentation_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert os.path.exists(page.parent / target), target
