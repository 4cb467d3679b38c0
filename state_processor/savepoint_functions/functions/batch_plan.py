"""A function that is called for batches of whole keys, with their state as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_database.types import user_frames_first
from savepoint_formats.errors import FunctionResultError
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values import arrow_type
from savepoint_functions.functions.function_plan import KeyedFunctionPlan
from savepoint_functions.functions.initial_keys import NO_SPLIT, InitialSplits, InitialValues
from savepoint_functions.functions.initial_state import InitialState
from savepoint_functions.functions.outputs import OUTPUT, Outputs, in_column
from savepoint_functions.functions.result_table import FunctionState, table_schema, with_runs
from savepoint_functions.functions.rows_by_key import (
    ROWS,
    KeyBatch,
    decoded_keys,
    given_column,
    key_starts,
    whole_keys,
)
from savepoint_functions.functions.sorted_inputs import KEY as KEY_BYTES
from savepoint_functions.functions.sorted_inputs import ORDER, key_groups_in, row_columns
from savepoint_spark.writing import BATCH_SIZE, KEY, KEY_GROUP, RunEncoding, RunSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame

    from savepoint_database.snapshot import Operator
    from savepoint_database.types import StateDescriptor
    from savepoint_functions.functions.initial_state import InitialTask
    from savepoint_functions.functions.rows_by_key import KeyBatchFunction
    from savepoint_functions.functions.sorted_inputs import KeyedInput


class _InitialColumns:
    """The state with which the keys of a task begin, as columns of these types."""

    def __init__(self, initial: InitialTask, types: pa.Schema) -> None:
        self.splits = InitialSplits(initial)
        self._values = InitialValues(initial.stored)
        self._types = types

    def columns(self, keys: pa.LargeBinaryArray, number: int) -> dict[str, pa.Array]:
        entries = self.splits.entries(number).take(keys)
        return self._values.columns(keys, entries, self._types)


@dataclass(frozen=True)
class BatchFunctionTask:
    """A function over batches, and how it is run.

    ``names`` are the columns of the rows, ``types`` those of the states. A batch ends with the key
    that brings it to ``batch_rows`` rows. ``outputs`` has no columns if rows are not needed.
    """

    function: KeyBatchFunction
    names: tuple[str, ...]
    types: pa.Schema
    encoding: RunEncoding
    batch_rows: int
    outputs: Outputs
    initial: InitialTask | None

    @user_frames_first
    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The runs of a partition and the rows of the function, as a table of ``result_table``."""
        schema = table_schema(self.outputs)
        for made in self._steps(batches):
            if isinstance(made, pa.RecordBatch):
                yield from with_runs(schema, [made])
            else:
                (strict,) = self.outputs.strict
                yield in_column(schema, OUTPUT, _structs(made, strict, self._name))

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def _steps(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch | pa.Table]:
        initial = None if self.initial is None else _InitialColumns(self.initial, self.types)
        pending: list[pa.RecordBatch] = []
        groups = [(NO_SPLIT, batches)] if initial is None else initial.splits.groups(batches)
        for number, rows in groups:
            for table in whole_keys(rows, self.batch_rows):
                output, state = self._made(table.combine_chunks(), initial, number)
                if output is not None:
                    yield output
                pending.append(state)
                if sum(batch.nbytes for batch in pending) >= BATCH_SIZE:
                    yield from self.encoding.run(pending)
                    pending.clear()
            if initial is not None:
                initial.splits.end(number)
                yield from initial.splits.drained()
        yield from self.encoding.run(pending)

    def _made(
        self, table: pa.Table, initial: _InitialColumns | None, number: int
    ) -> tuple[pa.Table | None, pa.RecordBatch]:
        """The rows and the state that the function has made of whole keys."""
        keys = table.column(KEY_BYTES).combine_chunks()
        starts = key_starts(keys)
        distinct = keys.take(pa.array(starts))
        decoded = decoded_keys(self.encoding.key, distinct)
        columns = {field.name: pa.nulls(len(distinct), field.type) for field in self.types}
        if initial is not None and number != NO_SPLIT:
            columns |= initial.columns(distinct.cast(pa.large_binary()), number)
        rows = table.select(row_columns(0, table.column_names)).rename_columns(self.names)
        given = self.function(KeyBatch(rows, pa.table({KEY: decoded} | columns), starts))
        output, new_state = self._expected(given)
        order = table.column(ORDER).combine_chunks().take(pa.array(starts))
        return output, self._state(new_state, distinct, decoded, key_groups_in(order))

    def _expected(self, given: object) -> tuple[pa.Table | None, pa.Table]:
        """The rows and the state that a function gave. Raises ``FunctionResultError`` for anything else."""
        match given:
            case (None | pa.Table() as output, pa.Table() as state):
                if output is not None and not self.outputs.columns:
                    raise FunctionResultError(
                        f"{self._name} gave rows, but their columns are not known: add"
                        " schema='key STRING, total BIGINT'"
                    )
                return output, state
            case _:
                raise FunctionResultError(
                    f"{self._name} gave {_text(given)}, expected a tuple of two: the rows as a"
                    " pyarrow.Table, or None, and the state as a pyarrow.Table"
                )

    def _state(
        self,
        given: pa.Table,
        distinct: pa.BinaryArray,
        decoded: pa.Array,
        key_groups: np.ndarray[tuple[int], np.dtype[np.int64]],
    ) -> pa.RecordBatch:
        """The state that the function gave, with key groups.

        Raises the errors of ``given_column``; ``FunctionResultError`` for other columns or keys.
        """
        columns = {KEY: given_column(given, KEY, arrow_type(self.encoding.key))}
        columns |= {field.name: given_column(given, field.name, field.type) for field in self.types}
        expect_known(given, columns, f"{self._name} gave state with")
        if not columns[KEY].equals(decoded):
            encoded = Encoder(self.encoding.key).encode(columns[KEY]).cast(pa.binary())
            key_groups = key_groups[self._places(encoded, distinct, columns[KEY], decoded)]
        columns[KEY_GROUP] = pa.array(key_groups, pa.int32())
        return pa.RecordBatch.from_pydict(columns)

    def _places(
        self, encoded: pa.BinaryArray, distinct: pa.BinaryArray, keys: pa.Array, wanted: pa.Array
    ) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The place of each returned key in the batch; ``FunctionResultError`` for other keys."""
        places = pc.index_in(encoded, distinct)
        if places.null_count:
            key = keys[places.is_null().index(True).as_py()].as_py()
            raise FunctionResultError(
                f"{self._name} gave state of key {key!r}, which the batch does not have"
            )
        numbers: np.ndarray[tuple[int], np.dtype[np.int64]] = places.to_numpy().astype(np.int64)
        if self.encoding.is_keyed_once:
            # Keys may be missing, and the writer finds keys with two rows.
            return numbers
        counts = np.bincount(numbers, minlength=len(distinct))
        if (counts != 1).any():
            first = int(np.flatnonzero(counts != 1)[0])
            raise FunctionResultError(
                f"{self._name} gave {counts[first]} rows of state for key {wanted[first].as_py()!r},"
                " expected one for each key of the batch; a row of nulls clears the state of a key"
            )
        return numbers


def expect_known(table: pa.Table, names: Iterable[str], what: str) -> None:
    """Raises ``FunctionResultError`` if a table has an unexpected column."""
    known = list(names)
    if others := [name for name in table.column_names if name not in known]:
        raise FunctionResultError(
            f"{what} a column {others[0]!r}; expected are: {', '.join(known)}"
        )


def _structs(rows: pa.Table, schema: pa.Schema, function: str) -> pa.StructArray:
    """Output rows as a column.

    Raises the errors of ``given_column``; ``FunctionResultError`` for other columns and wrong nulls.
    """
    columns = [given_column(rows, field.name, field.type) for field in schema]
    expect_known(rows, schema.names, f"{function} gave rows with")
    for column, field in zip(columns, schema, strict=True):
        if column.null_count and not field.nullable:
            raise FunctionResultError(
                f"{function} gave null in column {field.name!r}, which is not nullable"
            )
    fields = [field.with_nullable(True) for field in schema]
    return pa.StructArray.from_arrays(columns, fields=fields)


def _text(given: object) -> str:
    if isinstance(given, tuple):
        return f"a tuple of {', '.join(type(part).__name__ for part in given) or 'nothing'}"
    return f"a {type(given).__name__}"


@dataclass(frozen=True)
class BatchFunctionPlan(KeyedFunctionPlan):
    """A function over batches of whole keys.

    A batch ends with the key that brings it to ``batch_rows`` rows. If ``returns_all_keys``, the
    function must give a row of state for each key; if not, a key that it leaves out has no state.
    """

    function: KeyBatchFunction
    batch_rows: int
    returns_all_keys: bool

    @classmethod
    def of(
        cls,
        rows: KeyedInput,
        function: KeyBatchFunction,
        descriptors: tuple[StateDescriptor, ...],
        batch_rows: int = ROWS,
        initial: Operator | None = None,
        *,
        returns_all_keys: bool = True,
    ) -> Self:
        """The function; arguments and errors are those of ``run_batches``."""
        rows.check()
        names = [descriptor.name for descriptor in descriptors]
        if not names or len({*names, KEY}) <= len(names):
            raise ValueError(
                f"a function over batches needs states with distinct names, none of them {KEY!r}, which"
                f" is the column of keys; it was given: {', '.join(names) or 'none'}"
            )
        if batch_rows < 1:
            raise ValueError(f"batch_rows={batch_rows}, expected 1 or more")
        key = rows.key.snapshot
        states = tuple(FunctionState.of(descriptor, key) for descriptor in descriptors)
        state = None if initial is None else InitialState.of(initial, key, states)
        known = states if state is None else state.states
        return cls((rows,), known, state, function, batch_rows, returns_all_keys)

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """See ``RunRows``."""
        task, rows = self.table(Outputs.dropped(), ids, max_parallelism)
        return RunSource(rows, task.run)

    def table(
        self, outputs: Outputs, ids: Mapping[str, int], max_parallelism: int
    ) -> tuple[BatchFunctionTask, DataFrame]:
        """The function for tasks, and their rows; see ``FunctionPlan.table``."""
        key, initial = self.inputs[0].key, self.initial_task(max_parallelism, ids, {})
        encoding = RunEncoding(
            key.snapshot.layout(),
            None,
            max_parallelism,
            tuple(state.column(ids[state.new.name]) for state in self.states),
            key.hash_code,
            has_key_groups=True,
            # If all keys come back, the task counts the rows of each; no other task has these keys.
            is_keyed_once=not self.returns_all_keys,
        )
        types = pa.schema([(state.new.name, state.arrow_type) for state in self.states])
        task = BatchFunctionTask(
            self.function, self.inputs[0].fields, types, encoding, self.batch_rows, outputs, initial
        )
        return task, self.routed_rows(initial, max_parallelism)
