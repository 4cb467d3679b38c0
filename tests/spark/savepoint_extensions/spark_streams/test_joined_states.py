"""The sides of a query's join as lists of a function of the new job."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from support.stream_queries import input_rows, joined, put, read, run

from savepoint_extensions.spark_streams.joined_states import with_matches
from savepoint_formats.errors import ColumnTypeError
from state_processor import (
    ListStateDescriptor,
    OperatorTransformation,
    Savepoint,
    SparkCheckpoint,
    Types,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SIDES = {
    "left": ("left", Types.TUPLE([Types.LONG(), Types.INSTANT()])),
    "right": ("right_rows", Types.TUPLE([Types.INT(), Types.STRING(), Types.STRING()])),
}


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("joined")
    put(folder / "in", input_rows())
    rows = read(spark, folder / "in")
    run(joined(rows, read(spark, folder / "in")), folder / "query", "append")
    lists = "NULL::ARRAY<STRUCT<f0: BIGINT, f1: TIMESTAMP>> AS left"
    lists += ", NULL::ARRAY<STRUCT<f0: INT, f1: STRING, f2: STRING>> AS right_rows"
    nothing = spark.sql(f"SELECT 'k' AS k, {lists}").limit(0)
    half = OperatorTransformation.bootstrap_with(nothing).key_by("k")
    half = half.with_state(ListStateDescriptor(*SIDES["left"]))
    whole = half.with_state(ListStateDescriptor(*SIDES["right"]))
    writer = Savepoint.create(spark).with_operator("join", whole).with_operator("half", half)
    writer.write(folder / "empty")
    return folder


def test_rows_of_both_sides_go_into_the_lists_of_a_function(
    spark: SparkSession, folder: Path
) -> None:
    checkpoint = SparkCheckpoint.load(spark, folder / "query")
    new_job = Savepoint.load(spark, folder / "empty", uids=["join", "half"])
    words = {"left": ("v + 1", "ts"), "right": ("id", "k", "k")}
    state = checkpoint.state_like(new_job.operator("join"), **words)  # type: ignore[arg-type]  # words by name
    new_job.with_operator("join", state).write(folder / "moved", mode="overwrite")
    moved = Savepoint.load(spark, folder / "moved", uids=["join", "half"])
    given: dict[str, Counter[tuple[object, ...]]] = {"left": Counter(), "right": Counter()}
    for row in checkpoint.joined(0).collect():
        it = row[row["side"]]
        of_right = (it["id"], it["k"], it["k"]) if row["side"] == "right" else ()
        value = of_right or (it["v"] + 1, it["ts"])
        given[row["side"]][row[0], *value] += 1
    assert all(given.values())
    for row in moved.read_keyed_state("join").collect():
        for side, (name, _) in SIDES.items():
            given[side].subtract((row["key"], *it) for it in row[name] or ())
    assert not [rows for rows in given.values() if any(rows.values())]


def test_a_side_without_a_state_is_refused(spark: SparkSession, folder: Path) -> None:
    checkpoint = SparkCheckpoint.load(spark, folder / "query")
    new_job = Savepoint.load(spark, folder / "empty", uids=["join", "half"])
    with pytest.raises(
        ColumnTypeError, match=r"half has 0 states whose name is 'right' .*has left"
    ):
        checkpoint.state_like(new_job.operator("half"), left=("v", "ts"))
    with pytest.raises(ColumnTypeError, match=r"right=\['none'\]: .* right side has k, id, rt"):
        checkpoint.state_like(new_job.operator("join"), left=("v", "ts"), right=["none"])


def test_rows_match_by_no_key_that_is_null(spark: SparkSession) -> None:
    side = "SELECT k, {0} AS `$matched`, struct({1} AS v) AS `$stored`, struct({1} AS v) AS `$row`"
    left, right = (
        spark.sql(
            " UNION ALL ".join(f"{side.format(mark, v)} FROM VALUES ({k}) AS t(k)" for k, v in rows)
        )
        for mark, rows in (
            ("FALSE", (("'a'", 1), ("NULL", 2))),
            ("FALSE", (("'a'", 3), ("'a'", 4), ("NULL", 5))),
        )
    )
    counted = with_matches(left, right, ["k"], "left", "true").collect()
    assert {(row["k"], row["$times"], row["$matches"]) for row in counted} == {
        ("a", 1, 2),
        (None, 1, 0),
    }
