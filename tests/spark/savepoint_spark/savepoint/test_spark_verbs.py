"""Stats by tasks of Spark are those of one process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from support.sample_rows import Sample, copy_of, file_of

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

AT = datetime(2100, 1, 1, tzinfo=UTC)


def test_tasks_count_what_one_process_counts(spark: SparkSession) -> None:
    sample = Sample("states-2.2.1-rocksdb-native")
    ttl = {"recent_memo": timedelta(days=1)}
    expected = Savepoint.open(sample.path, uids=sample.uids).stats(at=AT, ttl=ttl, top=3)
    found = Savepoint.load(spark, sample.path, uids=sample.uids).stats(at=AT, ttl=ttl, top=3)
    assert found == expected
    rows = spark.createDataFrame(found.to_arrow("largest_keys")).select("key", "size").collect()
    assert [tuple(row) for row in rows] == [(one.key, one.size) for one in expected.largest_keys]


def test_a_file_that_is_gone_is_a_problem_of_its_operator(
    spark: SparkSession, tmp_path: Path
) -> None:
    damaged = copy_of(Sample("currency-2.2.1-hashmap-native"), tmp_path)
    loaded = Savepoint.load(spark, damaged.path, uids=["summarize"])
    assert loaded.operator("summarize").tables
    file_of(damaged, "summarize 0: keyed state").unlink()
    (problem,) = loaded.stats("summarize.keyed_state").problems
    assert "does not exist" in problem
    assert "operator summarize" in problem
