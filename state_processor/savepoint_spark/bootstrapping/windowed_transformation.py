"""Window state from the columns of a DataFrame, in the form of Flink's window operator.

| state                  | namespace | what it is                                                   |
|------------------------|-----------|--------------------------------------------------------------|
| ``window-contents``    | window    | elements or accumulator of the window                        |
| ``merging-window-set`` | void      | of session windows: pairs of a window and that of its state  |
| window timers          | window    | one that fires the window at its end                         |

Flink: ``WindowOperator``, ``MergingWindowSet``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructType, TimestampType

from savepoint_database.types import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    Types,
)
from savepoint_formats.errors import ColumnTypeError
from savepoint_formats.metadata import DistributionMode
from savepoint_formats.python_state.stored_forms import job_name, python_key
from savepoint_formats.snapshots import constructed
from savepoint_spark.columns import column_of, fits, with_hidden
from savepoint_spark.writing.grouped_rows import Grouping, MergingWindowSets, merged_windows
from savepoint_spark.writing.keyed_plan import KeyedPlan
from savepoint_spark.writing.keyed_rows import KeyedRows, NewState
from savepoint_spark.writing.operator_plan import NewOperatorState, OperatorPlan, OperatorRows
from savepoint_spark.writing.write_context import PlannedTransformation

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from savepoint_database.snapshot import Operator
    from savepoint_database.types import StateDescriptor, TypeInformation
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_spark.bootstrapping.keyed_columns import KeyedColumns
    from savepoint_spark.writing.operator_plan import ElementRows


CONTENTS = "window-contents"
WINDOW = "window of the key"  # rows may have a column called namespace
MERGING_SET = "merging-window-set"
_TIMERS = "window-timers"
_PYTHON_TIMERS = "user-timers"
_FIRES_AT = "window timers"
_BOUNDS = ("start", "end")


@dataclass(frozen=True, repr=False)
class WindowedStateTransformation(PlannedTransformation):
    """Rows with a key and a window each, which become the state of a window operator.

    Attributes:
        keyed: The rows with their key, and the states so far. Windows are the column
            ``WINDOW``.
        is_merging: Whether windows merge, like session windows.
        is_processing_time: Whether the clock fires them instead of the watermark.
        allowed_lateness_ms: How long after its end the job keeps a window.
    """

    keyed: KeyedColumns
    is_merging: bool
    is_processing_time: bool
    allowed_lateness_ms: int

    def __post_init__(self) -> None:
        """Raises ``ValueError`` for merging windows of PyFlink, whose set of windows is a state of its own."""
        if self._is_python and self.is_merging:
            raise ValueError(
                "merging windows of PyFlink are not written from rows: change those of an existing"
                " savepoint by with_state of the savepoint"
            )

    @property
    def _is_python(self) -> bool:
        return python_key(self.keyed.key.snapshot.layout()) is not None

    @property
    def _window(self) -> TypeSerializerSnapshot:
        """The serializer of windows; PyFlink has SQL's."""
        return constructed.table_time_window() if self._is_python else constructed.time_window()

    def __repr__(self) -> str:
        return f"WindowedStateTransformation({self.keyed!r})"

    def reduce(self, element_type: TypeInformation, column: str, merge: str | None = None) -> Self:
        """Makes a column the reduced elements of each window.

        Args:
            element_type: The type of elements.
            column: The column.
            merge: Merges several rows of one key and window; see
                ``KeyedStateTransformation.with_state``. With a rule, windows that merge do so
                if they overlap or touch.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: Its type does not fit.

        Example:
            >>> windowed.reduce(Types.LONG(), "cents")
        """
        return self.with_state(ReducingStateDescriptor(CONTENTS, element_type), column, merge=merge)

    def aggregate(
        self, accumulator_type: TypeInformation, column: str, merge: str | None = None
    ) -> Self:
        """Makes a column the accumulators of each window's elements.

        Arguments and errors are those of ``reduce``.

        Example:
            >>> windowed.aggregate(Types.TUPLE([Types.LONG(), Types.LONG()]), "sum_and_count")
        """
        descriptor = AggregatingStateDescriptor(CONTENTS, accumulator_type)
        return self.with_state(descriptor, column, merge=merge)

    def process(self, element_type: TypeInformation, column: str, merge: str | None = None) -> Self:
        """Makes a column of arrays the elements of each window, for a function over all elements.

        Arguments and errors are those of ``reduce``.

        Example:
            >>> windowed.process(Types.STRING(), "words", merge="concat")
        """
        return self.with_state(ListStateDescriptor(CONTENTS, element_type), column, merge=merge)

    def with_state(
        self,
        descriptor: StateDescriptor,
        column: str | None = None,
        *,
        last_access: str | None = None,
        merge: str | None = None,
    ) -> Self:
        """Makes a column a state of each window, for a trigger or a window function.

        Arguments and errors are those of ``KeyedStateTransformation.with_state``.

        Example:
            >>> windowed.with_state(ReducingStateDescriptor("count", Types.LONG()), "elements")
        """
        column = column or job_name(descriptor.name)
        state = NewState.of(descriptor, column, last_access, self._window)
        return replace(self, keyed=self.keyed.with_new_state(state, merge))

    def plan(self) -> OperatorPlan:
        """The state that will be written.

        Raises:
            ValueError: There is no state, not every state has a rule for merging, or rows have a
                column of the product's own.
        """
        keyed, window = self.keyed, self._window
        if self.is_merging and keyed.merge_rules:
            keyed = replace(keyed, data=merged_windows(keyed.data, keyed.key.columns, WINDOW))
        data = keyed.merged((*keyed.key.columns, WINDOW))
        data = with_hidden(data, _FIRES_AT, self._fires_at())
        states = (*keyed.states, *self._timers())
        rows = [KeyedRows(data, keyed.key, states, (F.col(WINDOW), window))]
        if self.is_merging:
            rows.append(self._merging_set(data))
        infos = tuple(state.info for of_states in rows for state in of_states.states)
        return OperatorPlan(KeyedPlan(keyed.key.snapshot, infos, tuple(rows)))

    def _fires_at(self) -> Column:
        """The timestamps of each window: one fires it, the last removes it.

        A window of processing time is never late: Flink removes it when it fires.
        """
        last = F.col(WINDOW)["end"] - 1
        lateness = 0 if self.is_processing_time else self.allowed_lateness_ms
        return F.array(last, last + lateness) if lateness else F.array(last)

    def _timers(self) -> tuple[NewState, ...]:
        fires_at: dict[str, str | None] = {"event": None, "processing": None}
        fires_at["processing" if self.is_processing_time else "event"] = _FIRES_AT
        key, window = self.keyed.key.snapshot, self._window
        service = _PYTHON_TIMERS if self._is_python else _TIMERS
        return tuple(
            NewState.of_timers(service, domain, column, key, window)
            for domain, column in fires_at.items()
        )

    def _merging_set(self, data: DataFrame) -> KeyedRows:
        """The windows of each key, whose state is under them; ``write`` refuses those that should have merged."""
        window = F.col(WINDOW)
        pairs = F.collect_list(F.struct(window.alias("f0"), window.alias("f1")))
        key = self.keyed.key
        key_groups = (
            [] if key.key_groups is None else [F.first(key.key_groups).alias(key.key_groups)]
        )
        sets = Grouping.of(data, key.columns).aggregated(pairs.alias(MERGING_SET), *key_groups)
        pair = Types.TUPLE([Types.TIME_WINDOW(), Types.TIME_WINDOW()])
        state = NewState.of(ListStateDescriptor(MERGING_SET, pair), MERGING_SET, None)
        return MergingWindowSets(sets, key, (state,))


def window_column(data: DataFrame, name: str) -> Column:
    """A column of windows in ms, or ``ColumnTypeError``."""
    column, data_type = column_of(data, name)
    if isinstance(data_type, StructType) and sorted(data_type.names) == sorted(_BOUNDS):
        start, end = (_milliseconds(column[bound], data_type[bound].dataType) for bound in _BOUNDS)
        if start is not None and end is not None:
            whole = F.struct(start.alias("start"), end.alias("end"))
            return F.when(column.isNotNull(), whole)
    raise ColumnTypeError(
        f"column {name!r} is {data_type.simpleString()}, but windows are structs of start and end,"
        " both of them timestamps, or bigint in ms"
    )


def _milliseconds(column: Column, data_type: DataType) -> Column | None:
    if isinstance(data_type, TimestampType):
        return F.unix_millis(column)
    return column.cast(LongType()) if fits(data_type, LongType()) else None


@dataclass(frozen=True, repr=False)
class OperatorStateTransformation(PlannedTransformation):
    """Rows that become elements of operator states.

    Attributes:
        rows: The rows for each state; a function may have several states.
        initial: The operator from which the states continue, if any; its other states are copied.
    """

    rows: tuple[ElementRows, ...]
    initial: Operator | None = None

    def __repr__(self) -> str:
        return f"OperatorStateTransformation(states {[rows.state.name for rows in self.rows]})"

    @classmethod
    def of_list(
        cls, data: DataFrame, descriptor: ListStateDescriptor, column: str | None, *, is_union: bool
    ) -> Self:
        """See ``OneInputStateTransformation.list_state`` and ``union_state``."""
        mode = DistributionMode.UNION if is_union else DistributionMode.SPLIT_DISTRIBUTE
        state = NewOperatorState(descriptor.name, mode, descriptor.element)
        return cls((OperatorRows.of(data, state, (column or descriptor.name,)),))

    @classmethod
    def of_broadcast(
        cls, data: DataFrame, descriptor: StateDescriptor, key: str, value: str
    ) -> Self:
        """See ``OneInputStateTransformation.broadcast_state``."""
        if not isinstance(descriptor, MapStateDescriptor):
            raise TypeError(
                f"broadcast state {descriptor.name!r} is a map, but {descriptor!r} is none"
            )
        mode, user_value = DistributionMode.BROADCAST, descriptor.user_value
        state = NewOperatorState(descriptor.name, mode, user_value, descriptor.user_key)
        return cls((OperatorRows.of(data, state, (key, value)),))

    def plan(self) -> OperatorPlan:
        """The state that will be written."""
        return OperatorPlan(operator_states=self.rows)
