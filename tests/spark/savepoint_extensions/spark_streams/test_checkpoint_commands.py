"""Commands about a checkpoint of Spark: those that read it, and those that say that they don't."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from support.commands import lines
from support.commands import run as command
from support.each import each
from support.stream_queries import input_rows, put, read, run

from savepoint_extensions.spark_streams import checkpoint_commands

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ROWS = [row for batch in input_rows() for row in batch]


@pytest.fixture(scope="module")
def totals(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    put(folder / "in", input_rows())
    run(read(spark, folder / "in").groupBy("k").agg(F.sum("v").alias("v")), folder / "totals")
    return folder / "totals"


def test_each_command_answers_about_a_checkpoint(totals: Path) -> None:
    (described,) = lines("describe", totals)
    assert described["batch_id"] == 1
    assert described["offsets"] == {"0": {"logOffset": 1}}
    assert [it["kind"] for it in described["operators"]] == ["aggregation"]
    assert lines("list", totals) == [
        {"table": "operator_0", "kind": "aggregation", "columns": "k:string,sum:bigint"}
    ]
    expected = [
        {"k": k, "sum": sum(row["v"] for row in ROWS if row["k"] == k)} for k in ("k0", "k1", "k2")
    ]
    rows = lines("show", totals, "operator_0")
    assert sorted(rows, key=lambda row: str(row["k"])) == expected
    assert lines("show", totals, "operator_0", "--where", "k = 'k1'") == expected[1:2]
    assert lines("query", totals, "SELECT * FROM operator_0 ORDER BY k LIMIT 2") == expected[:2]
    assert lines("stats", totals) == [
        {"operator": 0, "store": "default", "rows": 3, "largest_partition": 3}
    ]
    assert {"describe", "list", "show", "query", "stats"} == set(checkpoint_commands._ANSWERS)


@each(
    ("words", "code", "message"),
    [
        (("verify",), 2, "is a checkpoint of Spark: describe, list, show, query, stats read it"),
        (("describe", "--uid", "a"), 2, "--uid is not for a checkpoint of Spark"),
        (("show", "operator_0", "--with-times"), 2, "--with-times is not for"),
        (("show", "totals"), 2, "has no table 'totals'; it has operator_0"),
        (("show", "operator_3"), 2, "no operator 3; it has 0: aggregation"),
        (("show", "operator_0", "--where", "nope = 1"), 2, "UNRESOLVED_COLUMN"),
        (("query", "SELECT nope FROM operator_0"), 2, "UNRESOLVED_COLUMN"),
        (("query", "DROP TABLE operator_0"), 2, "expected a query"),
    ],
)
def test_what_is_not_for_a_checkpoint_is_a_wrong_call(
    totals: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    name, *others = words
    answered, printed = command(name, totals, *others)
    assert (answered, message in printed) == (code, True), printed


def test_a_directory_without_a_checkpoint_is_as_it_was(tmp_path: Path) -> None:
    code, printed = command("describe", tmp_path)
    assert code == 1
    assert "has no _metadata file" in printed


@each(
    ("words", "message"),
    [
        (("--from-spark", "--uid", "a"), "needs --uid, the operator of the new job, and --like"),
        (("--from-spark", "--state"), "goes without --description, --format and --state"),
        (("--uid", "a"), "--uid needs --from-spark"),
        ((), "Missing option '--description'"),
    ],
)
def test_an_import_that_lacks_a_word_is_a_wrong_call(
    totals: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    code, printed = command("import", totals, tmp_path / "out", *words)
    assert (code, message in printed) == (2, True), printed
    assert not (tmp_path / "out").exists()
