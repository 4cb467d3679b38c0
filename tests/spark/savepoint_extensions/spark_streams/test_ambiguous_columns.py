"""A column of a query goes where its name says; a position that could be another one is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.stream_queries import input_rows, put, read, run

from savepoint_formats.errors import ColumnTypeError
from state_processor import (
    OperatorTransformation,
    Savepoint,
    SparkCheckpoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

CASE = "sql-plans/stream-exec-rank_1/rank-test-update-fast-strategy.json"
PAIRS = {(row["k"], f"id {row['id']}") for batch in input_rows() for row in batch}


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Queries whose key has the columns of the plan in another order, or columns of other names."""
    folder = tmp_path_factory.mktemp("ambiguous")
    put(folder / "in", input_rows())
    rows = read(spark, folder / "in").selectExpr("k AS a", "'id ' || id AS b", "k AS x", "id", "v")
    run(rows.groupBy("b", "a").count(), folder / "turned")
    run(rows.groupBy("b", "x").count(), folder / "renamed")
    return folder


@pytest.fixture
def plan(corpus: Path, tmp_path: Path) -> Path:
    """A plan that counts by two texts, ``a`` and ``b``."""
    text = (corpus / CASE).read_text("utf-8")
    (tmp_path / "plan.json").write_text(text.replace("`a` INT", "`a` VARCHAR(2147483647)"), "utf-8")
    return tmp_path / "plan.json"


@pytest.mark.usefixtures("slow")
def test_keys_of_equal_types_go_by_the_names_of_a_plan(
    spark: SparkSession, folder: Path, plan: Path, tmp_path: Path
) -> None:
    operator = OperatorTransformation.for_plan(plan, 13)
    count = {"count_c": "count"}
    turned, renamed = (SparkCheckpoint.load(spark, folder / it) for it in ("turned", "renamed"))
    states = {
        "turned": turned.state_like(operator, aggregates=count),
        "named": renamed.state_like(operator, aggregates=count, key=["x", "b"]),
    }
    for name, state in states.items():
        Savepoint.create(spark).with_operator(operator.uid, state).write(tmp_path / name)
        written = Savepoint.load(spark, tmp_path / name, plan=plan).read_keyed_state(operator.uid)
        assert {(row["key"]["a"], row["key"]["b"]) for row in written.collect()} == PAIRS
    with pytest.raises(
        ColumnTypeError, match=r"key has the fields b, x, .* calls them a, b: by pos"
    ):
        renamed.state_like(operator, aggregates=count)
    with pytest.raises(ColumnTypeError, match=r"key=\['x'\], but the query's key has b, x"):
        renamed.state_like(operator, aggregates=count, key=["x"])


@pytest.mark.usefixtures("slow")
def test_columns_of_a_plan_that_differ_by_case_alone_are_not_one(
    spark: SparkSession, folder: Path, plan: Path
) -> None:
    text = plan.read_text("utf-8")
    plan.write_text(text.replace("`b`", "`A`").replace('"b"', '"A"'), "utf-8")
    checkpoint = SparkCheckpoint.load(spark, folder / "renamed")
    operator = OperatorTransformation.for_plan(plan, 13)
    with pytest.raises(ColumnTypeError, match=r"fields of the new job 'a' and 'A' have one name; "):
        checkpoint.state_like(operator, aggregates={"count_c": "count"}, key=["x", "b"])


@pytest.mark.usefixtures("slow")
def test_a_tuple_of_equal_types_needs_an_order(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    nothing = spark.createDataFrame([], "a STRING, b STRING, n BIGINT")
    keyed = OperatorTransformation.bootstrap_with(nothing).key_by("a", "b")
    counts = keyed.with_state(ValueStateDescriptor("n", Types.LONG()))
    Savepoint.create(spark).with_operator("counts", counts).write(tmp_path / "empty")
    like = Savepoint.load(spark, tmp_path / "empty", uids=["counts"]).operator("counts")
    checkpoint = SparkCheckpoint.load(spark, folder / "turned")
    with pytest.raises(ColumnTypeError, match=r"calls them f0, f1: .* key=\[…\] \(--key COLUMN\)"):
        checkpoint.state_like(like, aggregates={"n": "count"})
    state = checkpoint.state_like(like, aggregates={"n": "count"}, key=["a", "b"])
    Savepoint.create(spark).with_operator("counts", state).write(tmp_path / "moved")
    moved = Savepoint.load(spark, tmp_path / "moved", uids=["counts"]).read_keyed_state("counts")
    assert {tuple(row["key"]) for row in moved.collect()} == PAIRS
