"""Savepoints of Flink 1.20 that were migrated, restored by Flink 2.2 with the same classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.flink_restore import BACKENDS, FlinkRestore, KeyedState, Operator
from support.object_classes import CLASSES
from support.object_samples import UIDS
from support.sample_rows import SAMPLES

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def operator(name: str, type_words: str) -> Operator:
    """An operator of the job ``objects``, which keeps an object of each key."""
    states = (
        KeyedState.value("id", "LONG"),
        KeyedState.value(name, type_words),
        KeyedState.value("memo", "STRING"),
    )
    return Operator(f"{name}s", key="LONG", states=states)


JOB = (
    operator("basket", "POJO<shop.Basket>"),
    operator("crate", "POJO<shop.Crate>"),
    operator("shape", "GENERIC<shop.Shape>"),
)


@pytest.mark.parametrize("written_by", ["rocksdb-native", "hashmap-canonical"])
def test_flink_2_sees_what_a_job_of_its_own_has_written(
    spark: SparkSession, flink_restore: FlinkRestore, tmp_path: Path, written_by: str
) -> None:
    path = str(SAMPLES / f"objects-1.20.5-{written_by}")
    old = Savepoint.load(spark, path, uids=UIDS, kryo_classes=CLASSES)
    old.migrate("2.2").write(str(tmp_path / "migrated"))
    own = flink_restore(SAMPLES / "objects-2.2.1-hashmap-canonical", *JOB)
    for backend in BACKENDS:
        migrated = flink_restore(tmp_path / "migrated", *JOB, backend=backend, parallelism=2)
        for one in JOB:
            assert len(own.keyed_state(one.uid)) == 40
            assert migrated.keyed_state(one.uid) == own.keyed_state(one.uid)
