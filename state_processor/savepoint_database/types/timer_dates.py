"""Times of timers and windows, and the ends of slices of SQL's windows, as timestamps.

In tables, as in Flink, they are milliseconds since the epoch. A timer that never fires has the
largest number; times beyond the range of timestamps become the last or first one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.state_files import StateKind
from savepoint_formats.tables import NAMESPACE, has_slices

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_formats.tables import Table

Times = Literal["numbers", "dates"]
"""Form of times of timers and ends of slices: milliseconds since 1970, or timestamps in UTC."""

TIMESTAMP = "timestamp"
DATE = pa.timestamp("us", "UTC")
_TIME_WINDOW = pa.struct({"start": pa.int64(), "end": pa.int64()})

LAST_MS = (1 << 63) // 1000 - 1
"""The last millisecond in the range of timestamps; -LAST_MS is the first."""


def dated_columns(table: Table, times: Times) -> tuple[str, ...]:
    """Columns of a table whose milliseconds are shown as timestamps."""
    state = table.states[0]
    if times != "dates":
        return ()
    is_timer = state.kind is StateKind.TIMERS
    return (TIMESTAMP,) * is_timer + (NAMESPACE,) * has_slices(state)


def dated_schema(schema: pa.Schema, columns: Iterable[str]) -> pa.Schema:
    """Schema of the batches of ``with_dates``."""
    for index in _indexes(schema, columns):
        schema = schema.set(index, schema.field(index).with_type(DATE))
    return schema


def with_dates(batch: pa.RecordBatch, columns: Iterable[str] = (TIMESTAMP,)) -> pa.RecordBatch:
    """Rows with the times of these columns, if present, as timestamps."""
    arrays = [*batch.columns]
    for index in _indexes(batch.schema, columns):
        arrays[index] = _dates(arrays[index])
    return pa.RecordBatch.from_arrays(arrays, schema=dated_schema(batch.schema, columns))


def for_people(batch: pa.RecordBatch, columns: Iterable[str]) -> pa.RecordBatch:
    """Rows with the times of these columns, and of time windows, as timestamps."""
    dated = with_dates(batch, columns)
    index = dated.schema.get_field_index(NAMESPACE)
    if index < 0 or not dated.schema.field(index).type.equals(_TIME_WINDOW):
        return dated
    windows = dated.column(index)
    names = _TIME_WINDOW.names
    bounds = [_dates(windows.field(name)) for name in names]
    shown = pa.StructArray.from_arrays(bounds, names=names, mask=windows.is_null())
    return dated.set_column(index, NAMESPACE, shown)


def _dates(milliseconds: pa.Array) -> pa.Array:
    late = pc.min_element_wise(milliseconds, LAST_MS, skip_nulls=False)
    return pc.multiply(pc.max_element_wise(late, -LAST_MS, skip_nulls=False), 1000).view(DATE)


def _indexes(schema: pa.Schema, columns: Iterable[str]) -> list[int]:
    indexes = (schema.get_field_index(name) for name in columns)
    return [index for index in indexes if index >= 0]
