"""Columns of a DataFrame as local keyed state: each subtask has its own state of a key."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, MapType

from savepoint_formats.errors import ColumnTypeError
from savepoint_formats.state_files.local_state import as_local
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.tables.tables import SUBTASK
from savepoint_spark.changing.local_state_rows import LocalStateRows
from savepoint_spark.changing.local_write import LocalKeyedPlan
from savepoint_spark.columns.column_types import column_of, fits
from savepoint_spark.writing.keyed_rows import Key, KeyedRows
from savepoint_spark.writing.new_state import NewState
from savepoint_spark.writing.operator_plan import OperatorPlan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from savepoint_database.types.descriptors import StateDescriptor
    from savepoint_formats.metadata import OperatorState
    from savepoint_spark.writing.write_context import WriteContext


@dataclass(frozen=True, repr=False)
class LocalStateTransformation:
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
        """A column as a state, of which each row has one instance.

        Args:
            descriptor: The state's name, kind and types, as the job has them.
            column: The column, as for ``KeyedStateTransformation.with_state``.
            last_access: The column of times, as there.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: Its type does not fit the descriptor.
            ValueError: The descriptor lacks a type, or is of a list or map with a time to live; or the state was
                added already.

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

    def write(self, context: WriteContext) -> OperatorState:
        return self.plan().write(context)

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
            # Where a user key can be null a map is a list of its entries.
            def entry(column: Column) -> Column:
                key, value = column.getField("key"), listed(column.getField("value"))
                return F.struct(key.alias("key"), value.alias("value"))

            return F.transform(values, entry)
        case other:
            raise ColumnTypeError(f"state {state.name!r} of {other.simpleString()}, expected a map")
