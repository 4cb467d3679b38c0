"""The notebooks run from top to bottom, on the samples, and plot."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbclient import NotebookClient
from support.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))

# Cells show tables and plots by display, which a kernel brings.
BEGINNING = """
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
plt.close("all")
"""
END = """
assert plt.get_fignums(), "no plot"
"""


def notebook(path: Path) -> Any:
    return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]  # it has no types


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    """One process, and one session, for all of them: Java starts once."""
    with Interpreter.running(NOTEBOOKS[0].parent) as running:
        yield running


def test_the_page_has_all_of_them() -> None:
    page = (NOTEBOOKS[0].parents[1] / "notebooks.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(.+)\.ipynb`", page, re.MULTILINE)) == [
        path.stem for path in NOTEBOOKS
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_code_of_every_cell_runs(interpreter: Interpreter, path: Path) -> None:
    cells = [cell.source for cell in notebook(path).cells if cell.cell_type == "code"]
    code = "\n".join([BEGINNING, *cells, END])
    assert interpreter.run(code.replace("\nspark.stop()\n", "\n")) == ""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_kernel_shows_what_cells_give() -> None:
    shown = notebook(next(path for path in NOTEBOOKS if path.stem == "who-eats-my-state"))
    resources = {"metadata": {"path": str(NOTEBOOKS[0].parent)}}
    NotebookClient(shown, timeout=300, kernel_name="python3", resources=resources).execute()
    outputs = [output for cell in shown.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert sum("text/html" in output.get("data", {}) for output in outputs) >= 6, "tables"
