"""Snapshots that were converted, restored by another state backend than that which wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.flink_restore import BACKENDS, FlinkRestore, Operator, RestoreError
from support.sample_operators import BUFFER, STATEFUL
from support.sample_rows import Sample, in_order

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

COUNT = 300
FOUND = Operator("found", key="POJO<hashed.Keys$Single>").finding(COUNT)
MAX_PARALLELISM = {"pipeline.max-parallelism": "128"}


def converted(spark: SparkSession, path: str, folder: Path) -> Path:
    Savepoint.load(spark, path).convert().write(str(folder))
    return folder


def test_state_of_rocksdb_is_restored_on_the_heap(
    spark: SparkSession, flink_restore: FlinkRestore, tmp_path: Path
) -> None:
    native = Sample("states-2.2.1-rocksdb-native").path
    with pytest.raises(RestoreError, match="Unexpected state handle type"):
        flink_restore(native, STATEFUL, BUFFER, backend="hashmap")
    sample = Sample("states-2.2.1-rocksdb-heaptimers")
    path = converted(spark, sample.path, tmp_path / "canonical")
    restored = flink_restore(path, STATEFUL, BUFFER, backend="hashmap")
    assert restored.keyed_state("stateful") == in_order(sample.keyed_state("stateful"))
    assert restored.timers("stateful") == in_order(sample.operators()["stateful"]["timers"])
    elements = restored.elements("buffer", "elements")
    assert sorted(elements) == sorted(sample.elements("buffer", "elements"))


def test_state_of_forst_is_restored_everywhere(
    spark: SparkSession, flink_restore: FlinkRestore, tmp_path: Path
) -> None:
    written = flink_restore(
        None,
        FOUND,
        backend="forst",
        parallelism=2,
        awaits=COUNT,
        resave=tmp_path / "native",
        resave_format="native",
        config=MAX_PARALLELISM,
    )
    assert written.savepoint is not None
    path = converted(spark, written.savepoint, tmp_path / "canonical")
    for backend in BACKENDS:
        restored = flink_restore(
            path,
            FOUND,
            backend=backend,
            awaits=COUNT,
            resave=tmp_path / backend,
            config=MAX_PARALLELISM,
        )
        assert restored.found("found") == {number: number for number in range(COUNT)}, backend
        assert restored.subtasks("found") == {0, 1, 2}
