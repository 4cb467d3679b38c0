"""Functions over rows that stay in their partition, where they are sorted by key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from savepoint_database.types.spark_values import to_spark
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_functions.functions.execution_options import ExecutionOptions
from savepoint_functions.functions.function_rows import FunctionRows
from savepoint_functions.functions.process_functions import (
    KeyedProcessFunction,
    KeyedStateBootstrapFunction,
)
from savepoint_functions.functions.sorted_inputs import KEY, in_order
from savepoint_functions.functions.state_runs import StateRuns
from savepoint_functions.transformations.local_state_transformation import LocalStateTransformation
from savepoint_spark.columns.spark_types import spark_schema
from savepoint_spark.reading.per_key import row_types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from savepoint_formats.metadata import OperatorState
    from savepoint_functions.functions.function_task import FunctionTask
    from savepoint_functions.functions.process_functions import KeyedFunction
    from savepoint_functions.functions.sorted_inputs import KeyedInput
    from savepoint_functions.functions.state_runs import FunctionState
    from savepoint_spark.writing.write_context import WriteContext

_SUBTASK = "subtask of rows"

_KEY_GROUPS = 128
"""Rows of one key share a key group, whatever their number: it is but the first key they sort by."""


def local_rows(rows: KeyedInput, function: KeyedFunction, schema: StructType | str) -> DataFrame:
    """The rows that a function gives; see ``LocalKeyedTransformation.process``."""
    _expect(function, KeyedProcessFunction)
    run = FunctionRows.of((rows,), function, ExecutionOptions(), keeps_state=False)
    columns, arrow_schema = row_types(schema, function)
    return _in_place(run).mapInArrow(partial(run.task.output_batches, arrow_schema), columns)


@dataclass(frozen=True, repr=False)
class LocalFunctionTransformation:
    """Local keyed state that a function leaves of the rows of each partition.

    Attributes:
        rows: The function, and its rows.
    """

    rows: FunctionRows

    def __repr__(self) -> str:
        return (
            f"LocalFunctionTransformation(states {[state.new.name for state in self.rows.states]})"
        )

    @classmethod
    def of(cls, rows: KeyedInput, function: KeyedFunction) -> Self:
        """See ``LocalKeyedTransformation.transform``. Raises ``ValueError`` for states with namespaces."""
        _expect(function, KeyedStateBootstrapFunction, KeyedProcessFunction)
        run = FunctionRows.of((rows,), function, ExecutionOptions(), keeps_state=True)
        for state in run.states:
            if state.namespace is not None:
                raise ValueError(
                    f"state {state.new.name!r} has namespaces, which local keyed state cannot have:"
                    " key_by(…) the rows"
                )
        return cls(run)

    def write(self, context: WriteContext) -> OperatorState:
        """See ``StateTransformation``.

        A subtask gets the partition with its number. If there are more partitions than subtasks, some are put
        together, without a shuffle.

        Raises:
            PySparkException: The function has left timers, which local keyed state can't have.
        """
        (rows,) = self.rows.inputs
        rows = replace(rows, data=rows.data.coalesce(context.parallelism))
        in_subtasks = replace(self.rows, inputs=(rows,))
        ids = {state.new.name: number for number, state in enumerate(in_subtasks.states)}
        task, key = in_subtasks.task, rows.key
        state = StateRuns.of(task, in_subtasks.states, key, ids, context.max_parallelism)
        ended = _EndedKeys(task, state)
        data = _in_place(in_subtasks).mapInArrow(ended.run, spark_schema(ended.schema))
        data = data.withColumn(_SUBTASK, F.spark_partition_id())
        states = tuple(replace(state.new, column=_column(number)) for number, state in ended.states)
        key = replace(key, columns=(KEY,))
        return LocalStateTransformation(data, key, _SUBTASK, states).write(context)


@dataclass(frozen=True)
class _EndedKeys:
    """Makes a row per key of a partition: ``key``, and ``state 0`` … in the order of registration."""

    task: FunctionTask
    state: StateRuns

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
            yield to_spark(pa.RecordBatch.from_arrays(columns, schema=schema))

    def _expect_none(self, timers: pa.ListArray) -> None:
        if pc.sum(pc.list_value_length(timers)).as_py():
            raise ValueError(
                f"{self.state.function} has registered timers, which local keyed state cannot have:"
                " key_by(…) the rows, or register none"
            )


def _column(number: int) -> str:
    return f"state {number}"


def _in_place(run: FunctionRows) -> DataFrame:
    """The rows for the function, in their own partitions."""
    (keyed_input,) = run.inputs
    rows = keyed_input.rows(0, run.inputs, _KEY_GROUPS)
    return in_order(rows) if run.task.options.is_sorted else rows


def _expect(function: object, *kinds: type) -> None:
    if not isinstance(function, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{type(function).__name__} is no {expected}")
