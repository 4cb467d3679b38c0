"""What a command imports before it answers: words need no Arrow, and a description no values."""

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
    *("pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet"),
    *("rich.console", "rich.progress", "savepoint_database.snapshot.key_types"),
    *("savepoint_database.types.class_library", "savepoint_extensions.sql_jobs.plans"),
    *("savepoint_formats.program.kernel", "savepoint_formats.scan.scan"),
}
"""Packages and modules that take 5 ms or more to import."""

_MOST_MODULES = 160
"""Of this project, for a description; 144 when this was written."""

_NOT_TO_DESCRIBE = {
    *("cramjam", "difflib", "google_crc32c", "hashlib", "html", "http", "subprocess", "xxhash"),
    *("savepoint_formats.new_snapshot", "savepoint_formats.state_files.changelog"),
    *("savepoint_formats.values.kryo.known_classes", "savepoint_formats.values.values"),
    "savepoint_spark.session",
}
"""What a description needs only of a savepoint of a rare kind, or for an error."""

# Where pandas is installed, pyarrow's datasets import it.
_OF_QUERIES = {
    *("duckdb", "pandas", "pyarrow.compute", "pyarrow.dataset", "sqlglot"),
    *("savepoint_formats.program.kernel", "savepoint_formats.scan.scan"),
}

PROGRAM = """
import sys
from contextlib import suppress
from savepoint_cli.start import main
sys.argv[0] = "savepoint"
with suppress(SystemExit):
    main()
print("imported", *sys.modules, file=sys.stderr)
"""


def all_imported(*arguments: str, **variables: str) -> set[str]:
    """The modules that a command imports."""
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=os.environ | variables,
        check=True,
        capture_output=True,
        text=True,
    ).stderr
    _, _, names = told.rpartition("imported")
    assert "click" in names.split()
    return set(names.split())


def imported(*arguments: str, **variables: str) -> set[str]:
    """The heavy packages that a command imports."""
    return HEAVY & all_imported(*arguments, **variables)


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_a_list_of_commands_needs_nothing_heavy(argument: str) -> None:
    assert imported(argument) == set()


def test_the_names_of_commands_are_completed_without_anything_heavy() -> None:
    words = {"COMP_WORDS": "savepoint des", "COMP_CWORD": "1"}
    assert imported(_SAVEPOINT_COMPLETE="bash_complete", **words) == set()


@pytest.mark.parametrize("words", ["savepoint query --", "savepoint query --engine "])
def test_options_and_their_values_are_completed_without_anything_heavy(words: str) -> None:
    number = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert imported(_SAVEPOINT_COMPLETE="bash_complete", **number) <= {"rich"}


def test_no_command_needs_arrow_to_tell_its_options() -> None:
    program = (
        "import sys; from savepoint_cli.command_table import LazyCommands;"
        "assert len([*LazyCommands().values()]) > 40; print(*sys.modules)"
    )
    names = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert HEAVY & set(names.stdout.split()) <= {"rich", "yaml"}


def test_a_description_imports_few_modules(samples: Path) -> None:
    names = all_imported("describe", str(samples / "currency-2.2.1-rocksdb-native"))
    ours = [name for name in names if name.startswith(("savepoint_", "state_processor"))]
    assert len(ours) <= _MOST_MODULES
    assert not names & _NOT_TO_DESCRIBE


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    ("command", "more"),
    [
        (("describe",), set[str]()),
        (("list",), set[str]()),
        (("query", "SELECT count(*) FROM summarize.keyed_state"), _OF_QUERIES),
    ],
    ids=["describe", "list", "query"],
)
def test_a_command_needs_no_package_that_its_answer_does_not_need(
    samples: Path, command: tuple[str, ...], more: set[str]
) -> None:
    name, *rest = command
    usual = {"cramjam", "google_crc32c", "numpy", "pyarrow", "rich", "xxhash"}
    path = str(samples / "currency-2.2.1-rocksdb-native")
    assert imported(name, path, *rest) <= usual | more


def test_a_path_where_nothing_is_needs_no_spark(tmp_path: Path) -> None:
    # A checkpoint of Spark could be there, but only its files tell that.
    names = all_imported("describe", str(tmp_path / "nowhere"))
    assert {"pyspark", "savepoint_spark.session"} & names == set()
