"""The pages of incidents hold: their commands end as they say, and a real Flink restores the cure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.incidents import walk
from support.rewritten import OBJECTS
from support.sample_operators import STATEFUL
from support.sample_rows import SAMPLES, Sample, in_order

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession
    from support.flink_restore import FlinkRestore

WRONG = "customer-005"
CURES: dict[str, tuple[str, Callable[[dict[str, Any]], bool]]] = {
    "growing-state": ("smaller", lambda row: len(row["key"]) <= 100),
    "wrong-value": ("corrected", lambda _row: True),
    "erased-person": ("erased", lambda row: row["key"] != WRONG),
    "half-a-checkpoint": ("whole", lambda _row: True),
}
"""Page -> the folder of the cure, and which rows are still there."""

SAID = {
    "growing-state": "has 14.5% of operator stateful",
    "wrong-value": "update_postimage",
    "erased-person": "still has found values, in buffer",
    "half-a-checkpoint": "damaged",
}


@pytest.mark.parametrize("page", CURES)
@pytest.mark.usefixtures("spark")
def test_flink_restores_the_cure(page: str, flink_restore: FlinkRestore, tmp_path: Path) -> None:
    assert SAID[page] in "".join(walk(page, tmp_path).values())
    folder, is_left = CURES[page]
    sample = Sample("states-2.2.1-hashmap-native")
    backend = "rocksdb" if page == "growing-state" else "hashmap"
    restored = flink_restore(tmp_path / folder, STATEFUL, backend=backend)
    rows = [row for row in sample.keyed_state("stateful") if is_left(row)]
    if page == "wrong-value":
        rows = [
            row | {"last_id": row["last_id"] - 200} if row["key"] == WRONG else row for row in rows
        ]
    assert restored.keyed_state("stateful") == in_order(rows)
    timers = [row for row in sample.operators()["stateful"]["timers"] if is_left(row)]
    assert restored.timers("stateful") == in_order(timers)


def test_flink_2_sees_the_objects_of_flink_1(
    flink_restore: FlinkRestore, spark: SparkSession, tmp_path: Path
) -> None:
    assert spark
    assert "silent corruption" in "".join(walk("upgrade", tmp_path).values())
    own = flink_restore(SAMPLES / "objects-2.2.1-hashmap-canonical", *OBJECTS)
    upgraded = flink_restore(tmp_path / "upgraded", *OBJECTS, parallelism=2)
    for operator in OBJECTS:
        assert upgraded.keyed_state(operator.uid) == own.keyed_state(operator.uid)
