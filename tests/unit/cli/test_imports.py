"""What a command imports before it answers: a list of words needs no Arrow."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {
    *("cramjam", "deltalake", "duckdb", "fastavro", "google_crc32c", "jinja2", "llvmlite"),
    *("matplotlib", "numpy", "pandas", "polars", "prompt_toolkit", "py4j", "pyarrow", "pydantic"),
    *("pyiceberg", "pyspark", "rich", "sqlglot", "starlette", "textual", "xxhash", "yaml"),
}
"""Packages that take 5 ms or more to import."""

# Where pandas is installed, pyarrow's datasets import it.
_OF_QUERIES = {"duckdb", "sqlglot", "pandas"}

PROGRAM = """
import sys
from contextlib import suppress
from savepoint_cli.start import main
sys.argv[0] = "savepoint"
with suppress(SystemExit):
    main()
print("imported", *{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


def imported(*arguments: str, **variables: str) -> set[str]:
    """The heavy packages that a command imports."""
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=os.environ | variables,
        check=True,
        capture_output=True,
        text=True,
    ).stderr
    _, _, names = told.rpartition("imported")
    assert "click" in names.split()
    return HEAVY & set(names.split())


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_a_list_of_commands_needs_nothing_heavy(argument: str) -> None:
    assert imported(argument) == set()


def test_the_names_of_commands_are_completed_without_anything_heavy() -> None:
    words = {"COMP_WORDS": "savepoint des", "COMP_CWORD": "1"}
    assert imported(_SAVEPOINT_COMPLETE="bash_complete", **words) == set()


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    ("command", "more"),
    [
        (("describe",), set[str]()),
        (("query", "SELECT count(*) FROM summarize.keyed_state"), _OF_QUERIES),
    ],
    ids=["describe", "query"],
)
def test_a_command_needs_no_package_that_its_answer_does_not_need(
    samples: Path, command: tuple[str, ...], more: set[str]
) -> None:
    name, *rest = command
    usual = {"cramjam", "google_crc32c", "numpy", "pyarrow", "rich", "xxhash", "yaml"}
    path = str(samples / "currency-2.2.1-rocksdb-native")
    assert imported(name, path, *rest) <= usual | more
