"""Which rows are late for a query behind its last commit: those that the import says to drop, and no others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from support.stream_queries import NOON, input_rows, put, read, run

from savepoint_extensions.spark_streams.checkpoint_commands import late_rows
from state_processor import SparkCheckpoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

LENGTH = 30
AMOUNT = 1000


def windows(spark: SparkSession, folder: Path) -> DataFrame:
    rows = read(spark, folder / "in")
    return rows.groupBy("k", F.window("ts", f"{LENGTH} seconds")).agg(F.sum("v").alias("total"))


def emitted(folder: Path) -> list[tuple[str, int]]:
    """Start of each window that the query has emitted, in seconds behind noon, with its total."""
    files = sorted((folder / "out").glob("*.json"))
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [(row["window"]["start"], row["total"]) for row in rows]


def test_a_row_is_late_up_to_the_watermark_of_the_batch_itself(
    spark: SparkSession, tmp_path: Path
) -> None:
    put(tmp_path / "in", input_rows((0, 1)))
    run(windows(spark, tmp_path), tmp_path / "query", "append", str(tmp_path / "out"))
    checkpoint = SparkCheckpoint.load(spark, tmp_path / "query")
    assert checkpoint.evicted is not None
    assert checkpoint.watermark is not None
    assert checkpoint.evicted < checkpoint.watermark
    ends = {
        int(row["end"])
        for row in checkpoint.aggregation(0).selectExpr("unix_millis(window.end) AS end").collect()
    }
    still_open = [end for end in ends if end <= checkpoint.watermark]
    assert min(ends) > checkpoint.evicted
    assert still_open
    assert f"{checkpoint.evicted} ms" in late_rows(checkpoint.evicted)
    late = checkpoint.evicted // 1000 - LENGTH
    row = {"k": "k0", "v": AMOUNT, "d": "1.0", "id": 1}
    in_time = min(still_open) // 1000 - LENGTH
    put(tmp_path / "in", [[{**row, "t": late}, {**row, "t": in_time}, {**row, "t": NOON + 900}]], 2)
    put(tmp_path / "in", [[{**row, "t": NOON + 901}]], 3)
    before = emitted(tmp_path)
    run(windows(spark, tmp_path), tmp_path / "query", "append", str(tmp_path / "out"))
    after = [it for it in emitted(tmp_path) if it not in before]
    assert [total > AMOUNT / 2 for _, total in sorted(after)].count(True) == 1
    assert len(after) == len({*after})
