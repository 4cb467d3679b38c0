"""Tasks of Spark find values, and draft rules, as one process does."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from support.sample_rows import SAMPLES, Sample, copy_of, file_of

from savepoint_extensions.privacy.found_values import find_in
from state_processor import Savepoint
from state_processor.savepoint.spark_privacy_verbs import searched_by_tasks

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

# A key, a part of a file's name in the state of a source, and a number that many entries have.
VALUES = ["customer-005", "transactions-2.csv", "1"]


@pytest.mark.parametrize(
    "path",
    [
        Sample("states-2.2.1-hashmap-canonical").path,
        Sample("states-2.2.1-rocksdb-native").path,
        Sample("states-1.20.5-hashmap-changelog").path,
        str(SAMPLES / "objects-1.20.5-rocksdb-native"),
    ],
)
def test_tasks_find_what_one_process_finds(spark: SparkSession, path: str) -> None:
    opened, loaded = Savepoint.open(path), Savepoint.load(spark, path)
    expected = opened.find(VALUES)
    assert expected.is_found
    assert loaded.find(VALUES) == expected
    # A task for each part, where by default one has all.
    run = partial(searched_by_tasks, spark, task_size=0)
    assert find_in(loaded, VALUES, contains=True, run=run) == opened.find(VALUES, contains=True)


def test_tasks_tell_what_they_could_not_read(spark: SparkSession, tmp_path: Path) -> None:
    damaged = copy_of(Sample("currency-2.2.1-hashmap-native"), tmp_path)
    file_of(damaged, "summarize 0: keyed state").unlink()
    expected = Savepoint.open(damaged.path).find(["EUR"])
    (searched,) = expected.snapshots
    assert any("does not exist" in problem for problem in searched.problems)
    run = partial(searched_by_tasks, spark, task_size=0)
    assert find_in(Savepoint.load(spark, damaged.path), ["EUR"], run=run) == expected


@pytest.mark.parametrize("limit", [1, 100_000])
def test_tasks_draft_the_rules_of_one_process(spark: SparkSession, limit: int) -> None:
    path = Sample("states-2.2.1-rocksdb-native").path
    expected = Savepoint.open(path).mask_suggestions(limit)
    assert any(known.values for known in expected.fields)
    assert Savepoint.load(spark, path).mask_suggestions(limit) == expected
