"""Functions over Arrow tables of whole keys: their arguments, and the columns that they give."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_database.types.spark_values import expect_valid
from savepoint_formats.errors import (
    ColumnNotFoundError,
    ColumnTypeError,
    FunctionResultError,
    within,
)
from savepoint_functions.functions.rows_by_key import key_starts
from savepoint_functions.functions.sorted_inputs import KEY as KEY_BYTES
from savepoint_spark.writing.run_encoding import KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    BatchFunction = Callable[[pa.Table], pa.Table]
    KeyBatchFunction = Callable[["KeyBatch"], tuple[pa.Table | None, pa.Table]]


@dataclass(frozen=True, slots=True)
class KeyBatch:
    """All rows of some keys, and the state of these keys.

    Attributes:
        rows: The rows. Rows of a key follow each other, in the order of their timestamps.
        state: A row per key, in the order of the keys in ``rows``: column ``key``, and one per
            state, with the types that ``keyed_state`` has without Spark; null if a key has nothing.
        starts: The place of each key's first row.

    Example:
        >>> def totals(batch):
        ...     cents = np.add.reduceat(batch.rows["cents"].to_numpy(), batch.starts)
        ...     total = pc.add(pc.fill_null(batch.state["total"], 0), cents)
        ...     return None, pa.table({"key": batch.state["key"], "total": total})
    """

    rows: pa.Table
    state: pa.Table
    starts: NDArray[np.int64]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number of the key of each row, which is the number of its row in ``state``."""
        counts = np.diff(np.append(self.starts, self.rows.num_rows))
        return np.repeat(np.arange(len(self.starts)), counts)


ROWS, SIZE = 100_000, 64 << 20
"""Rows, and their bytes, that a function gets at once, unless one key has more."""


def over_batches(function: BatchFunction, states: Iterable[str]) -> KeyBatchFunction:
    """A function over tables as a function over batches, which gives these states and no rows."""

    @wraps(function)
    def over_batch(batch: KeyBatch) -> tuple[None, pa.Table]:
        made = function(batch.rows)
        if not isinstance(made, pa.Table):
            raise FunctionResultError(
                f"the function gave a {type(made).__name__}, expected a pyarrow.Table with a row per"
                " key"
            )
        return None, made.select([name for name in made.column_names if name in wanted])

    wanted = {KEY, *states}
    return over_batch


def given_column(table: pa.Table, name: str, wanted: pa.DataType) -> pa.Array:
    """A column that a function has given, cast to the type that it must have.

    Raises:
        ColumnNotFoundError: There is no such column.
        ColumnTypeError: It has another type.
        UnencodableError: A text is not UTF-8.
    """
    if name not in table.column_names:
        raise ColumnNotFoundError(
            f"the function gave no column {name!r}; it gave: {', '.join(table.column_names)}"
        )
    column = pa.concat_arrays(table.column(name).chunks or [pa.nulls(0, wanted)])
    with within(f"column {name!r}"):
        expect_valid(column)
    try:
        return column.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ColumnTypeError(
            f"the function gave column {name!r} as {column.type}, expected {wanted}: {error}"
        ) from error


def whole_keys(
    batches: Iterable[pa.RecordBatch], rows: int = ROWS, size: int = SIZE
) -> Iterator[pa.Table]:
    """Tables with all rows of each of their keys, made of sorted rows.

    A table ends with the key that brings it to so many rows, or bytes.
    """
    pending: list[pa.RecordBatch] = []
    count = bytes_of_rows = 0
    for batch in batches:
        if count >= rows or bytes_of_rows >= size:
            last = pending[-1].column(KEY_BYTES)[-1]
            start = _first_other(batch.column(KEY_BYTES), last)
            if start is not None:
                yield pa.Table.from_batches([*pending, batch.slice(0, start)])
                batch = batch.slice(start)  # noqa: PLW2901  # the rest
                pending, count, bytes_of_rows = [], 0, 0
        if batch.num_rows:
            pending.append(batch)
            count += batch.num_rows
            bytes_of_rows += batch.nbytes
    if pending:
        yield pa.Table.from_batches(pending)


def _first_other(keys: pa.BinaryArray, key: pa.BinaryScalar) -> int | None:
    if len(keys) and keys[0] != key:
        return 0
    starts = key_starts(keys)
    return int(starts[1]) if len(starts) > 1 else None
