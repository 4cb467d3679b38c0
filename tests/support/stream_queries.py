"""Streaming queries that a real Spark runs over files of rows, for their checkpoints."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

NOON = 1_709_294_400
"""In seconds since the epoch."""
HOUR_MS = 3_600_000
DELAY_MS = 10_000
"""How far the watermark is behind."""
_STATE = "org.apache.spark.sql.execution.streaming.state"
PROVIDERS = {
    "rocksdb": f"{_STATE}.RocksDBStateStoreProvider",
    "hdfs": f"{_STATE}.HDFSBackedStateStoreProvider",
}


def input_rows(batches: Sequence[int] = (0, 1)) -> list[list[dict[str, Any]]]:
    """Rows of some batches: an account, a number, an amount, a time in seconds, an id."""
    return [
        [
            {
                "k": f"k{i % 3}",
                "v": i + 10 * b - 3,
                "d": f"{i}.5",
                "t": NOON + 60 * b + 7 * i,
                "id": (7 * i + b) % 11,
            }
            for i in range(12)
        ]
        for b in batches
    ]


def put(folder: Path, rows: Sequence[Sequence[dict[str, Any]]], first: int = 0) -> None:
    """Writes a file per batch."""
    folder.mkdir(exist_ok=True)
    for number, batch in enumerate(rows, first):
        text = "\n".join(json.dumps(row) for row in batch)
        file = folder / f"{number:03}.json"
        file.write_text(text, "utf-8")
        # Spark reads files in the order of their times.
        os.utime(file, (NOON + number, NOON + number))


def read(spark: SparkSession, folder: Path) -> DataFrame:
    """The stream of rows, a batch per file, with event time and watermark."""
    schema = "k STRING, v BIGINT, d DECIMAL(10, 2), t BIGINT, id INT"
    files = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))
    timed = files.withColumn("ts", F.timestamp_seconds("t"))
    return timed.withWatermark("ts", f"{DELAY_MS} milliseconds")


def run(  # the options of a query
    rows: DataFrame,
    checkpoint: Path,
    mode: str = "update",
    sink: str | None = None,
    **settings: str,
) -> None:
    """Runs a query until all files are read; a further batch without rows moves no watermark."""
    started(rows, checkpoint, mode, sink, "json", **settings).awaitTermination()


def started(  # the options of a query
    rows: DataFrame,
    checkpoint: Path,
    mode: str,
    sink: str | Callable[[DataFrame, int], None] | None,
    form: str,
    **settings: str,
) -> StreamingQuery:
    """A query that has begun to read all files, as of ``run``."""
    spark = rows.sparkSession
    settings = {
        "spark.sql.streaming.stateStore.providerClass": PROVIDERS["rocksdb"],
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        **settings,
    }
    before: dict[str, str | None] = {name: spark.conf.get(name, None) for name in settings}
    for name, setting in settings.items():
        spark.conf.set(name, setting)
    try:
        writer = rows.writeStream.outputMode(mode).option("checkpointLocation", str(checkpoint))
        if callable(sink):
            writer = writer.foreachBatch(sink)
        elif sink is None:
            writer = writer.format("noop")
        else:
            writer = writer.format(form).option("path", sink)
        # The query has its own copy of the settings from here on.
        return writer.trigger(availableNow=True).start()
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def joined(rows: DataFrame, others: DataFrame) -> DataFrame:
    """An outer join of two streams by account, within 20 seconds."""
    left = rows.select(F.col("k").alias("lk"), "v", "ts")
    right = others.where("id % 2 = 0").select("k", "id", F.col("ts").alias("rt"))
    near = "rt BETWEEN ts - interval 20 seconds AND ts + interval 20 seconds"
    return left.join(right, F.expr(f"lk = k AND {near}"), "leftOuter")


def counted(rows: DataFrame) -> DataFrame:
    """``applyInPandasWithState``: the number of rows, and a timeout in event time."""

    def count(key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
        number = state.get[0] if state.exists else 0
        number += sum(map(len, frames))
        state.update((number,))
        state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + HOUR_MS)
        yield pd.DataFrame({"k": [key[0]], "n": [number]})

    return rows.groupBy("k").applyInPandasWithState(
        count, "k STRING, n BIGINT", "n BIGINT", "update", "EventTimeTimeout"
    )


def processed(rows: DataFrame, mode: str, ttl_ms: int | None = None) -> DataFrame:
    """``transformWithStateInPandas``: a value, a list, a map, and a timer per row an hour later."""
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor  # noqa: PLC0415  # since 4.0

    class Accounts(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.handle = handle
            self.total = handle.getValueState("total", "n BIGINT, last BIGINT")
            self.seen = handle.getListState("seen", "v BIGINT")
            self.by_id = handle.getMapState("by_id", "id INT", "v BIGINT", ttlDurationMs=ttl_ms)

        def handleInputRows(  # noqa: N802  # Spark calls it so
            self,
            key: Any,
            rows: Any,
            timerValues: Any,  # noqa: N803
        ) -> Iterator[pd.DataFrame]:
            number, last = self.total.get() if self.total.exists() else (0, 0)
            for frame in rows:
                for row in frame.itertuples():
                    number, last = number + 1, int(row.v)
                    self.seen.appendValue((last,))
                    self.by_id.updateValue((int(row.id),), (last,))
                    if mode == "eventTime":
                        self.handle.registerTimer(int(row.t) * 1000 + HOUR_MS)
            self.total.update((number, last))
            yield pd.DataFrame({"k": [key[0]], "n": [number]})

        def handleExpiredTimer(  # noqa: N802  # as above
            self,
            key: Any,
            timerValues: Any,  # noqa: N803
            expiredTimerInfo: Any,  # noqa: N803
        ) -> Iterator[pd.DataFrame]:
            yield pd.DataFrame({"k": [key[0]], "n": [-1]})

        def close(self) -> None:
            pass

    return rows.groupBy("k").transformWithStateInPandas(
        Accounts(), "k STRING, n BIGINT", "update", mode
    )
