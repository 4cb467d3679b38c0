"""Savepoints that Spark has changed differ in what was changed, and are whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_an_update_and_other_key_groups_are_the_changes_of_pandas(
    spark: SparkSession, samples: Path, tmp_path: Path
) -> None:
    path = str(samples / "currency-2.2.1-rocksdb-native")
    savepoint = Savepoint.load(spark, path, uids=["summarize"])
    savepoint.update_state("summarize", "total", "total + 1", where="count > 3").write(
        str(tmp_path / "updated")
    )
    savepoint.rescale(max_parallelism=64, parallelism=2).write(str(tmp_path / "rescaled"))
    first = Savepoint.open(path, uids=["summarize"])
    table = "summarize.keyed_state"

    rescaled = first.diff(str(tmp_path / "rescaled"))
    assert rescaled.is_equal
    updated = Savepoint.open(str(tmp_path / "updated"), uids=["summarize"])
    assert updated.verify().faults == ()
    frames = (one.scan(table).to_pandas() for one in (first, updated))
    both = next(frames).merge(next(frames), on="key")
    changed = both[(both["total_x"] != both["total_y"]) | (both["count_x"] != both["count_y"])]
    assert len(changed) > 0
    found = first.diff(updated, table, full=True)
    (counts,) = found.tables
    assert (counts.inserted, counts.deleted, counts.updated) == (0, 0, len(changed))
    assert counts.unchanged == len(both) - len(changed)
    feed = found.to_arrow().to_pandas()
    for suffix, kind in (("_x", "update_preimage"), ("_y", "update_postimage")):
        expected = changed[["key", f"total{suffix}", f"count{suffix}"]]
        expected = expected.set_axis(["key", "total", "count"], axis=1).sort_values("key")
        seen = feed[feed["change_type"] == kind].drop(columns="change_type").sort_values("key")
        pd.testing.assert_frame_equal(
            seen.reset_index(drop=True), expected.reset_index(drop=True), check_dtype=False
        )
    # Against the rescaled one, whose key groups are others, the same rows differ.
    (others,) = updated.diff(str(tmp_path / "rescaled"), table).tables
    assert (others.updated, others.unchanged) == (counts.updated, counts.unchanged)
