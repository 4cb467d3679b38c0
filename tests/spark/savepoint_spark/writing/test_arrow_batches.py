"""Batches have the size that is asked for, and rows come out as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from savepoint_spark.writing.keyed_plan import in_arrow_batches_of
from state_processor import OperatorTransformation, Savepoint, Types, ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

SETTINGS = (
    "spark.sql.execution.arrow.maxBytesPerBatch",
    "spark.sql.execution.arrow.maxRecordsPerBatch",
)


def counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"rows": [batch.num_rows]})


def table(spark: SparkSession, columns: str, count: int = 3) -> DataFrame:
    return spark.range(0, count, 1, 1).selectExpr(*columns.split("; "))


def test_settings_are_of_a_query_and_never_of_its_session(spark: SparkSession) -> None:
    before = [spark.conf.get(name) for name in SETTINGS]
    data = table(spark, "id", 2500).mapInArrow(counted, "rows BIGINT")
    first = in_arrow_batches_of(8000, data)
    second = in_arrow_batches_of(1, data)
    assert [spark.conf.get(name) for name in SETTINGS] == before
    # One begins, then the other, and they end in the same order.
    assert [len(one.collect()) for one in (first, second, data)] == [3, 2500, 1]
    assert [spark.conf.get(name) for name in SETTINGS] == before


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
