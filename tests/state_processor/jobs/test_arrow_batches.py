"""Small rows are told from large ones, and either come out as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from state_processor import OperatorTransformation, Savepoint, Types, ValueStateDescriptor
from state_processor.jobs.arrow_batches import (
    LargeRowError,
    batches_of_small_rows,
    of_small_rows,
)

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
    with batches_of_small_rows(spark):
        assert passed.collect() == data.collect()


@pytest.mark.parametrize("columns", LARGE)
def test_a_large_row_ends_the_query(spark: SparkSession, columns: str) -> None:
    data = table(spark, columns)
    passed = of_small_rows(data)
    assert passed is not None
    before = [spark.conf.get(name) for name in SETTINGS]
    with pytest.raises(LargeRowError), batches_of_small_rows(spark):
        passed.mapInArrow(same, data.schema).collect()
    assert [spark.conf.get(name) for name in SETTINGS] == before


@pytest.mark.parametrize("columns", UNKNOWN)
def test_whether_arrays_and_maps_are_small_takes_too_long_to_tell(
    spark: SparkSession, columns: str
) -> None:
    assert of_small_rows(table(spark, columns)) is None


def test_a_batch_has_some_rows_however_small_they_are(spark: SparkSession) -> None:
    data = table(spark, "id", 2500)
    with batches_of_small_rows(spark):
        found = data.mapInArrow(counted, "rows BIGINT").collect()
    assert [row.rows for row in found] == [1000, 1000, 500]


def test_other_errors_stay_what_they_are(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="no size"), batches_of_small_rows(spark):
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
