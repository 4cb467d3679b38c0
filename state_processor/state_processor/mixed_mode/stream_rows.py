"""Rows of a stream on their way to Spark's state store: packed, with the bytes of their key.

A micro-batch of Arrow becomes a row per key, which has the rows of that key in the order in which
they came. So Spark shuffles a row per key and batch, and a function gets the same Python values
in a stream as in a bounded run.

| column  | type   | meaning                                                                    |
|---------|--------|----------------------------------------------------------------------------|
| key     | BINARY | what the serializer of keys writes                                         |
| arrival | BIGINT | grows in the order in which rows come, within a partition of the input     |
| rows    | BINARY | the key as a function sees it, timestamps and rows, pickled; null only     |
|         |        | wakes the key up, so that its timers fire                                  |
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import functions as F

from state_processor.jobs.key_spans import (
    decoded_keys,
    input_tuples,
    key_starts,
    plain_list,
    python_keys,
)
from state_processor.jobs.sorted_inputs import KEY, TIMESTAMP, KeyEncoding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from savepoint_formats.layout import Layout
    from state_processor.jobs.sorted_inputs import KeyedInput

ARRIVAL, ROWS = "arrival", "rows"
PACKED = f"{KEY} BINARY, {ARRIVAL} BIGINT, {ROWS} BINARY"
_PACKED_SCHEMA = pa.schema([(KEY, pa.binary()), (ARRIVAL, pa.int64()), (ROWS, pa.binary())])

_WATERMARK = "watermark"
# Spark counts time in microseconds.
_MAX_MILLISECONDS = (2**63 - 1) // 1000
# More keys than a partition of a micro-batch has.
_ARRIVAL_BITS = 40


def packed_rows(source: KeyedInput, out_of_orderness_ms: int) -> DataFrame:
    """The rows of a stream, packed, and with a watermark.

    Spark drops late rows where it knows which column the watermark is of. A process function of
    Flink sees them; so the column ends here, and the watermark goes on without it.

    Args:
        source: The rows, with timestamps.
        out_of_orderness_ms: How much later than one with a later timestamp a row may come.
    """
    behind = F.col(TIMESTAMP) - F.lit(out_of_orderness_ms + 1)
    at = F.greatest(F.least(behind, F.lit(_MAX_MILLISECONDS)), F.lit(-_MAX_MILLISECONDS))
    timed = source.columns(0, (source,)).withColumn(_WATERMARK, F.timestamp_millis(at))
    layout = source.key.snapshot.layout()
    packing = RowPacking(layout, KeyEncoding(layout, 1, source.key.hash_code))
    return timed.withWatermark(_WATERMARK, "0 seconds").mapInArrow(packing.run, PACKED)


@dataclass(frozen=True, slots=True)
class RowPacking:
    """How rows are packed.

    Attributes:
        key: The layout of keys.
        encoding: Makes bytes of them.
    """

    key: Layout
    encoding: KeyEncoding

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The packed rows of a partition."""
        context = TaskContext.get()
        arrival = (context.partitionId() if context else 0) << _ARRIVAL_BITS
        for batch in self.encoding.run(one for one in batches if one.num_rows):
            # Sorting is stable: the rows of a key stay in their order.
            packed = self._packed(batch.take(pc.sort_indices(batch.column(KEY))), arrival)
            arrival += packed.num_rows
            yield packed

    def _packed(self, batch: pa.RecordBatch, arrival: int) -> pa.RecordBatch:
        keys = batch.column(KEY)
        starts = key_starts(keys)
        distinct = keys.take(pa.array(starts))
        bounds = [*starts.tolist(), batch.num_rows]
        times = plain_list(batch.column(TIMESTAMP))
        rows = list(input_tuples(batch, 0))
        packets = [
            pickle.dumps((key, times[start:end], rows[start:end]), pickle.HIGHEST_PROTOCOL)
            for key, start, end in zip(
                python_keys(decoded_keys(self.key, distinct)), bounds[:-1], bounds[1:], strict=True
            )
        ]
        arrivals = pa.array(range(arrival, arrival + len(packets)), pa.int64())
        columns = [distinct, arrivals, pa.array(packets, pa.binary())]
        return pa.RecordBatch.from_arrays(columns, schema=_PACKED_SCHEMA)


def unpacked(packet: bytes) -> tuple[Any, list[int | None], list[tuple[Any, ...]]]:
    """The key, the timestamps and the rows of a value of ``ROWS``."""
    found: tuple[Any, list[int | None], list[tuple[Any, ...]]] = pickle.loads(packet)
    return found
