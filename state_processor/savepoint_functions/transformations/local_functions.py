"""Functions over rows that stay in their partition, where they are sorted by key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from pyspark.sql import functions as F

from savepoint_functions.functions.ended_keys import EndedKeys, state_column
from savepoint_functions.functions.execution_options import ExecutionOptions
from savepoint_functions.functions.function_rows import FunctionRows, OutputRun
from savepoint_functions.functions.process_functions import (
    KeyedProcessFunction,
    KeyedStateBootstrapFunction,
)
from savepoint_functions.functions.sorted_inputs import KEY, in_order
from savepoint_functions.transformations.local_state_transformation import LocalStateTransformation
from savepoint_spark.columns.spark_types import spark_schema
from savepoint_spark.reading.per_key import row_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from savepoint_formats.metadata import OperatorState
    from savepoint_functions.functions.process_functions import KeyedFunction
    from savepoint_functions.functions.sorted_inputs import KeyedInput
    from savepoint_spark.writing.write_context import WriteContext

_SUBTASK = "subtask of rows"

_KEY_GROUPS = 128
"""Rows of one key share a key group, whatever their number: it is but the first key they sort by."""


def local_rows(rows: KeyedInput, function: KeyedFunction, schema: StructType | str) -> DataFrame:
    """The rows that a function gives; see ``LocalKeyedTransformation.process``."""
    _expect(function, KeyedProcessFunction)
    run = FunctionRows.of((rows,), function, ExecutionOptions(), keeps_state=False)
    columns, arrow_schema = row_types(schema, function)
    return _in_place(run).mapInArrow(OutputRun(run.task, arrow_schema).run, columns)


@dataclass(frozen=True, repr=False)
class LocalFunctionTransformation:
    """What a function leaves of each key of a partition as local keyed state.

    Attributes:
        rows: The function, and what it is given.
    """

    rows: FunctionRows

    def __repr__(self) -> str:
        return (
            f"LocalFunctionTransformation(states {[state.new.name for state in self.rows.states]})"
        )

    @classmethod
    def of(cls, rows: KeyedInput, function: KeyedFunction) -> Self:
        """See ``LocalKeyedTransformation.transform``; ``ValueError`` for states with namespaces."""
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

        A subtask has what the partition of its number has. Where there are more partitions than
        subtasks, several are put together, without a shuffle.

        Raises:
            PySparkException: The function has left timers, which local keyed state has not.
        """
        (rows,) = self.rows.inputs
        rows = replace(rows, data=rows.data.coalesce(context.parallelism))
        in_subtasks = replace(self.rows, inputs=(rows,))
        ids = {state.new.name: number for number, state in enumerate(in_subtasks.states)}
        ended = EndedKeys(in_subtasks.state_runs(ids, context.max_parallelism))
        data = _in_place(in_subtasks).mapInArrow(ended.run, spark_schema(ended.schema))
        data = data.withColumn(_SUBTASK, F.spark_partition_id())
        states = tuple(
            replace(state.new, column=state_column(number)) for number, state in ended.kept
        )
        key = replace(rows.key, columns=(KEY,))
        return LocalStateTransformation(data, key, _SUBTASK, states).write(context)


def _in_place(run: FunctionRows) -> DataFrame:
    """The rows, in the partitions that they are in, as the function takes them."""
    (keyed_input,) = run.inputs
    rows = keyed_input.rows(0, run.inputs, _KEY_GROUPS)
    return in_order(rows) if run.task.options.is_sorted else rows


def _expect(function: object, *kinds: type) -> None:
    if not isinstance(function, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{type(function).__name__} is no {expected}")
