"""What a function makes of keyed rows: output rows as a DataFrame, or state as runs for a savepoint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
from pyspark import cloudpickle

from savepoint_formats.catalog import StateKind
from savepoint_formats.columns import arrow_type
from savepoint_formats.errors import ColumnTypeError
from savepoint_formats.snapshots import constructed
from state_processor.jobs.encode_keyed import KEY, RUNS, TIMESTAMPS, KeyedEncoding, StateColumn
from state_processor.jobs.function_task import FunctionTask, registered
from state_processor.jobs.key_spans import RowTypes, decoded_keys
from state_processor.jobs.keyed_write import KeyedPlan
from state_processor.jobs.new_state import NewState
from state_processor.jobs.per_key import row_types
from state_processor.jobs.python_values import OutputRows
from state_processor.jobs.sorted_inputs import KeyedInput, routed
from state_processor.state_backends import TimerService

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, Row
    from pyspark.sql.types import StructType

    from state_processor.descriptors import StateDescriptor
    from state_processor.execution_options import ExecutionOptions
    from state_processor.jobs.per_key import Place
    from state_processor.process_functions import KeyedFunction

_KEY_BYTES = "key bytes"
_MAX_PARALLELISM = 128
"""The key groups by which rows are spread that are not to be written."""

_TIMERS = {TimerService.EVENT: "event", TimerService.PROCESSING: "processing"}
_SERVICE = "user-timers"


@dataclass(frozen=True)
class FunctionRows:
    """A function over the rows of one or two DataFrames.

    Attributes:
        inputs: The rows; keys of all of them have the same type.
        task: The function.
        states: The states that it registers, and timers.
    """

    inputs: tuple[KeyedInput, ...]
    task: FunctionTask
    states: tuple[FunctionState, ...]

    @classmethod
    def of(
        cls,
        inputs: tuple[KeyedInput, ...],
        function: KeyedFunction,
        options: ExecutionOptions,
        *,
        keeps_state: bool,
    ) -> Self:
        """The function, after a copy of it has told which states it registers.

        Raises:
            ColumnTypeError: The keys of two inputs are of different types.
            UnstableKeyError: Equal keys may have different bytes.
            ValueError: The key groups are given, which a function computes itself.
        """
        first = inputs[0].key
        for one in inputs:
            one.check()
            if one.key.snapshot != first.snapshot:
                raise ColumnTypeError(
                    f"keys of {', '.join(one.key.columns)} are of another type than those of"
                    f" {', '.join(first.columns)}: give both the same key_type"
                )
        layout = first.snapshot.layout()
        rows = RowTypes(
            layout,
            tuple(one.fields for one in inputs),
            any(one.timestamps is not None for one in inputs),
        )
        copy: KeyedFunction = cloudpickle.loads(cloudpickle.dumps(function))  # type: ignore[no-untyped-call]
        task = FunctionTask(function, rows, options, keeps_state)
        states = tuple(FunctionState.of(one, first.snapshot) for one in registered(copy, layout))
        return cls(inputs, task, states)

    def plan(self) -> KeyedPlan:
        """The state that the function leaves, as what is to be written."""
        infos = tuple(state.new.info for state in self.states)
        return KeyedPlan(self.inputs[0].key.snapshot, infos, (self,))

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> DataFrame:
        """See ``RunRows``."""
        key = self.inputs[0].key
        columns = tuple(state.column(ids[state.new.name]) for state in self.states)
        encoding = KeyedEncoding(
            key.snapshot.layout(), None, max_parallelism, columns, key.hash_code
        )
        found = StateRuns(self.task, self.states, encoding)
        return self._routed(max_parallelism).mapInArrow(found.run, RUNS)

    def duplicates(self, limit: int) -> list[Row]:  # noqa: ARG002  # the protocol's signature
        """None: a function ends each key once."""
        return []

    def output(self, schema: StructType | str | None) -> DataFrame:
        """The rows that the function gives.

        Args:
            schema: Their columns.

        Raises:
            ValueError: There is no schema, or it has no columns.
        """
        spark_schema, arrow_schema = row_types(schema, self.task.function)
        rows = OutputRun(self.task, arrow_schema)
        return self._routed(_MAX_PARALLELISM).mapInArrow(rows.run, spark_schema)

    def _routed(self, max_parallelism: int) -> DataFrame:
        frames = [
            one.rows(number, self.inputs, max_parallelism) for number, one in enumerate(self.inputs)
        ]
        whole = reduce(lambda one, other: one.unionAll(other), frames)
        return routed(whole, max_parallelism, is_sorted=self.task.options.is_sorted)


@dataclass(frozen=True)
class FunctionState:
    """A state that a function registers, or its timers of one time domain.

    Attributes:
        new: What a savepoint says of it.
    """

    new: NewState

    @classmethod
    def of(cls, descriptor: StateDescriptor, key: Any) -> Self:
        """The state of a descriptor."""
        name = descriptor.name
        if name in _TIMERS:
            void = constructed.void_namespace()
            return cls(NewState.of_timers(_SERVICE, _TIMERS[name], name, key, void))
        return cls(NewState.of(descriptor, name, None))

    @property
    def is_timers(self) -> bool:
        return self.new.kind is StateKind.TIMERS

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of a column of what keys have in it."""
        return TIMESTAMPS if self.is_timers else arrow_type(self.new.stored)

    def column(self, number: int) -> StateColumn:
        """How the column is encoded."""
        name, kind, stored = self.new.name, self.new.kind, self.new.stored
        return StateColumn(name, number, kind, stored, has_namespace=False, values=name)


@dataclass(frozen=True)
class StateRuns:
    """A function whose state becomes runs.

    Attributes:
        task: The function.
        states: What it registers, in the order in which a snapshot has it.
        encoding: How it becomes runs.
    """

    task: FunctionTask
    states: tuple[FunctionState, ...]
    encoding: KeyedEncoding

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The runs of a partition."""
        yield from self.encoding.run(self._columns(batches))

    def _columns(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        types = {state.new.name: state.arrow_type for state in self.states}
        fields = [pa.field(_KEY_BYTES, pa.binary())]
        fields += [pa.field(name, found) for name, found in types.items()]
        rows = OutputRows(pa.schema(fields), type(self.task.function).__name__)
        timers = [index for index, state in enumerate(self.states, 1) if state.is_timers]
        for batch in rows.batches(_with_timestamps(self.task.states(batches), timers)):
            keys = decoded_keys(self.task.rows.key, batch.column(0))
            yield pa.RecordBatch.from_arrays([keys, *batch.columns[1:]], [KEY, *types])


def _with_timestamps(
    rows: Iterable[tuple[Place, list[Any]]], timers: list[int]
) -> Iterator[tuple[Place, tuple[Any, ...]]]:
    """The rows with timers as lists of timestamps."""
    for place, row in rows:
        for index in timers:
            row[index] = TimerService.timestamps(row[index])
        yield place, tuple(row)


@dataclass(frozen=True)
class OutputRun:
    """A function whose output rows become batches.

    Attributes:
        task: The function.
        schema: That of the rows.
    """

    task: FunctionTask
    schema: pa.Schema

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The output of a partition."""
        rows = OutputRows(self.schema, type(self.task.function).__name__)
        yield from rows.batches(self.task.outputs(batches))
