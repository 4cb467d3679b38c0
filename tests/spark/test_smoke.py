"""A few jobs of Spark, end to end; the first one runs with the fast tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from state_processor import OperatorTransformation, Savepoint, Types, ValueStateDescriptor

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

UID = "accounts"


@pytest.mark.smoke
def test_a_savepoint_of_flink_is_read_by_sql(spark: SparkSession, samples: Path) -> None:
    savepoint = Savepoint.load(spark, str(samples / "currency-2.2.1-rocksdb-native"))
    savepoint.register()
    found = spark.sql("SELECT count(*) AS keys, sum(count) AS rows FROM summarize.keyed_state")
    (row,) = found.collect()
    scan = savepoint.scan("summarize.keyed_state")
    batches = [batch for split in scan.splits() for batch in scan.read(split)]
    assert row["keys"] == sum(batch.num_rows for batch in batches)
    assert row["rows"] == sum(sum(batch["count"].to_pylist()) for batch in batches)


def test_what_is_bootstrapped_changed_and_rescaled_is_read_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.range(100).selectExpr("id AS account", "id * 2 AS total")
    accounts = (
        OperatorTransformation.bootstrap_with(rows)
        .key_by("account")
        .with_state(ValueStateDescriptor("total", Types.LONG()))
    )
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    Savepoint.create(spark).with_operator(UID, accounts).write(first)
    savepoint = Savepoint.load(spark, first, uids=[UID])
    savepoint.update_state(UID, "total", "total + 1").rescale(max_parallelism=300).write(second)
    changed = Savepoint.load(spark, second, uids=[UID])
    assert changed.operator(UID).record.max_parallelism == 300
    found = changed.read_keyed_state(UID).collect()
    assert {row["key"]: row["total"] for row in found} == {n: n * 2 + 1 for n in range(100)}
