"""Rows of a table for people: the first few, or those of a condition."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.rows.row_condition import RowCondition
from savepoint_database.types.spark_values import printable_rows
from savepoint_database.types.sql_names import distinct
from savepoint_database.types.timer_dates import dated_columns, with_dates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_database.types.timer_dates import Times
    from savepoint_formats.scan import TableScan

Rows = list[dict[str, Any]]

_ACCESS = pa.timestamp("ms", "UTC")
_HUGE = pa.decimal128(38, 0)


def first_rows(
    scan: TableScan, limit: int, where: str | None = None, times: Times = "numbers"
) -> Rows:
    """The first rows of a table as plain values; reads no further than it must.

    Times and dates are text, maps are lists of pairs. ``where`` is a condition in SQL, which may use
    columns that are not shown. ``times`` is the form of the times of timers and of access to state with
    TTL, also for the condition.
    """
    names = scan.schema.names
    if where is not None:
        scan = replace(scan, options=replace(scan.options, columns=None))
    batches = scan.batches()
    dated = dated_columns(scan.table, times)
    batches = (with_dates(batch, dated) for batch in batches)
    if scan.options.with_times and times == "numbers":
        batches = map(_with_raw_times, batches)
    if where is not None:
        batches = _filtered(batches, where)
    return list(islice(_rows(batch.select(names) for batch in batches), limit))


def _with_raw_times(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Times of last access, next to each value, in milliseconds since the epoch."""
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


def _filtered(batches: Iterator[pa.RecordBatch], where: str) -> Iterator[pa.RecordBatch]:
    condition = None
    for batch in batches:
        condition = condition or RowCondition.of(where, batch.schema)
        yield condition.filtered(batch)


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from printable_rows(_with_plain_types(batch))


def _with_plain_types(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with 64-bit integers for DuckDB's sums, which have 128 bits, if they fit."""
    columns = [
        column.cast(pa.int64()) if column.type.equals(_HUGE) and _fits(column) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _fits(column: pa.Array) -> bool:
    extremes = pc.min_max(column)
    bounds = [extremes[name].as_py() for name in ("min", "max")]
    return all(bound is None or -(1 << 63) <= bound < 1 << 63 for bound in bounds)


def result_rows(
    schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """Names of the columns and rows of a query's result; repeated names get numbers. See ``first_rows``."""
    names = distinct(schema.names)
    renamed = (pa.RecordBatch.from_arrays(batch.columns, names=names) for batch in batches)
    return names, _rows(renamed)
