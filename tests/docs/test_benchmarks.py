"""Scripts beside the package: benchmarks, and the run of the tests on every PySpark."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
PAGE = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
NAMED = re.findall(r"^\| `(.+?\.py)` \|", PAGE, re.MULTILINE)

# One process for all of them, since each imports Spark.
HELP = """
import contextlib, io, json, runpy, sys
found = {}
for script in sys.argv[1:]:
    folder, _, name = script.rpartition("/")
    sys.argv, sys.path[0], code, said = [script, "--help"], folder, 0, io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            code = end.code or 0
    found[name] = [code, said.getvalue()]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def said() -> dict[str, tuple[int, str]]:
    """The exit code of each benchmark that is asked for help, and what it says."""
    command = [sys.executable, "-c", HELP, *(str(BENCHMARKS / name) for name in NAMED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return {name: (code, text) for name, (code, text) in json.loads(done.stdout).items()}


@pytest.mark.parametrize("name", NAMED)
def test_a_benchmark_says_how_it_is_called(said: dict[str, tuple[int, str]], name: str) -> None:
    code, text = said[name]
    assert code == 0
    assert f"usage: {name}" in text.lower()


def test_the_matrix_runs_tests_that_are_there() -> None:
    script = (ROOT / ".ci" / "matrix").read_text(encoding="utf-8")
    folder = re.findall(r"^tests=(.+)$", script, re.MULTILINE)[0]
    chosen = re.findall(r'^    "\$tests/(.+)"$', script, re.MULTILINE)
    assert chosen
    assert [name for name in chosen if not os.path.exists(ROOT / folder / name)] == []
