"""Changes of lists, unions and broadcast state of a real job, by tasks and in this process."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from savepoint_extensions.change_feed import feed_frames
from savepoint_formats.savepoint_warnings import UnknownUidWarning
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

UIDS = ["stateful", "buffer", "currency_converter", "summarize"]


def test_elements_and_entries_of_operators(
    spark: SparkSession, samples: Path, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownUidWarning)
        before = Savepoint.load(spark, samples / "states-2.2.1-rocksdb-native", uids=UIDS)
        elements = "CASE WHEN value LIKE '%customer-005' THEN 'new' ELSE value END"
        before.update_state("buffer", "elements", elements).write(tmp_path / "after")
        after = Savepoint.load(spark, tmp_path / "after", uids=UIDS)
    feed = before.changes(after)
    assert isinstance(feed, feed_frames.SparkChangeFeed)
    rows = before.read_list_state("buffer", "elements").collect()
    replaced = [row["value"] for row in rows if row["value"].endswith("customer-005")]
    assert replaced
    typed = feed.to_dataframe("buffer.elements").collect()
    assert sorted(row["before"] for row in typed if row["kind"] == "removed") == sorted(replaced)
    assert [row["after"] for row in typed if row["kind"] == "added"] == ["new"] * len(replaced)
    assert len(typed) == 2 * len(replaced)
    whole = feed.to_dataframe().toArrow().to_pylist()
    assert whole == feed.to_arrow().to_pylist()
    assert {row["state"] for row in whole} == {"elements"}


def test_entries_of_broadcast_state(spark: SparkSession, samples: Path, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownUidWarning)
        before = Savepoint.load(spark, samples / "currency-2.2.1-rocksdb-native", uids=UIDS)
        (chosen, *_) = before.read_broadcast_state("currency_converter", "rates").collect()
        writer = before.update_state(
            "currency_converter", "rates", "value * 2", where=f"key = {chosen['key']}"
        )
        writer.write(tmp_path / "after")
        after = Savepoint.load(spark, tmp_path / "after", uids=UIDS)
    (row,) = before.changes(after).to_dataframe("currency_converter.rates").collect()
    assert (row["key"], row["before"], row["kind"]) == (*chosen, "changed")
    assert row["after"] == 2 * row["before"]
