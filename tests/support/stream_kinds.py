"""A streaming query for each kind of state, whose lines are those of an operator of ``MovedJob.java``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from support import stream_processors as processors
from support.stream_queries import DELAY_MS, NOON, PROVIDERS, started

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession

OF_FUNCTIONS = ("groups", "accounts", "visits")

ROCKSDB_ALONE = ("accounts", "visits")
"""``transformWithState`` needs the provider RocksDB."""

AS_HDFS = ("windows", "sessions", "distinct", "outer")
"""Kinds whose state is HDFS-backed by day; the others have RocksDB then, and at night it is the other way."""

OF_HDFS = {
    "spark.sql.streaming.stateStore.providerClass": PROVIDERS["hdfs"],
    # The formats above need several stores in one.
    "spark.sql.streaming.join.stateFormatVersion": "2",
}
OF_ROCKSDB = {"spark.sql.streaming.join.stateFormatVersion": "4"}


def rows_of(batches: Sequence[int]) -> list[list[dict[str, Any]]]:
    """Rows of some batches: an account, a number, a time in seconds, an id, a request.

    The first row of a batch is six seconds earlier than the last of the one before. So no row is late for
    either engine, and windows, sessions and requests lie across the border.
    """
    return [
        [
            {
                "k": f"k{i % 3}",
                "v": i + 10 * b - 3,
                "t": NOON + 60 * b + 6 * i,
                "id": (7 * i + b) % 11,
                "r": _request(b, i),
            }
            for i in range(12)
        ]
        for b in batches
    ]


def _request(batch: int, row: int) -> str:
    """Most are new; one is that of seconds before, and one that of two batches before, long forgotten."""
    if row == 0 and batch > 0:
        return f"{batch - 1}-11"
    return f"{batch - 2}-5" if row == 5 and batch > 1 else f"{batch}-{row}"


def as_lines(batches: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
    """The rows as ``MovedJob`` reads them."""
    return [
        f"{it['k']}\t{it['v']}\t{it['t'] * 1000}\t{it['id']}\t{it['r']}"
        for batch in batches
        for it in batch
    ]


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    """The stream of rows, a batch per file, with event time and watermark."""
    schema = "k STRING, v BIGINT, t BIGINT, id INT, r STRING"
    files = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))
    timed = files.withColumn("ts", F.timestamp_seconds("t"))
    return timed.withWatermark("ts", f"{DELAY_MS} milliseconds")


def queries(rows: DataFrame, others: DataFrame) -> dict[str, DataFrame]:
    """Name of a kind -> its query."""
    word = F.concat(F.lit("w"), "id")
    return {
        "totals": rows.groupBy("k").agg(
            F.sum("v"), F.count("v"), F.collect_list("v"), F.collect_set(word)
        ),
        "windows": _windows(rows, "windows", F.window("ts", "30 seconds")),
        "sliding": _windows(rows, "sliding", F.window("ts", "30 seconds", "10 seconds")),
        "sessions": rows.groupBy("k", F.session_window("ts", "15 seconds").alias("w"))
        .agg(F.sum("v").alias("total"))
        .select(_line("sessions", "k", *_bounds(), "total")),
        "distinct": rows.dropDuplicates(["k", "id"]).select(_line("distinct", "k", "id")),
        "within": within(rows, "within", "r"),
        "outer": _outer(rows, others),
        "groups": processors.groups(rows),
        "accounts": processors.with_state(rows, processors.Accounts(), "k"),
        "visits": processors.with_state(rows, processors.Visits(), "k", mode="processingTime"),
    }


def within(rows: DataFrame, name: str, key: str) -> DataFrame:
    """Rows whose key was not seen within the watermark."""
    return rows.dropDuplicatesWithinWatermark([key]).select(
        _line(name, key, F.unix_millis(F.timestamp_seconds("t")))
    )


def run_all(queries: Mapping[str, DataFrame], folder: Path, is_hdfs: Sequence[str] = ()) -> None:
    """Runs queries side by side, until all files are read; those without lines give nothing."""
    running = []
    for name, query in queries.items():
        has_lines = query.columns == ["line"]
        mode, sink = ("append", str(folder / f"{name} out")) if has_lines else ("update", None)
        settings = OF_HDFS if name in is_hdfs else OF_ROCKSDB
        running.append(started(query, folder / name, mode, sink, "text", **settings))
    for begun in running:
        begun.awaitTermination()


def run_in_turn(
    queries: Mapping[str, DataFrame], folder: Path, is_hdfs: Sequence[str] = ()
) -> None:
    """As ``run_all`` for queries of functions, whose workers in Python give up if many start at once."""
    for name, query in queries.items():
        run_all({name: query}, folder, is_hdfs)


def given(folder: Path) -> list[str]:
    """The lines that the queries gave, those of each in their order."""
    files = sorted(folder.glob("* out/*.txt"), key=lambda file: file.stat().st_mtime_ns)
    return [line for file in files for line in file.read_text("utf-8").splitlines()]


def _windows(rows: DataFrame, name: str, window: Column) -> DataFrame:
    sums = F.sum("v").alias("total"), F.count("v").alias("n")
    pair = F.format_string("(%d,%d)", "total", "n")
    grouped = rows.groupBy("k", window.alias("w")).agg(*sums)
    return grouped.select(_line(name, "k", *_bounds(), pair))


def _outer(rows: DataFrame, others: DataFrame) -> DataFrame:
    left = rows.select(F.col("k").alias("lk"), "v", "ts")
    right = others.where("id % 2 = 0").select("k", "id", F.col("ts").alias("rt"))
    near = "rt BETWEEN ts - interval 20 seconds AND ts + interval 20 seconds"
    joined = left.join(right, F.expr(f"lk = k AND {near}"), "leftOuter")
    return joined.select(_line("outer", "lk", "v", "id"))


def _bounds() -> tuple[Column, Column]:
    return F.unix_millis("w.start"), F.unix_millis("w.end")


def _line(name: str, *columns: str | Column) -> Column:
    return F.format_string(" ".join([name, *["%s"] * len(columns)]), *columns).alias("line")
