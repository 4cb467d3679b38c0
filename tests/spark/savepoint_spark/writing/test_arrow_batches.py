"""Small rows are told from large ones, and either come out as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from savepoint_spark.writing.arrow_batches import (
    LargeRowError,
    in_arrow_batches_of,
    in_batches_of_small_rows,
    large_row_errors,
    of_small_rows,
)
from state_processor import OperatorTransformation, Savepoint, Types, ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

SETTINGS = (
    "spark.sql.execution.arrow.maxBytesPerBatch",
    "spark.sql.execution.arrow.maxRecordsPerBatch",
)

SMALL = [
    "id",
    "CAST(id AS DECIMAL(20, 3)) AS `a.b`",
    "repeat('x', 65536) AS `sea``son`",
    "CAST(NULL AS BINARY) AS nothing; repeat('x', 9) AS text",
    "named_struct('a', id, 'inner', named_struct('b', repeat('x', 60000))) AS nested",
]
LARGE = [
    "repeat('é', 32769) AS text",
    "named_struct('a', id, 'b', CAST(repeat('x', 65537) AS BINARY)) AS nested",
    "repeat('x', 32769) AS one; id; repeat('y', 32768) AS two",
]
UNKNOWN = ["array(id) AS many", "map(id, id) AS many", "named_struct('a', array(id)) AS nested"]


def counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"rows": [batch.num_rows]})


def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return iter(batches)


def table(spark: SparkSession, columns: str, count: int = 3) -> DataFrame:
    return spark.range(0, count, 1, 1).selectExpr(*columns.split("; "))


@pytest.mark.parametrize("columns", SMALL)
def test_small_rows_pass(spark: SparkSession, columns: str) -> None:
    data = table(spark, columns)
    passed = of_small_rows(data)
    assert passed is not None
    assert passed.schema.simpleString() == data.schema.simpleString()
    with large_row_errors():
        assert in_batches_of_small_rows(passed).collect() == data.collect()


@pytest.mark.parametrize("columns", LARGE)
def test_a_large_row_ends_the_query(spark: SparkSession, columns: str) -> None:
    data = table(spark, columns)
    passed = of_small_rows(data)
    assert passed is not None
    ended = in_batches_of_small_rows(passed.mapInArrow(same, data.schema))
    with pytest.raises(LargeRowError), large_row_errors():
        ended.collect()


@pytest.mark.parametrize("columns", UNKNOWN)
def test_whether_arrays_and_maps_are_small_takes_too_long_to_tell(
    spark: SparkSession, columns: str
) -> None:
    assert of_small_rows(table(spark, columns)) is None


def test_a_batch_has_some_rows_however_small_they_are(spark: SparkSession) -> None:
    data = table(spark, "id", 2500)
    found = in_batches_of_small_rows(data.mapInArrow(counted, "rows BIGINT")).collect()
    assert [row.rows for row in found] == [1000, 1000, 500]


def test_settings_are_of_a_query_and_never_of_its_session(spark: SparkSession) -> None:
    before = [spark.conf.get(name) for name in SETTINGS]
    data = table(spark, "id", 2500).mapInArrow(counted, "rows BIGINT")
    first = in_batches_of_small_rows(data)
    second = in_arrow_batches_of(1, data)
    assert [spark.conf.get(name) for name in SETTINGS] == before
    # One begins, then the other, and they end in the same order.
    assert [len(one.collect()) for one in (first, second, data)] == [3, 2500, 1]
    assert [spark.conf.get(name) for name in SETTINGS] == before


def test_other_errors_stay_what_they_are(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="no size"), large_row_errors():
        spark.sql("SELECT raise_error('no size')").collect()


@pytest.mark.parametrize("size", [1, 70_000])
def test_a_savepoint_has_rows_of_any_size(spark: SparkSession, tmp_path: Path, size: int) -> None:
    data = spark.range(40).select(
        "id", F.repeat(F.lit("x"), F.col("id").cast("int") * size).alias("text")
    )
    keyed = OperatorTransformation.bootstrap_with(data).key_by("id")
    state = keyed.with_state(ValueStateDescriptor("text", Types.STRING()))
    path = str(tmp_path / "savepoint")
    Savepoint.create(spark, parallelism=2).with_operator("one", state).write(path)
    found = Savepoint.load(spark, path, uids=["one"]).read_keyed_state("one")
    assert sorted(found.collect()) == [(number, "x" * number * size) for number in range(40)]
    assert sorted(file.name.partition("-")[0] for file in (tmp_path / "savepoint").iterdir()) == [
        "_metadata",
        "keyed",
        "keyed",
    ]
