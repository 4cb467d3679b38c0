"""A function over Arrow tables of whole keys, for what columns do faster than rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.types.spark_values import expect_valid
from savepoint_database.types.user_frames import user_frames_first
from savepoint_formats.errors import ColumnNotFoundError, ColumnTypeError, within
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_functions.functions.key_spans import key_starts
from savepoint_functions.functions.sorted_inputs import KEY as KEY_BYTES
from savepoint_functions.functions.sorted_inputs import (
    ORDER,
    KeyedInput,
    key_groups_in,
    routed,
    row_columns,
)
from savepoint_spark.writing.handed_runs import RunSource
from savepoint_spark.writing.keyed_plan import KeyedPlan
from savepoint_spark.writing.run_encoding import KEY, KEY_GROUP, RunEncoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import Row

    from savepoint_functions.functions.state_runs import FunctionState

    BatchFunction = Callable[[pa.Table], pa.Table]

ROWS, SIZE = 100_000, 64 << 20
"""Rows, and their bytes, that a function gets at once, unless one key has more."""


@dataclass(frozen=True)
class BatchRows:
    """A function over tables, and the states that it makes.

    Attributes:
        rows: What it is given.
        function: The function.
        states: The states.
    """

    rows: KeyedInput
    function: BatchFunction
    states: tuple[FunctionState, ...]

    def plan(self) -> KeyedPlan:
        """What is to be written."""
        infos = tuple(state.new.info for state in self.states)
        return KeyedPlan(self.rows.key.snapshot, infos, (self,))

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """See ``RunRows``."""
        columns = tuple(state.column(ids[state.new.name]) for state in self.states)
        layout, hash_code = self.rows.key.snapshot.layout(), self.rows.key.hash_code
        has_key_groups = self.rows.key.key_groups is not None
        encoding = RunEncoding(
            layout, None, max_parallelism, columns, hash_code, has_key_groups=has_key_groups
        )
        rows = self.rows.rows(0, (self.rows,), max_parallelism)
        states = {state.new.name: state for state in self.states}
        task = BatchTask(self.function, states, self.rows.fields, encoding)
        return RunSource(routed(rows, max_parallelism, is_sorted=True), task.run)

    def duplicates(self, limit: int) -> list[Row]:  # noqa: ARG002  # the protocol's signature
        """None that could be given without running the function again."""
        return []


@dataclass(frozen=True)
class BatchTask:
    """How the function is run.

    Attributes:
        function: The function.
        states: The states that it makes, by name.
        names: The columns of the rows.
        encoding: How they become runs.
    """

    function: BatchFunction
    states: Mapping[str, FunctionState]
    names: tuple[str, ...]
    encoding: RunEncoding

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The runs of a partition."""
        yield from self.encoding.run(self.made(batches))

    def made(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What the function makes: column ``key``, and one per state.

        Raises:
            ColumnNotFoundError: It left out one of them.
            ColumnTypeError: One is of another type.
            UnencodableError: A text is no UTF-8.
            ValueError: It gave a key that it was not given, whose key group is not known.
        """
        types = {KEY: arrow_type(self.encoding.key)}
        types |= {name: state.arrow_type for name, state in self.states.items()}
        for table in whole_keys(batches):
            rows = table.select(row_columns(0, table.column_names)).rename_columns(self.names)
            given = self.function(rows)
            columns = {name: given_column(given, name, wanted) for name, wanted in types.items()}
            if self.encoding.has_key_groups:
                columns[KEY_GROUP] = self._key_groups(table, columns[KEY])
            yield pa.RecordBatch.from_pydict(columns)

    def _key_groups(self, table: pa.Table, keys: pa.Array) -> pa.Array:
        """The key groups of keys, which the rows of the table have."""
        encoded = Encoder(self.encoding.key).encode(keys).cast(pa.binary())
        rows = pc.index_in(encoded, table.column(KEY_BYTES))
        if rows.null_count:
            key = keys[rows.is_null().index(True).as_py()].as_py()
            raise ValueError(
                f"the function gave key {key!r}, which no row has: a column gives the key groups, so"
                " that of another key is not known"
            )
        order = table.column(ORDER).combine_chunks().take(rows)
        return pa.array(key_groups_in(order), pa.int32())


def given_column(table: pa.Table, name: str, wanted: pa.DataType) -> pa.Array:
    """A column that a function has given, as the type that it has to have.

    Raises:
        ColumnNotFoundError: There is no such column.
        ColumnTypeError: It is of another type.
        UnencodableError: A text is no UTF-8.
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
    """The rows in tables that hold all rows of each of their keys.

    Args:
        batches: The rows, sorted by key.
        rows: A table ends with the key that brings it to so many rows.
        size: The same for so many bytes.
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
    """Where the first key begins that is another one; None if there is none."""
    if len(keys) and keys[0] != key:
        return 0
    starts = key_starts(keys)
    return int(starts[1]) if len(starts) > 1 else None
