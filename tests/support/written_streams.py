"""Writes checkpoints of streaming queries, beside what the queries gave.

``python -m support.written_streams FOLDER BATCH…``

It runs with any PySpark since 3.5 and imports nothing of this project, because it runs in a virtual
environment with another PySpark than the one that reads. Per query there are ``NAME/``, the checkpoint,
``NAME.json``, its rows in order with times in ms, and ``NAME.error`` if that PySpark can't run it.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from support.stream_queries import (
    HOUR_MS,
    PROVIDERS,
    counted,
    input_rows,
    joined,
    processed,
    put,
    read,
    started,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    _Query = tuple[Callable[[DataFrame], DataFrame], str]

_SETTING = "spark.sql.streaming"
ROCKSDB = {f"{_SETTING}.stateStore.providerClass": PROVIDERS["rocksdb"]}
HDFS = {f"{_SETTING}.stateStore.providerClass": PROVIDERS["hdfs"]}
AVRO = {**ROCKSDB, f"{_SETTING}.stateStore.encodingFormat": "avro"}
CHANGELOG = {
    **ROCKSDB,
    f"{_SETTING}.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
_RELEASE = tuple(map(int, pyspark.__version__.split(".")[:2]))
FORMS = {"rocksdb": ROCKSDB, "hdfs": HDFS, "avro": AVRO, "changelog": CHANGELOG}
"""How state is stored -> the settings for it."""


def aggregated(rows: DataFrame) -> DataFrame:
    """Sums, counts, averages, decimals and lists."""
    return rows.groupBy("k").agg(
        F.sum("v").alias("total"),
        F.avg("v").alias("mean"),
        F.count("v").alias("n"),
        F.sum("d").alias("amount"),
        F.avg("d").alias("amount_mean"),
        F.collect_list("v").alias("numbers"),
        F.collect_list("d").alias("amounts"),
        F.collect_set("k").alias("words"),
        F.max("d").alias("highest"),
        F.stddev("v").alias("spread"),
        F.first("v").alias("earliest"),
        F.max_by("v", "id").alias("best"),
    )


def windows(rows: DataFrame) -> DataFrame:
    """Sums per tumbling window."""
    window = F.window("ts", "30 seconds")
    return _flat(rows.groupBy(window, "k").agg(F.sum("v").alias("total"), F.avg("d").alias("mean")))


def sessions(rows: DataFrame) -> DataFrame:
    """Sums per session."""
    session = F.session_window("ts", "15 seconds").alias("window")
    return _flat(rows.groupBy(session, "k").agg(F.sum("v").alias("total"), F.count("*").alias("n")))


def _flat(table: DataFrame) -> DataFrame:
    ends = [F.unix_millis(F.col("window").getField(name)).alias(name) for name in ("start", "end")]
    return table.select(*ends, *(name for name in table.columns if name != "window"))


def joined_times(rows: DataFrame, others: DataFrame) -> DataFrame:
    """The outer join, with times in ms."""
    times = {name: F.unix_millis(name) for name in ("ts", "rt")}
    return joined(rows, others).withColumns(times)


QUERIES: dict[str, _Query] = {
    "aggregated": (aggregated, "update"),
    "windows": (windows, "update"),
    "sessions": (sessions, "append"),
    "distinct": (lambda rows: rows.dropDuplicates(["k", "id"]).drop("ts"), "append"),
    "within": (
        lambda rows: rows.dropDuplicatesWithinWatermark(["k", "id"]).drop("ts"),
        "append",
    ),
    "counted": (counted, "update"),
}
PROCESSORS: dict[str, _Query] = {
    "timed": (lambda rows: processed(rows, "eventTime"), "update"),
    "expiring": (lambda rows: processed(rows, "processingTime", HOUR_MS), "update"),
}
"""Query -> what it does to the rows, and its mode of output; those of ``PROCESSORS`` since PySpark 4.0."""


def main(folder: Path, batches: list[int]) -> None:
    """Runs all queries over a file of rows per batch; with later batches, those that have begun."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    spark = builder.config("spark.driver.memory", "1g").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    folder.mkdir(parents=True, exist_ok=True)
    put(folder / "in", input_rows(batches), batches[0])
    rows, others = read(spark, folder / "in"), read(spark, folder / "in")
    for form, settings in FORMS.items():
        # Spark takes Avro for the state of no other operator.
        queries = {} if form == "avro" else QUERIES
        if _RELEASE >= (4, 0) and form != "hdfs":
            queries = {**queries, **PROCESSORS}
        runs = [(f"{name}-{form}", *query, settings) for name, query in queries.items()]
        for version in () if form == "avro" else ("2", "3", "4"):
            versioned = {**settings, f"{_SETTING}.join.stateFormatVersion": version}
            name = f"joined{version}-{form}"
            runs.append((name, lambda it: joined_times(it, others), "append", versioned))
        for name, query, mode, own in runs:
            if batches[0] == 0 or (folder / name).exists():
                _write(folder / name, query, rows, mode, own)
    spark.stop()


def _write(
    place: Path,
    query: Callable[[DataFrame], DataFrame],
    rows: DataFrame,
    mode: str,
    settings: dict[str, str],
) -> None:
    answer = place.with_suffix(".json")

    def append(batch: DataFrame, _: int) -> None:
        with answer.open("a", encoding="utf-8") as file:
            for row in batch.collect():
                file.write(json.dumps(row.asDict(recursive=True), default=str) + "\n")

    try:
        started(query(rows), place, mode, append, "", **settings).awaitTermination()
    except Exception as error:  # which queries a release runs is what is asked
        place.with_suffix(".error").write_text(str(error), "utf-8")
        answer.unlink(missing_ok=True)
        shutil.rmtree(place, ignore_errors=True)
        print(place.name, "failed:", str(error)[:200].replace("\n", " "), flush=True)
        return
    print(place.name, "written", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(word) for word in sys.argv[2:]])
