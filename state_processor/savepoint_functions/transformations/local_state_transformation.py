"""Local keyed state, each subtask with its own: from columns of a DataFrame, or from a function.

The function runs over rows that stay in their partition, where they are sorted by key.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, MapType

from savepoint_database.types import SPARK
from savepoint_formats.errors import ColumnTypeError
from savepoint_formats.state_files import StateKind, as_local
from savepoint_formats.tables import SUBTASK
from savepoint_formats.values import arrow_type
from savepoint_functions.functions.execution_options import ExecutionOptions
from savepoint_functions.functions.function_calls import expect_kind
from savepoint_functions.functions.function_plan import FunctionPlan
from savepoint_functions.functions.process_functions import (
    KeyedProcessFunction,
    KeyedStateBootstrapFunction,
)
from savepoint_functions.functions.result_table import StateEncoding
from savepoint_functions.functions.sorted_inputs import KEY, in_order
from savepoint_spark.changing import LocalKeyedPlan, LocalStateRows
from savepoint_spark.columns import column_of, fits, spark_schema
from savepoint_spark.reading import row_types
from savepoint_spark.writing import Key, KeyedRows, NewState, OperatorPlan, PlannedTransformation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from savepoint_database.types import StateDescriptor
    from savepoint_formats.metadata import OperatorState
    from savepoint_functions.functions.function_task import FunctionTask
    from savepoint_functions.functions.process_functions import KeyedFunction
    from savepoint_functions.functions.result_table import FunctionState
    from savepoint_functions.functions.sorted_inputs import KeyedInput
    from savepoint_spark.writing import WriteContext


@dataclass(frozen=True, repr=False)
class LocalStateTransformation(PlannedTransformation):
    """Rows that become local keyed state, one per subtask and key.

    The parallelism of the operator is the number of subtasks.

    Attributes:
        data: The rows.
        key: Their key.
        subtask: The column of their subtasks.
        states: The states so far, as if they were not local.

    Example:
        >>> local = LocalStateTransformation(rows, Key(("word",), Types.STRING().snapshot))
        >>> local = local.with_state(ReducingStateDescriptor("count", Types.LONG()))
        >>> Savepoint.create(spark, parallelism=3).with_operator("count_words", local)
    """

    data: DataFrame
    key: Key
    subtask: str = SUBTASK
    states: tuple[NewState, ...] = ()

    def __repr__(self) -> str:
        names = [state.name for state in self.states]
        return f"LocalStateTransformation(key {list(self.key.columns)}, states {names})"

    def with_state(
        self,
        descriptor: StateDescriptor,
        column: str | None = None,
        *,
        last_access: str | None = None,
    ) -> Self:
        """A column as a state; each row has one instance.

        Args:
            descriptor: The state's name, kind and types, as the job has them.
            column: The column, as for ``KeyedStateTransformation.with_state``.
            last_access: The column of times, as there.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: Its type does not fit the descriptor.
            ValueError: The descriptor lacks a type, or is of a list or map with a time to live; or
                the state was added already.

        Example:
            >>> local.with_state(AggregatingStateDescriptor("mean", mean_type), "accumulator")
        """
        if descriptor.has_ttl and descriptor.kind in (StateKind.LIST, StateKind.MAP):
            raise ValueError(
                f"{descriptor.kind.value} state {descriptor.name!r} has a time to live, which local"
                " lists and maps cannot have: leave with_ttl() out, or key the rows"
            )
        state = NewState.of(descriptor, column or descriptor.name, last_access)
        if state.name in (known.name for known in self.states):
            raise ValueError(f"state {state.name!r} was added already")
        state.check(self.data)
        return replace(self, states=(*self.states, state))

    def plan(self) -> OperatorPlan:
        """The plan of the states.

        Raises:
            ValueError: There is no state.
            ColumnNotFoundError: There is no column of subtasks.
            ColumnTypeError: It has no whole numbers.
        """
        if not self.states:
            raise ValueError("no column becomes state: add with_state(descriptor)")
        columns, states = {}, []
        now_ms = time.time_ns() // 1_000_000
        for number, state in enumerate(self.states):
            name, times = f"instances {number}", state.times(self.data, now_ms)
            columns[name] = _instances(state, self.data)
            if times is not None:
                columns[f"times {number}"] = times
            accessed = None if times is None else f"times {number}"
            states.append(NewState(as_local(state.info), name, accessed))
        subtask = self._subtasks()
        data = self.data.withColumns({**columns, SUBTASK: subtask})
        rows = LocalStateRows(KeyedRows(data, self.key, tuple(states)), data[SUBTASK])
        infos = tuple(state.info for state in states)
        return OperatorPlan(LocalKeyedPlan(self.key.snapshot, infos, (rows,)))

    def _subtasks(self) -> Column:
        column, data_type = column_of(self.data, self.subtask)
        if not fits(data_type, IntegerType()):
            raise ColumnTypeError(
                f"column {self.subtask!r} is {data_type.simpleString()}, but the subtask takes int:"
                " cast it first"
            )
        return column.cast(IntegerType())


def _instances(state: NewState, data: DataFrame) -> Column:
    """The values of a state's column as a local state stores them: in lists of one instance each."""
    values = state.values(data)
    assert values is not None  # states of descriptors have columns
    if state.kind is not StateKind.MAP:
        return F.when(values.isNotNull(), F.array(values))

    def listed(column: Column) -> Column:
        return F.when(column.isNotNull(), F.array(column))

    match data.select(values.alias("values")).schema["values"].dataType:
        case MapType():
            return F.transform_values(values, lambda _key, column: listed(column))
        case ArrayType():
            # A map whose user keys may be null is a list of entries.
            def entry(column: Column) -> Column:
                key, value = column.getField("key"), listed(column.getField("value"))
                return F.struct(key.alias("key"), value.alias("value"))

            return F.transform(values, entry)
        case other:
            raise ColumnTypeError(f"state {state.name!r} of {other.simpleString()}, expected a map")


SUBTASK_OF_ROWS = "subtask of rows"

_KEY_GROUPS = 128
"""Number of key groups, by which rows are only sorted first: any number will do."""


def local_results(rows: KeyedInput, function: KeyedFunction, schema: StructType | str) -> DataFrame:
    """The rows that a function gives; see ``LocalKeyedTransformation.process``."""
    expect_kind(function, KeyedProcessFunction)
    run = FunctionPlan.of((rows,), function, ExecutionOptions(), keeps_state=False)
    columns, arrow_schema = row_types(schema, function)
    return _in_place(run).mapInArrow(partial(run.task.output_batches, arrow_schema), columns)


@dataclass(frozen=True, repr=False)
class LocalFunctionTransformation:
    """Local keyed state that a function leaves of the rows of each partition.

    Attributes:
        rows: The function, and its rows.
    """

    rows: FunctionPlan

    def __repr__(self) -> str:
        return (
            f"LocalFunctionTransformation(states {[state.new.name for state in self.rows.states]})"
        )

    @classmethod
    def of(cls, rows: KeyedInput, function: KeyedFunction) -> Self:
        """See ``LocalKeyedTransformation.transform``. Namespaces raise ``ValueError``."""
        expect_kind(function, KeyedStateBootstrapFunction, KeyedProcessFunction)
        run = FunctionPlan.of((rows,), function, ExecutionOptions(), keeps_state=True)
        for state in run.states:
            if state.namespace is not None:
                raise ValueError(
                    f"state {state.new.name!r} has namespaces, which local keyed state cannot have:"
                    " key_by(…) the rows"
                )
        return cls(run)

    def write(self, context: WriteContext) -> OperatorState:
        """See ``StateTransformation``.

        A subtask gets the partition with its number. If there are more partitions than subtasks,
        some are put together, without a shuffle.

        Raises:
            PySparkException: The function has left timers, which local keyed state can't have.
        """
        (rows,) = self.rows.inputs
        rows = replace(rows, data=rows.data.coalesce(context.parallelism))
        in_subtasks = replace(self.rows, inputs=(rows,))
        ids = {state.new.name: number for number, state in enumerate(in_subtasks.states)}
        task, key = in_subtasks.task, rows.key
        state = StateEncoding.of(task, in_subtasks.states, key, ids, context.max_parallelism)
        ended = _EndedKeys(task, state)
        data = _in_place(in_subtasks).mapInArrow(ended.run, spark_schema(ended.schema))
        data = data.withColumn(SUBTASK_OF_ROWS, F.spark_partition_id())
        states = tuple(replace(state.new, column=_column(number)) for number, state in ended.states)
        key = replace(key, columns=(KEY,))
        return LocalStateTransformation(data, key, SUBTASK_OF_ROWS, states).write(context)


@dataclass(frozen=True)
class _EndedKeys:
    """Makes a row per key of a partition: ``key``, and ``state 0`` … in the order of registration."""

    task: FunctionTask
    state: StateEncoding

    @property
    def schema(self) -> pa.Schema:
        """The columns, before they have Spark's types."""
        fields = [pa.field(_column(number), state.arrow_type) for number, state in self.states]
        return pa.schema([pa.field(KEY, arrow_type(self.task.rows.key)), *fields])

    @property
    def states(self) -> list[tuple[int, FunctionState]]:
        """The states without timers, each with its number."""
        states = enumerate(self.state.states)
        return [(number, state) for number, state in states if not state.is_timers]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of a partition. Raises ``ValueError`` if the function has left timers."""
        schema, names = self.schema, [KEY, *(state.new.name for _, state in self.states)]
        for _, batch in self.state.columns(self.task.states(batches)):
            for state in self.state.states:
                if state.is_timers:
                    self._expect_none(batch.column(state.new.name))
            columns = list(map(batch.column, names))
            yield SPARK["refuse"].batch(pa.RecordBatch.from_arrays(columns, schema=schema))

    def _expect_none(self, timers: pa.ListArray) -> None:
        if pc.sum(pc.list_value_length(timers)).as_py():
            raise ValueError(
                f"{self.state.function} has registered timers, which local keyed state cannot have:"
                " key_by(…) the rows, or register none"
            )


def _column(number: int) -> str:
    return f"state {number}"


def _in_place(run: FunctionPlan) -> DataFrame:
    (keyed_input,) = run.inputs
    return in_order(keyed_input.rows(0, run.inputs, _KEY_GROUPS), run.inputs)
