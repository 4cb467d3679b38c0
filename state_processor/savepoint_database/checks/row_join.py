"""Rows of two tables, paired by DuckDB: it joins their hashes, on disk if they need more memory.

Columns of hashes: ``row``, the number of the row; ``key_0`` and ``key_1``, the hash of its keys;
``value_0`` and ``value_1``, the hash of its other columns.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.checks.row_hashes import Hashes

_MEMORY_LIMIT = "512MB"
_BATCH_ROWS = 1 << 16
_NAMES = ["row", "key_0", "key_1", "value_0", "value_1"]
_PAIRS = """
    SELECT b.row AS before, a.row AS after
    FROM {before} AS b FULL JOIN {after} AS a
    ON b.key_0 = a.key_0 AND b.key_1 = a.key_1 AND b.number = a.number
    WHERE b.value_0 IS DISTINCT FROM a.value_0 OR b.value_1 IS DISTINCT FROM a.value_1
    ORDER BY before IS NOT NULL AND after IS NOT NULL, after IS NOT NULL, before, after
"""
_NUMBERED = """(
    SELECT *, row_number() OVER (PARTITION BY key_0, key_1 ORDER BY value_0) AS number FROM {0}
)"""
_ONCE = "(SELECT *, 1 AS number FROM {0})"


@contextmanager
def pairing() -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """A database without tables, and a directory for files of rows; both end with the context."""
    with (
        TemporaryDirectory(prefix="savepoint-diff-") as folder,
        duckdb.connect(
            config={"temp_directory": f"{folder}/join", "memory_limit": _MEMORY_LIMIT}
        ) as connection,
    ):
        yield connection, Path(folder)


def hash_columns(first_row: int, keys: Hashes, values: Hashes) -> pa.RecordBatch:
    """The hashes of rows that follow each other."""
    rows = np.arange(first_row, first_row + len(keys))
    halves = (hashes[:, half].copy() for hashes in (keys, values) for half in range(2))
    return pa.RecordBatch.from_arrays(list(map(pa.array, (rows, *halves))), names=_NAMES)


def changed_pairs(
    connection: duckdb.DuckDBPyConnection, before: pa.Table, after: pa.Table, *, may_repeat: bool
) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Rows that differ: their numbers before and after, null where one side lacks the key.

    Deleted rows come first, then inserted ones, then updated ones. Of several rows with the same
    key, which ``may_repeat`` announces, each has at most one that it becomes.
    """
    counted = _NUMBERED if may_repeat else _ONCE
    connection.register("rows_before", before)
    connection.register("rows_after", after)
    sides = {name: counted.format(f"rows_{name}") for name in ("before", "after")}
    for batch in connection.sql(_PAIRS.format(**sides)).to_arrow_reader(_BATCH_ROWS):
        yield batch.column("before"), batch.column("after")


def taken(table: pa.Table, rows: pa.Array) -> pa.Table:
    """These rows, batch by batch: Arrow's ``take`` copies whole columns of texts before it takes any."""
    order = np.argsort(rows)
    numbers = rows.to_numpy()[order]
    batches = table.to_batches()
    starts = np.cumsum([0, *map(len, batches)])
    ends = pairwise(np.searchsorted(numbers, starts))
    batches = [
        batch.take(pa.array(numbers[begin:end] - start))
        for batch, start, (begin, end) in zip(batches, starts[:-1], ends, strict=True)
        if begin < end
    ]
    return pa.Table.from_batches(batches, table.schema).take(np.argsort(order))
