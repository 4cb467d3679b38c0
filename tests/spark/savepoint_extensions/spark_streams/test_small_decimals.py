"""Sums and averages of decimals, which Spark stores without their point if they have few digits."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F
from support.each import each
from support.stream_queries import input_rows, put, read, run

from savepoint_formats.errors import ColumnTypeError, RefusedError
from savepoint_spark.session import typed_errors
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

DIGITS = (5, 8, 9, 11, 12, 30)
ROWS = [row for batch in input_rows() for row in batch]
AGGREGATES = {f"{name}{it}": f"{name} DECIMAL({it}, 2)" for it in DIGITS for name in ("sum", "avg")}


@pytest.fixture(scope="module")
def checkpoint(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkCheckpoint:
    folder = tmp_path_factory.mktemp("decimals")
    put(folder / "in", input_rows())
    amounts = {it: F.expr(f"CAST(-d AS DECIMAL({it}, 2))") for it in DIGITS}
    parts = [kind(amounts[it]) for it in DIGITS for kind in (F.sum, F.avg)]
    run(read(spark, folder / "in").groupBy("k").agg(*parts), folder / "totals")
    return SparkCheckpoint.load(spark, folder / "totals")


def test_sums_of_decimals_have_their_point_whatever_their_digits(
    checkpoint: SparkCheckpoint,
) -> None:
    answers = checkpoint.aggregation(0, key=(), **AGGREGATES).collect()
    assert len(answers) == 3
    for row in answers:
        amounts = [-Decimal(it["d"]) for it in ROWS if it["k"] == row["k"]]
        for digits in DIGITS:
            assert row[f"sum{digits}"] == sum(amounts)
            assert tuple(row[f"avg{digits}"]) == (sum(amounts), len(amounts))


@each(
    ("name", "declared", "message"),
    [
        ("sum5", "sum DECIMAL(9, 2)", r"has a sum of decimal\(19,2\), but the state has bigint"),
        ("sum9", "sum DECIMAL(9, 1)", r"sum of decimal\(19,1\), but the state has decimal\(19,2\)"),
        ("avg12", "avg DECIMAL(11, 2)", r"sum of double, but the state has decimal\(22,2\)"),
        ("sum5", "sum DOUBLE", "sum of double, but the state has bigint"),
        ("avg12", "avg BIGINT", r"sum of double, but the state has decimal\(22,2\)"),
        (
            "sum5",
            "sum TEXT",
            "expected 'sum' alone, or with TINYINT, .* or DECIMAL",
        ),
        ("sum5", "sum DECIMAL(5, 40)", "expected 'sum' alone, or with"),
    ],
)
def test_other_digits_than_those_of_the_column_are_refused(
    checkpoint: SparkCheckpoint, name: str, declared: str, message: str
) -> None:
    with pytest.raises(ColumnTypeError, match=message):
        checkpoint.aggregation(0, key=(), **{**AGGREGATES, name: declared})


def test_numbers_of_other_types_are_as_spark_has_them(checkpoint: SparkCheckpoint) -> None:
    plain = checkpoint.aggregation(0, key=(), **{**AGGREGATES, "sum5": "sum", "avg5": "avg"})
    words = {**AGGREGATES, "sum5": "sum BIGINT", "avg5": "avg DOUBLE"}
    typed = checkpoint.aggregation(0, key=(), **words)
    assert plain.collect() == typed.collect()


def test_a_state_gets_no_averages_that_may_lack_their_point(
    checkpoint: SparkCheckpoint, tmp_path: Path
) -> None:
    nothing = checkpoint.spark.createDataFrame([], "k STRING, n BIGINT")
    keyed = OperatorTransformation.bootstrap_with(nothing).key_by("k")
    state = keyed.with_state(ValueStateDescriptor("n", Types.LONG()))
    Savepoint.create(checkpoint.spark).with_operator("n", state).write(tmp_path / "empty")
    like = Savepoint.load(checkpoint.spark, tmp_path / "empty", uids=["n"]).operator("n")
    with pytest.raises(
        ColumnTypeError, match=r"^sum_2, count may be an average: .* by aggregates="
    ):
        checkpoint.state_like(like)
    with pytest.raises(ColumnTypeError, match="avg5='avg' lacks the type of the query's column: "):
        checkpoint.state_like(like, aggregates={**AGGREGATES, "avg5": "avg"})


def test_a_state_gets_no_sum_that_may_lack_its_point(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "in", input_rows())
    amounts = read(spark, tmp_path / "in").selectExpr("k", "CAST(d AS DECIMAL(5, 2)) AS d")
    run(amounts.groupBy("k").agg(F.sum("d")), tmp_path / "query")
    nothing = spark.createDataFrame([], "k STRING, total STRUCT<sum: DECIMAL(38, 2)>")
    keyed = OperatorTransformation.bootstrap_with(nothing).key_by("k")
    total = Types.ROW_DATA([("sum", "DECIMAL(38, 2)")])
    state = keyed.with_state(ValueStateDescriptor("total", total))
    Savepoint.create(spark).with_operator("totals", state).write(tmp_path / "empty")
    like = Savepoint.load(spark, tmp_path / "empty", uids=["totals"]).operator("totals")
    query = SparkCheckpoint.load(spark, tmp_path / "query")
    with pytest.raises(ColumnTypeError, match=r"name the type .* sum='sum DECIMAL\(5, 2\)'"):
        query.state_like(like)
    carried = query.state_like(like, aggregates={"sum": "sum DECIMAL(5, 2)"})
    Savepoint.create(spark).with_operator("totals", carried).write(tmp_path / "out")
    table = Savepoint.load(spark, tmp_path / "out", uids=["totals"]).read_keyed_state("totals")
    for row in table.collect():
        amount = sum(Decimal(it["d"]) for it in ROWS if it["k"] == row["key"])
        assert amount in (*row["total"],)


def test_sums_that_have_overflowed_are_refused_and_others_are_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    put(tmp_path / "in", input_rows())
    wide = "CAST(IF(k = 'k0' OR v % 2 = 0, NULL, IF(k = 'k1', 9e37, 5)) AS DECIMAL(38, 0)) AS d"
    most = f"IF(k = 'k0' OR v % 2 = 0, NULL, IF(k = 'k1', {2**62}, 5)) AS n"
    rows = read(spark, tmp_path / "in").selectExpr("k", wide, most)
    sums = [F.expr(f"try_{it}") for it in ("sum(d)", "avg(d)", "sum(n)")]
    run(rows.groupBy("k").agg(*sums), tmp_path / "query")
    query = SparkCheckpoint.load(spark, tmp_path / "query")
    fives = sum(row["k"] == "k2" and row["v"] % 2 != 0 for row in ROWS)
    for words in ({"a": "sum", "b": "avg"}, {"a": "sum DECIMAL(38, 0)", "b": "avg DECIMAL(38, 0)"}):
        table = query.aggregation(0, key=(), **words, n="sum").orderBy("k")
        empty, last = (table.where(f"k = '{it}'").collect()[0] for it in ("k0", "k2"))
        assert (empty["a"], empty["b"]["count"]) == (None, 0)
        assert (last["a"], last["b"]["sum"], last["b"]["count"]) == (5 * fives, 5 * fives, fives)
        assert (empty["n"], last["n"]) == (None, 5 * fives)
        for column in ("a", "b.sum", "n"):
            with (
                pytest.raises(RefusedError, match=r": a sum has overflowed"),
                typed_errors(),
            ):
                table.select(column).collect()
    assert query.table(0).where("k = 'k1' AND NOT isEmpty AND sum IS NULL").count() == 1
