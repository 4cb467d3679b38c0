"""Sorted rows as a function takes them: the rows of one key after the other, or tables of whole keys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, wraps
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.types import PYTHON, arranged, expect_valid, python_values, record_maker
from savepoint_formats.bytes import Chunk
from savepoint_formats.errors import (
    ColumnNotFoundError,
    ColumnTypeError,
    FunctionResultError,
    within,
)
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.values import as_precise, is_precise
from savepoint_functions.functions.sorted_inputs import (
    INPUT,
    KEY,
    ORDER,
    TIMESTAMP,
    key_groups_in,
    row_columns,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from savepoint_formats.layout import Layout

    BatchFunction = Callable[[pa.Table], pa.Table]
    KeyBatchFunction = Callable[["KeyBatch"], tuple[pa.Table | None, pa.Table]]
    Input = tuple[int, Any]


class RowsOfKey(NamedTuple):
    """Rows of one key, each a named tuple; rows of two inputs are pairs of input and row.

    ``timestamps`` are in ms or None, and ``key_group`` is None if no column gives it.
    """

    key: Any
    key_bytes: bytes
    timestamps: Iterable[int | None]
    rows: list[Any]
    key_group: int | None = None


@dataclass(frozen=True, slots=True)
class RowTypes:
    """The layout of keys, the column names of each input, and which other columns there are."""

    key: Layout
    inputs: tuple[tuple[str, ...], ...]
    has_timestamps: bool
    has_key_groups: bool = False

    def by_key(self, batches: Iterable[pa.RecordBatch]) -> Iterator[RowsOfKey]:
        """The rows of a partition by key; a key that continues in the next batch comes again."""
        makes = [record_maker(names) for names in self.inputs]
        for batch in batches:
            if batch.num_rows:
                yield from self._by_key(batch, makes)

    def _by_key(self, batch: pa.RecordBatch, makes: list[Any]) -> Iterator[RowsOfKey]:
        keys = batch.column(KEY)
        starts = key_starts(keys)
        distinct = keys.take(pa.array(starts))
        python = python_keys(decoded_keys(self.key, distinct))
        bounds = [*starts.tolist(), batch.num_rows]
        rows = self._rows(batch, makes)
        times: Iterable[Iterable[int | None]] = repeat(repeat(None))
        if self.has_timestamps:
            of_rows = plain_list(batch.column(TIMESTAMP))
            times = (of_rows[start:end] for start, end in pairwise(bounds))
        key_groups: Iterable[int | None] = repeat(None)
        if self.has_key_groups:
            key_groups = key_groups_in(batch.column(ORDER))[starts].tolist()
        of_keys = (rows[start:end] for start, end in pairwise(bounds))
        by_key = zip(python, distinct.to_pylist(), times, of_keys, key_groups, strict=False)
        # Like ``RowsOfKey(…)``, but without a call of Python for each.
        yield from map(partial(tuple.__new__, RowsOfKey), by_key)

    def _rows(self, batch: pa.RecordBatch, makes: list[Any]) -> list[Any]:
        if len(makes) == 1:
            return list(map(makes[0], input_tuples(batch, 0)))
        numbers = batch.column(INPUT)
        of_inputs = [
            map(make, input_tuples(batch.filter(pc.equal(numbers, number)), number))
            for number, make in enumerate(makes)
        ]
        return [(number, next(of_inputs[number])) for number in numbers.to_pylist()]


def input_tuples(batch: pa.RecordBatch, number: int) -> Iterator[tuple[Any, ...]]:
    """The values of each row; all rows are of this input."""
    columns = [batch.column(name) for name in row_columns(number, batch.schema.names)]
    return zip(*map(plain_list, columns), strict=True)


def key_starts(keys: pa.BinaryArray) -> NDArray[np.int64]:
    """The places in which another key begins."""
    changes = pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
    return np.append(np.int64(0), np.flatnonzero(changes) + 1)


def decoded_keys(layout: Layout, keys: pa.BinaryArray) -> pa.Array:
    """Keys, decoded from their bytes."""
    keys = keys.cast(pa.large_binary())
    _, offsets, data = keys.buffers()
    borders = np.frombuffer(offsets, np.int64)[keys.offset : keys.offset + len(keys) + 1]
    chunk = Chunk(np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8), "keys of rows")
    return decode(program(layout), chunk, borders[:-1], borders[1:])


def python_keys(keys: pa.Array) -> list[Any]:
    """Keys as a function sees them."""
    batch = pa.RecordBatch.from_arrays([keys], ["key"])
    return plain_list(PYTHON.batch(batch).column(0))


def plain_list(column: pa.Array) -> list[Any]:
    """The values of a column as a function sees them; numbers in bulk."""
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if is_number and not column.null_count:
        values: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
        return values
    return python_values(column)


def row_tuples(rows: pa.StructArray) -> Iterator[tuple[Any, ...]]:
    """The values of each row of a column without nulls."""
    if not rows.type.num_fields:
        return iter([()] * len(rows))
    return zip(*map(plain_list, rows.flatten()), strict=True)


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

    Raises ``ColumnNotFoundError``, ``ColumnTypeError``, or ``UnencodableError`` for a text without UTF-8.
    """
    if name not in table.column_names:
        raise ColumnNotFoundError(
            f"the function gave no column {name!r}; it gave: {', '.join(table.column_names)}"
        )
    column = pa.concat_arrays(table.column(name).chunks or [pa.nulls(0, wanted)])
    with within(f"column {name!r}"):
        expect_valid(column)
    try:
        if _is_moment(column.type, wanted):
            return as_precise(column, wanted)
        return arranged(column, wanted)
    except (ValueError, pa.ArrowNotImplementedError) as error:
        raise ColumnTypeError(
            f"the function gave column {name!r} as {column.type}, expected {wanted}: {error}"
        ) from error


def _is_moment(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a timestamp is given for a time with nanoseconds; both have a zone, or neither."""
    if not (is_precise(wanted) and pa.types.is_timestamp(given)):
        return False
    return (given.tz is None) == (wanted.field(0).type.tz is None)


def whole_keys(
    batches: Iterable[pa.RecordBatch], rows: int = ROWS, size: int = SIZE
) -> Iterator[pa.Table]:
    """Tables with all rows of each of their keys, made of sorted rows.

    A table ends with the key that brings it to the given number of rows, or bytes.
    """
    pending: list[pa.RecordBatch] = []
    count = bytes_of_rows = 0
    for batch in batches:
        if count >= rows or bytes_of_rows >= size:
            last = pending[-1].column(KEY)[-1]
            start = _first_other(batch.column(KEY), last)
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
