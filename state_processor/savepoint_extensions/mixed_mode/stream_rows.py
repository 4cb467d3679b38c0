"""Rows of a stream on their way to Spark's state store: packed, with the bytes of their key.

A micro-batch of Arrow becomes a row per key, with the rows of that key in the order of their
arrival. So Spark shuffles one row per key and batch, and a function gets the same Python values in
a stream as in a bounded run.

| column  | type   | meaning                                                                    |
|---------|--------|----------------------------------------------------------------------------|
| key     | BINARY | the key, as its serializer writes it                                       |
| arrival | BIGINT | grows in the order in which rows come, within a partition of the input     |
| rows    | BINARY | a ``Packet``, pickled; null only wakes the key up, so that its timers fire |
| group   | INT    | the key group of the key                                                   |

A packet goes from one worker of a query to another, like the function itself. Nothing from a
file or a savepoint is ever unpickled.

Two inputs are packed separately, and a packet has the number of its input. Spark knows no order
between two streams: within a micro-batch, the rows of the first input come first.

Spark's timers know one kind of time in a query: here event time. So the driver looks in
the state store for keys with due timers of processing time. It writes them, as rows without
content, to files in a directory that the query reads. A key that wakes up twice, or for
nothing, does nothing. So no failure makes a timer fire twice, or lose it.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import functions as F

from savepoint_extensions.mixed_mode.spark_paths import readable
from savepoint_extensions.mixed_mode.stored_backend import PROCESSING_TIMERS
from savepoint_extensions.mixed_mode.watermarks import MAX_MILLISECONDS, TICK
from savepoint_formats.hashing import hashed_key_groups
from savepoint_formats.locations import Location
from savepoint_functions.functions import (
    KEY,
    KEY_GROUP,
    TIMESTAMP,
    KeyEncoding,
    decoded_keys,
    input_tuples,
    key_starts,
    plain_list,
    python_keys,
)
from savepoint_spark.columns import spark_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark import Accumulator
    from pyspark.sql import Column, DataFrame, SparkSession

    from savepoint_extensions.mixed_mode.watermarks import InputWatermarks
    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.layout import Layout
    from savepoint_functions.functions import KeyedInput


ARRIVAL, ROWS, GROUP = "arrival", "rows", "group"
PACKED = pa.schema(
    [(KEY, pa.binary()), (ARRIVAL, pa.int64()), (ROWS, pa.binary()), (GROUP, pa.int32())]
)

_WATERMARK = "watermark"
# Enough for the keys of a partition of a micro-batch, and for its partitions.
_ARRIVAL_BITS, _PARTITION_BITS = 40, 22


class Packet(NamedTuple):
    """Rows of one key and input, in the order of their arrival, with timestamps in ms."""

    number: int
    key: Any
    timestamps: list[int | None]
    rows: list[tuple[Any, ...]]

    @classmethod
    def read(cls, data: bytes) -> Packet:
        return cls(*pickle.loads(data))

    def write(self) -> bytes:
        return pickle.dumps(tuple(self), pickle.HIGHEST_PROTOCOL)


def packed_rows(
    inputs: tuple[KeyedInput, ...],
    out_of_orderness_ms: int,
    max_parallelism: int,
    watermarks: InputWatermarks,
) -> DataFrame:
    """The packed rows of all inputs, with the least of their watermarks.

    Spark drops late rows if it knows the column of the watermark, but a process function of Flink
    sees them. So the column ends here, and the watermark goes on without it. Without timestamps in
    an input, there is no watermark. ``watermarks`` gets the progress of each input.
    """
    packed = []
    for number, rows in enumerate(inputs):
        layout = rows.key.snapshot.layout()
        encoding = KeyEncoding(layout, max_parallelism, rows.key.hash_code)
        packing = RowPacking(
            layout, encoding, number, watermarks.reached[number], out_of_orderness_ms
        )
        ticks = watermarks.ticks(rows.data.sparkSession, number)
        timed = _timed(rows, ticks, out_of_orderness_ms)
        packed.append(timed.mapInArrow(packing.run, spark_schema(PACKED)))
    return reduce(lambda rows, other: rows.unionAll(other), packed)


def _timed(source: KeyedInput, ticks: DataFrame | None, out_of_orderness_ms: int) -> DataFrame:
    """The rows of an input with its watermark, and rows of ``watermarks`` that have nothing else."""
    rows = source.columns(0, (source,))
    timed = rows.withColumn(_WATERMARK, F.timestamp_millis(_behind(source, out_of_orderness_ms)))
    if ticks is not None:
        timed = timed.withColumn(TICK, F.lit(None).cast("bigint"))
        of_tick = {_WATERMARK: F.timestamp_millis(TICK), TICK: F.col(TICK)}
        nothing = (
            of_tick.get(field.name, F.lit(None).cast(field.dataType)).alias(field.name)
            for field in timed.schema
        )
        timed = timed.unionAll(ticks.select(*nothing))
    return timed.withWatermark(_WATERMARK, "0 seconds")


def _behind(source: KeyedInput, out_of_orderness_ms: int) -> Column:
    if source.timestamps is None:
        # While one input is at 0, so is Spark's watermark, which means none.
        return F.lit(0)
    behind = F.col(TIMESTAMP) - F.lit(out_of_orderness_ms + 1)
    return F.greatest(F.least(behind, F.lit(MAX_MILLISECONDS)), F.lit(-MAX_MILLISECONDS))


def _without_ticks(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.filter(batch.column(TICK).is_null()) if TICK in batch.schema.names else batch


@dataclass(frozen=True, slots=True)
class RowPacking:
    """Packs the rows of the input with this number; ``reached`` learns their watermark, in ms."""

    key: Layout
    encoding: KeyEncoding
    number: int
    reached: Accumulator[int]
    out_of_orderness_ms: int

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The packed rows of a partition."""
        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        arrival = (self.number << _PARTITION_BITS | partition) << _ARRIVAL_BITS
        without_ticks = map(_without_ticks, batches)
        for batch in self.encoding.run(batch for batch in without_ticks if batch.num_rows):
            self._tell(batch)
            # A stable sort keeps the order of a key's rows.
            packed = self._packed(batch.take(pc.sort_indices(batch.column(KEY))), arrival)
            arrival += packed.num_rows
            yield packed

    def _tell(self, batch: pa.RecordBatch) -> None:
        if TIMESTAMP in batch.schema.names:
            latest = pc.max(batch.column(TIMESTAMP)).as_py()
            if latest is not None:
                self.reached.add(latest - self.out_of_orderness_ms - 1)

    def _packed(self, batch: pa.RecordBatch, arrival: int) -> pa.RecordBatch:
        keys = batch.column(KEY)
        starts = key_starts(keys)
        distinct = keys.take(pa.array(starts))
        key_groups = batch.column(KEY_GROUP).take(pa.array(starts))
        bounds = [*starts.tolist(), batch.num_rows]
        is_timed = TIMESTAMP in batch.schema.names
        times = plain_list(batch.column(TIMESTAMP)) if is_timed else [None] * batch.num_rows
        rows = list(input_tuples(batch, 0))
        packets = [
            Packet(self.number, key, times[start:end], rows[start:end]).write()
            for key, start, end in zip(
                python_keys(decoded_keys(self.key, distinct)), bounds[:-1], bounds[1:], strict=True
            )
        ]
        arrivals = pa.array(range(arrival, arrival + len(packets)), pa.int64())
        columns = [distinct, arrivals, pa.array(packets, pa.binary()), key_groups]
        return pa.RecordBatch.from_arrays(columns, schema=PACKED)


_KEY_COLUMN = f"{KEY} BINARY"


def woken_keys(
    spark: SparkSession, directory: str, key: Layout, hash_keys: HashKeys | None, key_groups: int
) -> DataFrame:
    """The keys in a directory, as a stream of rows without content; see ``stream_rows``."""
    location = Location.of(directory)
    location.filesystem.create_dir(location.path)
    files = spark.readStream.schema(_KEY_COLUMN).option("cleanSource", "delete")
    keys = files.option("recursiveFileLookup", "true").parquet(readable(spark, directory))
    without_content = partial(_without_content, key, hash_keys, key_groups)
    return keys.mapInArrow(without_content, spark_schema(PACKED))


def _without_content(
    key: Layout, hash_keys: HashKeys | None, key_groups: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        keys, count = batch.column(0), batch.num_rows
        groups = hashed_key_groups(key, decoded_keys(key, keys), key_groups, hash_keys)
        columns = [
            keys.cast(pa.binary()),
            pa.array(np.zeros(count, np.int64)),
            pa.nulls(count, pa.binary()),
            pa.array(groups.astype(np.int32)),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=PACKED)


def wake_up(keys: DataFrame, directory: str, now: int) -> int | None:
    """Wakes up the keys of ``stored_keys`` with a timer of processing time up to ``now``, in ms.

    Returns the first later timer of processing time, in ms; None if there is none.
    """
    pending = keys.select(KEY, F.array_min(PROCESSING_TIMERS).alias("first")).where(
        "first IS NOT NULL"
    )
    later = F.min(F.when(F.col("first") > now, F.col("first"))).alias("later")
    wake_up_row = pending.agg(F.count_if(F.col("first") <= now).alias("due"), later).collect()[0]
    if wake_up_row["due"]:
        path = f"{directory.rstrip('/')}/{uuid4().hex}"
        pending.where(F.col("first") <= now).select(KEY).coalesce(1).write.parquet(path)
    later_timer: int | None = wake_up_row["later"]
    return later_timer
