"""A real Flink finds keys again after their key groups were made anew by an inferred hashCode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.flink_restore import RELEASES, FlinkRestore, Operator

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.flink

SHAPES = {
    "Hashed": "Objects.hash(shop, number, amount, day)",
    "Chained": "record(id, since, active)",
    "Lombok": "Lombok(active, id, name) with booleans 79/97",
    "Auto": "AutoValue(name, active, size)",
    "Built": "HashCodeBuilder(name, active, count) with booleans 0/1",
    "Single": "record(id)",
    "Outer": "Objects.hash(place: Objects.hash(shop, number, amount, day), city)",
}
"""What the class of keys computes; see ``restore_job/hashed/Keys.java``."""

COUNT = 300
JOB = [Operator(name, key=f"POJO<hashed.Keys${name}>").finding(COUNT) for name in SHAPES]
MAX_PARALLELISM = "pipeline.max-parallelism"


@pytest.mark.parametrize(
    ("flink", "backend", "resave_format"),
    [(RELEASES[0], "hashmap", "native"), (RELEASES[1], "rocksdb", "canonical")],
)
def test_keys_are_found_after_their_hash_code_was_inferred(
    spark: SparkSession,
    flink_restore: FlinkRestore,
    tmp_path: Path,
    flink: str,
    backend: str,
    resave_format: str,
) -> None:
    written = flink_restore(
        None,
        *JOB,
        flink=flink,
        backend=backend,
        parallelism=2,
        awaits=len(JOB) * COUNT,
        resave=tmp_path / "written",
        resave_format=resave_format,
        config={MAX_PARALLELISM: "128"},
    )
    assert all(set(written.found(uid).values()) == {None} for uid in SHAPES)
    assert written.savepoint is not None

    savepoint = Savepoint.load(spark, written.savepoint, uids=list(SHAPES))
    rescaled = savepoint.rescale(max_parallelism=1000).write(str(tmp_path / "rescaled"))
    told = {one.operator: one.hash_code for one in rescaled.operators if one.hash_code}
    assert {uid: text.split(", inferred from ")[0] for uid, text in told.items()} == SHAPES

    restored = flink_restore(
        tmp_path / "rescaled",
        *JOB,
        flink=flink,
        backend=backend,
        parallelism=3,
        awaits=len(JOB) * COUNT,
        resave=tmp_path / "again",
        config={MAX_PARALLELISM: "1000"},
    )
    for uid in SHAPES:
        assert restored.found(uid) == {number: number for number in range(COUNT)}, uid
        assert restored.subtasks(uid) == {0, 1, 2}
