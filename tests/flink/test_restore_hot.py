"""State of which nearly all is in one place, restored: ``support/hot_states.py`` has it larger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.flink_restore import RELEASES, FlinkRestore
from support.hot_states import HOT_STATES, restored_rows, rows_of, savepoints

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.parametrize(("name", "size"), list(zip(HOT_STATES, (2_000, 20_000), strict=True)))
def test_it_is_rescaled_changed_and_restored(
    flink_restore: FlinkRestore, spark: SparkSession, tmp_path: Path, name: str, size: int
) -> None:
    state, step, path, expected = HOT_STATES[name], "", tmp_path, None
    for step, path, expected in savepoints(spark, state, size, tmp_path):
        assert rows_of(path).equals(expected), step
    for flink in RELEASES:
        assert restored_rows(flink_restore, path, state, flink).equals(expected), (flink, step)
