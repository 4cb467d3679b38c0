"""Two stateful operators of one query, each with its own rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from support.stream_queries import NOON, input_rows, put, read, run

from state_processor import SparkCheckpoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_windows_of_windows_are_apart(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "in", input_rows())
    rows = read(spark, tmp_path / "in")
    short = rows.groupBy(F.window("ts", "30 seconds"), "k").agg(F.sum("v").alias("total"))
    hours = F.window(F.window_time("window"), "1 hour")
    longer = short.groupBy(hours, "k").agg(F.count("*"), F.sum("total"))
    run(longer, tmp_path / "query", "append")
    checkpoint = SparkCheckpoint.load(spark, tmp_path / "query")
    assert [it.states for it in checkpoint.operators] == [("count", "sum"), ("sum",)]
    # The watermark of the second batch is 67 seconds after noon: it has emitted two windows of each key.
    emitted, waiting = Counter[str](), Counter[tuple[int, str]]()
    for batch in input_rows():
        for row in batch:
            start = (row["t"] - NOON) // 30 * 30
            if start < 60:
                emitted[row["k"]] += row["v"]
            else:
                waiting[start, row["k"]] += row["v"]
    hourly = checkpoint.aggregation(0, n="count", total="sum").collect()
    assert {(row["k"], row["n"], row["total"]) for row in hourly} == {
        (key, 2, value) for key, value in emitted.items()
    }
    table = checkpoint.aggregation(1, total="sum")
    table = table.selectExpr("unix_seconds(window.start) AS start", "k", "total")
    answers = {(row["start"] - NOON, row["k"]): row["total"] for row in table.collect()}
    assert answers == waiting
