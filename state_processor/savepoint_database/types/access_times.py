"""Times of last access of state with TTL, as numbers instead of timestamps.

Each value comes with such a time in a struct of ``timestamp`` and ``value``; in lists and maps, each
element does.
"""

from __future__ import annotations

import pyarrow as pa

_ACCESS = pa.timestamp("ms", "UTC")


def with_raw_times(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows that were read ``with_times``, with times in milliseconds since the epoch."""
    schema = pa.schema([field.with_type(_raw(field.type)) for field in batch.schema])
    columns = (
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    )
    return pa.RecordBatch.from_arrays(list(columns), schema=schema)


def _raw(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_map(kind):
        return pa.map_(kind.key_field, kind.item_field.with_type(_raw(kind.item_type)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_raw(kind.value_type)))
    if pa.types.is_struct(kind) and [field.name for field in kind] == ["timestamp", "value"]:
        time, value = kind
        return pa.struct([time.with_type(pa.int64()), value]) if time.type == _ACCESS else kind
    return kind
