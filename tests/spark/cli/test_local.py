"""Local keyed state on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.commands import lines, run
from support.local_counts import MERGE, merged_counts, write_local

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

RULES = [part for state, rule in MERGE.items() for part in ("--merge", f"{state}={rule}")]


@pytest.fixture(scope="module")
def local(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("local") / "savepoint"
    write_local(spark, path)
    return path


def test_rows_of_all_subtasks_are_shown_as_they_are_and_merged(local: Path) -> None:
    command = ("show", local, "counts.keyed_state", "--uid", "counts", "--key", "Wörd 5")
    assert [(row["subtask"], row["count"]) for row in lines(*command)] == [
        (0, [5]),
        (1, [105]),
        (2, [205]),
    ]
    assert [row["count"] for row in lines(*command, "--merge", "count=sum")] == [5, 105, 205]


def test_states_and_tables_are_called_local(local: Path) -> None:
    code, described = run("describe", local, "--uid", "counts")
    assert (code, described.count("local")) >= (0, 5)
    (table,) = lines("list", local, "--uid", "counts")
    assert table["columns"][:2] == ["subtask", "key"]


def test_merged_state_is_written(local: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command: list[Any] = [
        "merge-local",
        local,
        out,
        "--uid",
        "counts",
        "--operator",
        "counts",
        *RULES,
    ]
    assert run(*command, "--dry-run")[0] == 0
    assert not out.exists()
    code, output = run(*command)
    assert code == 0, output
    found = lines("show", out, "counts.keyed_state", "--uid", "counts", "--key", "Wörd 5")
    (expected,) = (row for row in merged_counts() if row["key"] == "Wörd 5")
    assert [row["count"] for row in found] == [expected["count"]]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (["--merge", "count"], 2, "expected such as count=sum"),
        (["--merge", "count=average"], 2, "expected one of sum, min, max, concat"),
        (["--merge", "ids=concat"], 2, "are appended"),
        (["--merge", "total=sum"], 2, "has no local state 'total'"),
    ],
)
def test_wrong_rules_are_told_apart_from_wrong_savepoints(
    local: Path, tmp_path: Path, arguments: list[str], exit_code: int, message: str
) -> None:
    commands: tuple[list[Any], ...] = (
        ["merge-local", local, tmp_path / "out", "--operator", "counts", *arguments],
        ["show", local, "counts.keyed_state", "--uid", "counts", *arguments],
    )
    for command in commands:
        code, output = run(*command)
        assert code == exit_code, output
        assert message in " ".join(output.replace("│", " ").split())


def test_what_is_not_given_a_rule_is_named(local: Path, tmp_path: Path) -> None:
    code, output = run("merge-local", local, tmp_path / "out", "--operator", "counts")
    assert code == 1
    assert "reducing state 'count'" in output
