"""Savepoints that tasks of Spark compare differ in what they differ in without it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.longs_by_text import savepoint_of_longs
from support.sample_rows import Sample, copy_of, file_of

from savepoint_formats.errors import StateFileNotFoundError, TableNotFoundError
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

TABLE = "a.keyed_state"


@pytest.mark.parametrize(("parallelism", "parts"), [(128, 3), (5, 1)])
def test_the_change_feed_is_that_of_this_process(
    spark: SparkSession, tmp_path: Path, parallelism: int, parts: int
) -> None:
    first = savepoint_of_longs(tmp_path / "before", {f"key {n}": n for n in range(300)})
    totals = {f"key {n}": n + n // 250 for n in range(100, 320)}
    second = savepoint_of_longs(tmp_path / "after", totals, parallelism)
    local = Savepoint.open(str(first), uids=["a"]).diff(str(second), full=True)
    loaded = Savepoint.load(spark, str(first), uids=["a"])
    found = replace(loaded.diff(str(second), full=True), bucket_size=3000)
    feed = found.to_dataframe(TABLE)
    assert feed.columns == ["change_type", "key", "total"]

    def rows(table: Any) -> list[tuple[str, str, int]]:
        return sorted(map(tuple, table.to_pandas().itertuples(index=False)))

    assert rows(feed.toArrow()) == rows(local.to_arrow())
    assert found.tables == local.tables
    (counts,) = found.tables
    assert (counts.deleted, counts.inserted, counts.updated, counts.unchanged) == (100, 20, 50, 150)
    assert feed.rdd.getNumPartitions() == parts
    narrowed = replace(loaded.diff(str(second)), bucket_size=3000)
    assert rows(narrowed.to_dataframe(TABLE).toArrow()) == rows(local.to_arrow())
    assert narrowed.tables[0].updated == 50


@pytest.mark.parametrize("rows", [1, 3])
def test_samples_have_both_images_of_an_update(
    spark: SparkSession, tmp_path: Path, rows: int
) -> None:
    first, second = (
        savepoint_of_longs(tmp_path / name, {f"key {n}": value for n in range(9)})
        for value, name in enumerate(("before", "after"))
    )
    sample = Savepoint.load(spark, str(first), uids=["a"]).diff(str(second)).samples(TABLE, rows)
    assert sample["change_type"].to_pylist() == ["update_preimage", "update_postimage"] * (
        (rows + 1) // 2
    )


def test_the_same_state_in_other_formats_is_equal(spark: SparkSession, samples: Path) -> None:
    path = str(samples / "states-1.20.5-rocksdb-canonical")
    before = Savepoint.load(spark, path, uids=["stateful"])
    found = before.diff(str(samples / "states-2.2.1-hashmap-native"), "stateful.keyed_state")
    assert found.is_equal
    assert found.with_forms(nanoseconds="text").to_dataframe().count() == 0
    (counts,) = found.tables
    assert counts.unchanged == before.scan("stateful.keyed_state").count()


def test_what_is_wrong_in_a_task_is_told_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    sample = Sample("currency-2.2.1-hashmap-native")
    damaged = copy_of(sample, tmp_path)
    found = Savepoint.load(spark, sample.path).diff(damaged, "summarize.keyed_state")
    with pytest.raises(TableNotFoundError, match=r"no table 'a\.b' can be compared"):
        found.to_dataframe("a.b")
    assert found.to_dataframe().count() == 0
    file_of(damaged, "summarize 0: keyed state").unlink()
    with pytest.raises(StateFileNotFoundError, match="does not exist"):
        _ = found.tables
