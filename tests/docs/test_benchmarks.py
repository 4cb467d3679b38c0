"""Scripts beside the package: benchmarks, and the run of the tests on every PySpark."""

from __future__ import annotations

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


@pytest.mark.parametrize("name", NAMED)
def test_a_benchmark_says_how_it_is_called(name: str) -> None:
    command = [sys.executable, str(BENCHMARKS / name), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"usage: {name}" in done.stdout.lower()


def test_the_matrix_runs_tests_that_are_there() -> None:
    script = (ROOT / ".ci" / "matrix").read_text(encoding="utf-8")
    folder = re.findall(r"^tests=(.+)$", script, re.MULTILINE)[0]
    chosen = re.findall(r'^    "\$tests/(.+)"$', script, re.MULTILINE)
    assert chosen
    assert [name for name in chosen if not os.path.exists(ROOT / folder / name)] == []
