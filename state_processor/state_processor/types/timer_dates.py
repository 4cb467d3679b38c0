"""Times of timers and of windows as timestamps.

In tables, as in Flink, they are milliseconds since the epoch. A timer that is never to fire has
the largest number there is: a time beyond the timestamps of microseconds is the last of them.
"""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.state_files.state import StateKind

Times = Literal["numbers", "dates"]
"""What the times of timers are: milliseconds since the epoch, or timestamps in UTC."""

TIMESTAMP = "timestamp"
DATE = pa.timestamp("us", "UTC")
_NAMESPACE = "namespace"
_TIME_WINDOW = pa.struct({"start": pa.int64(), "end": pa.int64()})

LAST_MS = (1 << 63) // 1000 - 1
"""The last millisecond that a timestamp of microseconds has; that of -LAST_MS is the first."""


def are_dates(kind: StateKind, times: Times) -> bool:
    """Whether a table of this kind of state has its times as timestamps."""
    return kind is StateKind.TIMERS and times == "dates"


def dated_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of what ``with_dates`` gives."""
    index = schema.get_field_index(TIMESTAMP)
    return schema if index < 0 else schema.set(index, schema.field(index).with_type(DATE))


def with_dates(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Timers with their times as timestamps."""
    index = batch.schema.get_field_index(TIMESTAMP)
    if index < 0:
        return batch
    return batch.set_column(index, TIMESTAMP, _dates(batch.column(index)))


def for_people(batch: pa.RecordBatch, kind: StateKind, times: Times = "dates") -> pa.RecordBatch:
    """Rows of a table of this kind with the times of timers and of time windows as timestamps."""
    if times == "numbers":
        return batch
    dated = with_dates(batch) if are_dates(kind, times) else batch
    index = dated.schema.get_field_index(_NAMESPACE)
    if index < 0 or not dated.schema.field(index).type.equals(_TIME_WINDOW):
        return dated
    windows = dated.column(index)
    bounds = [_dates(windows.field(name)) for name in _TIME_WINDOW.names]
    names = _TIME_WINDOW.names
    shown = pa.StructArray.from_arrays(bounds, names=names, mask=windows.is_null())
    return dated.set_column(index, _NAMESPACE, shown)


def _dates(milliseconds: pa.Array) -> pa.Array:
    near = pc.max_element_wise(pc.min_element_wise(milliseconds, LAST_MS), -LAST_MS)
    return pc.multiply(near, 1000).view(DATE)
