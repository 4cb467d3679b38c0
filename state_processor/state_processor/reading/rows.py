"""Rows of a table for people: the first few, those of some keys, or those of a condition."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_formats.errors import ConditionError, QueryError
from state_processor.types.spark_values import to_comparable, to_printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    from savepoint_formats.scan.scan import TableScan

Rows = list[dict[str, Any]]


def first_rows(scan: TableScan, limit: int, where: str | None = None) -> Rows:
    """The first rows of a table, as plain values; reads no further than it must.

    Args:
        scan: The table, and what of it is read.
        limit: How many rows at most.
        where: A condition in SQL, e.g. ``total > 100 AND key LIKE 'a%'``; may be about columns
            that are not wanted.

    Returns:
        Dicts of column to value. Times and dates are text, maps are lists of pairs.

    Raises:
        ConditionError: ``where`` can't be understood.
        SavepointError: The table can't be read.
    """
    names = scan.schema.names
    if where is not None:
        scan = replace(scan, options=replace(scan.options, columns=None))
    batches = (batch for split in scan.splits() for batch in scan.read(split))
    chosen = (batch if where is None else _filtered(batch, where) for batch in batches)
    return list(islice(_rows(batch.select(names) for batch in chosen), limit))


def printable_rows(batch: pa.RecordBatch) -> Rows:
    """Rows as plain values: times and dates are text, maps are lists of pairs."""
    rows: Rows = to_printable(batch).to_pylist()
    return rows


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from printable_rows(batch)


def _filtered(batch: pa.RecordBatch, where: str) -> pa.RecordBatch:
    """The rows that fulfil a condition, which DuckDB evaluates."""
    import duckdb  # noqa: PLC0415  # for those who have a condition

    number = _unused("$row", batch.schema.names)
    numbered = to_comparable(batch).append_column(number, pa.array(range(batch.num_rows)))
    try:
        chosen = duckdb.from_arrow(pa.Table.from_batches([numbered])).filter(where)
        rows = chosen.project(f'"{number}"').fetchnumpy()[number]
    except duckdb.Error as error:
        # Behind it comes the place in a statement that the user did not write.
        reason = " ".join(str(error).partition("LINE ")[0].split())
        raise ConditionError(f"condition {where!r}: {reason}") from error
    return batch.take(pa.array(rows))


def _unused(name: str, names: list[str]) -> str:
    """The name, or it with as much in front as it takes to be none of those, in any case."""
    taken = {other.casefold() for other in names}
    while name.casefold() in taken:
        name = f"${name}"
    return name


def query_rows(
    spark: SparkSession, query: str, limit: int, unread: Mapping[str, str] | None = None
) -> tuple[list[str], Rows]:
    """The first rows of a query in Spark SQL, as plain values.

    Args:
        spark: The session.
        query: The query.
        limit: How many rows at most.
        unread: Name in SQL of a table -> why it can't be read, as ``unread_views`` gives them.

    Returns:
        The names of the columns, each with a number behind it that was there before; dicts of
        column to value, as ``first_rows`` has them.

    Raises:
        QueryError: The query can't be understood, or a table can't be read.
    """
    from pyspark.errors import PySparkException  # noqa: PLC0415  # Spark is slow to import

    try:
        table = spark.sql(query).limit(limit).toArrow()
    except PySparkException as error:
        raise QueryError(_unread_reason(error, unread or {}) or _reason(error)) from error
    names = _distinct(table.schema.names)
    return names, list(_rows(iter(table.rename_columns(names).to_batches())))


def _unread_reason(error: PySparkException, unread: Mapping[str, str]) -> str | None:
    """Why the table that Spark has not found can't be read, if it is one of those."""
    if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    wanted = (error.getMessageParameters() or {}).get("relationName", "").replace("`", "")
    database = wanted.casefold().partition(".")[0]
    reasons = [
        f"{name}: {reason}"
        for name, reason in unread.items()
        if name.replace("`", "").casefold().partition(".")[0] == database
    ]
    return (
        f"there is no table {wanted}; could not be read: {'; '.join(reasons)}" if reasons else None
    )


def _reason(error: PySparkException) -> str:
    """What went wrong in one line: the error of a savepoint if it is one, or Spark's."""
    lines = str(error).strip().splitlines()
    ours = [line for line in lines if line.startswith(_PACKAGES)]
    return ours[-1].partition(": ")[2] if ours else lines[0]


_PACKAGES = ("savepoint_formats.", "state_processor.")


def _distinct(names: list[str]) -> list[str]:
    distinct: list[str] = []
    for name in names:
        candidates = chain([name], (f"{name}_{number}" for number in count(2)))
        distinct.append(next(one for one in candidates if one not in distinct))
    return distinct
