"""Rows of a table for people: the first few, those of some keys, or those of a condition."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from savepoint_formats.errors import SavepointError

from state_processor.schema import to_printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.scan import TableScan


class ConditionError(SavepointError):
    """A condition on rows can't be understood, or does not fit the table."""


def first_rows(scan: TableScan, count: int, where: str | None = None) -> list[dict[str, Any]]:
    """The first rows of a table, as plain values; reads no further than it must.

    Args:
        scan: The table, and what of it is read.
        count: How many rows at most.
        where: A condition in SQL on its columns, e.g. ``total > 100 AND key LIKE 'a%'``.

    Returns:
        Dicts of column to value. Times and dates are text, maps are lists of pairs.

    Raises:
        ConditionError: ``where`` can't be understood.
        SavepointError: The table can't be read.
    """
    batches = (batch for split in scan.splits() for batch in scan.read(split))
    chosen = (batch if where is None else _filtered(batch, where) for batch in batches)
    return list(islice(_rows(chosen), count))


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from to_printable(batch).to_pylist()


def _filtered(batch: pa.RecordBatch, where: str) -> pa.RecordBatch:
    """The rows that fulfil a condition, which DuckDB evaluates."""
    import duckdb  # noqa: PLC0415  # for those who have a condition

    numbered = batch.append_column("$row", pa.array(range(batch.num_rows)))
    try:
        found = duckdb.from_arrow(pa.Table.from_batches([numbered])).filter(where)
        rows = found.project('"$row"').fetchnumpy()["$row"]
    except duckdb.Error as error:
        raise ConditionError(f"condition {where!r}: {error}") from error
    return batch.take(pa.array(rows))
