"""Tasks of Spark count and check what one process does."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.sample_rows import Sample, copy_of, file_of

from savepoint_database.checks.verification import Verification
from savepoint_formats.checks.faults import Check
from state_processor import Savepoint
from state_processor.savepoint.spark_verbs import checked_by_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT = datetime(2100, 1, 1, tzinfo=UTC)
DAMAGED = {
    "states-2.2.1-hashmap-canonical": {Check.SECTIONS, Check.HEADERS},
    "states-1.20.5-hashmap-native": {Check.SECTIONS},
    "states-2.2.1-rocksdb-heaptimers/chk-2": {Check.CHECKSUMS, Check.SECTIONS},
}


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


def damaged(path: Path, out: Path) -> Path:
    """A copy of which each file has other bytes in some places, and one is gone."""
    copy = Path(shutil.copytree(path, out))
    files = sorted(file for file in copy.rglob("*") if file.is_file() and file.name != "_metadata")
    for file in files:
        data = bytearray(file.read_bytes())
        for place in (len(data) // 2, len(data) // 3 * 2, len(data) - 7):
            data[place] ^= 0xFF
        file.write_bytes(data)
    files[0].unlink()
    return copy


@pytest.mark.parametrize("name", DAMAGED)
def test_faults_and_their_order_are_those_of_one_process(
    spark: SparkSession, samples: Path, tmp_path: Path, name: str
) -> None:
    path = str(damaged(samples / name, tmp_path / "savepoint"))
    expected = Savepoint.open(path, uids=["stateful"]).verify()
    loaded = Savepoint.load(spark, path, uids=["stateful"])
    assert loaded.verify() == expected
    # Several tasks, where by default one has it all.
    look = partial(checked_by_tasks, spark, task_size=5000)
    assert Verification.of(loaded, look=look) == expected
    assert DAMAGED[name] <= {fault.check for fault in expected.faults}
    assert len({fault.subtask for fault in expected.faults}) > 1
