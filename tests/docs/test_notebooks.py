"""The notebooks run from top to bottom, on the samples, and plot."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.interpreter import Interpreter
from support.nightly import nightly

if TYPE_CHECKING:
    from collections.abc import Iterator

RUN = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "run_notebooks.py"))
notebook = RUN["notebook"]
NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))

# What a kernel brings.
BEGINNING = """
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
from IPython.display import display
plt.close("all")
"""
END = """
assert plt.get_fignums(), "no plot"
"""


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    """One process and one session for all notebooks, so that Java starts once."""
    with Interpreter.running(NOTEBOOKS[0].parent) as running:
        yield running


def test_the_page_has_all_of_them() -> None:
    page = (NOTEBOOKS[0].parents[1] / "notebooks.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(.+)\.ipynb`", page, re.MULTILINE)) == [
        path.stem for path in NOTEBOOKS
    ]


@nightly
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_code_of_every_cell_runs(interpreter: Interpreter, path: Path) -> None:
    cells = [cell.source for cell in notebook(path).cells if cell.cell_type == "code"]
    code = "\n".join([BEGINNING, *cells, END])
    assert interpreter.run(code.replace("\nspark.stop()\n", "\n")) == ""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_cells_gave(path: Path) -> None:
    """Its outputs are those of a run from top to bottom, and tell nothing of the machine."""
    shown = notebook(path)
    assert shown.metadata[RUN["SHOWN_FOR"]] == RUN["sources_hash"](shown), (
        "cells have changed: python docs/run_notebooks.py"
    )
    cells = [cell for cell in shown.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [*range(1, 1 + len(cells))]
    outputs = [output for cell in cells for output in cell.outputs]
    assert {output.output_type for output in outputs} <= {
        "stream",
        "display_data",
        "execute_result",
    }
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not re.findall(r"(?<![\w.])/(?:tmp|home|root|work|Users|var|usr)/", texts_of(shown))
    assert path.stat().st_size < 250_000


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_kernel_shows_what_is_kept() -> None:
    path = next(path for path in NOTEBOOKS if path.stem == "who-eats-my-state")
    assert texts_of(RUN["executed"](path)) == texts_of(notebook(path))


def texts_of(shown: Any) -> str:
    """Output of the cells, without pictures."""
    outputs = [output for cell in shown.cells for output in cell.get("outputs", [])]
    parts = [output.get("text", "") for output in outputs]
    parts += [
        text
        for output in outputs
        for kind, text in sorted(output.get("data", {}).items())
        if kind != "image/png"
    ]
    return "\n".join(parts)
