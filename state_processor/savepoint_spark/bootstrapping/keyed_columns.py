"""Keyed state from the columns of a DataFrame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

from pyarrow.types import is_struct
from pyspark.sql import functions as F

from savepoint_database.types import Types, all_places, expect_type
from savepoint_formats.errors import ColumnTypeError, StateNotFoundError
from savepoint_formats.printable import alternatives
from savepoint_formats.python_state.stored_forms import job_name
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files import VALUE_SERIALIZER, StateKind
from savepoint_formats.values import ROW_KIND
from savepoint_spark.bootstrapping.windowed_transformation import (
    WINDOW,
    WindowedStateTransformation,
    window_column,
)
from savepoint_spark.columns import column_of, fitted, natural_type, with_hidden
from savepoint_spark.writing.grouped_rows import Grouping
from savepoint_spark.writing.keyed_plan import KeyedPlan
from savepoint_spark.writing.keyed_rows import Key, KeyedRows, NewState
from savepoint_spark.writing.operator_plan import OperatorPlan
from savepoint_spark.writing.run_encoding import KEY, KEY_GROUP, NAMESPACE
from savepoint_spark.writing.stored_types import StoredTypes
from savepoint_spark.writing.write_context import PlannedTransformation

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame

    from savepoint_database.snapshot import Operator
    from savepoint_database.types import StateDescriptor, TypeInformation
    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import StateMetaInfo

USER_TIMERS = "user-timers"

_TIMESTAMP = "timestamp of the timer"

_MERGE_RULES: dict[str, Callable[[Column], Column]] = {
    "sum": F.sum,
    "min": F.min,
    "max": F.max,
    "concat": lambda lists: F.flatten(F.collect_list(lists)),
}


@dataclass(frozen=True, repr=False)
class KeyedColumns(PlannedTransformation):
    """Rows that become keyed state.

    Attributes:
        data: The rows, one per key.
        key: Their key.
        states: The states so far.
        merge_rules: Column -> rule that merges the values of rows with the same key.
    """

    data: DataFrame
    key: Key
    states: tuple[NewState, ...] = ()
    merge_rules: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        names = [state.name for state in self.states]
        return f"{type(self).__name__}(key {list(self.key.columns)}, states {names})"

    def with_state(
        self,
        descriptor: StateDescriptor,
        column: str | None = None,
        *,
        last_access: str | None = None,
        merge: str | None = None,
    ) -> Self:
        """Makes a column a state.

        Args:
            descriptor: The state's name, kind and types.
            column: The column: values of a value state, arrays of a list state, maps of a map
                state, accumulators of a reducing or aggregating state. By default the column with
                the state's name. A key whose value is null has nothing in the state.
            last_access: For a state with TTL: the column of the times of last access, in ms since
                the epoch as ``BIGINT``; by default the time at which the savepoint is written.
            merge: Merges the values of several rows of one key: ``sum``, ``min``, ``max``, or
                ``concat`` for lists. By default a key with two rows is an error.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: Its type does not fit the descriptor.
            ValueError: The descriptor lacks a type; or the state was added already; or one state
                has a rule for merging, and another has none.

        Example:
            >>> keyed.with_state(ValueStateDescriptor("total", Types.DOUBLE()))
        """
        state = NewState.of(descriptor, column or job_name(descriptor.name), last_access)
        return self.with_new_state(state, merge)

    def with_new_state(self, state: NewState, merge: str | None = None) -> Self:
        """The rows with one more state; see ``with_state``."""
        if state.name in (known.name for known in self.states):
            raise ValueError(f"state {state.name!r} was added already")
        state.check(self.data)
        if merge is None or state.column is None:
            return replace(self, states=(*self.states, state))
        if merge not in _MERGE_RULES:
            raise ValueError(f"merge={merge!r}, expected one of {', '.join(_MERGE_RULES)}")
        rules = (*self.merge_rules, (state.column, merge))
        return replace(self, states=(*self.states, state), merge_rules=rules)

    def with_timers(
        self,
        *,
        event_time: str | None = None,
        processing_time: str | None = None,
        service: str = USER_TIMERS,
    ) -> Self:
        """Makes columns timers.

        Args:
            event_time: The column of event-time timers: timestamps in ms since the epoch, a
                ``BIGINT`` or an array of them. Timers are a set, as in Flink, so equal ones count
                once. If there are only timers, a key may have several rows.
            processing_time: The column of processing-time timers.
            service: The timer service; that of a process function by default.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: It has no timestamps.

        Example:
            >>> keyed.with_timers(event_time="expires_at")
        """
        void = constructed.void_namespace()
        keyed = self
        for domain, column in (("event", event_time), ("processing", processing_time)):
            state = NewState.of_timers(service, domain, column, self.key.snapshot, void)
            keyed = keyed.with_new_state(state)
        return keyed

    def window(
        self,
        column: str,
        *,
        is_merging: bool = False,
        is_processing_time: bool = False,
        allowed_lateness_ms: int = 0,
    ) -> WindowedStateTransformation:
        """Gives each row a window, next to its key.

        Args:
            column: The windows: a struct of ``start`` and ``end``, the end exclusive, both
                ``TIMESTAMP`` as from Spark's ``window`` and ``session_window``, or ms since the
                epoch as ``BIGINT``.
            is_merging: Whether windows merge, like session windows; tumbling and sliding windows
                don't. Windows of a key that overlap, or touch, are merged as Flink merges them, if
                each state has a rule for it (``merge=``); else ``write`` raises
                ``OverlappingWindowsError``.
            is_processing_time: Whether the clock fires windows instead of the watermark.
            allowed_lateness_ms: How long after its end the job keeps a window, in ms.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: It has no windows.
            ValueError: There is a column ``window of the key``.

        Example:
            >>> from pyspark.sql.functions import sum, window
            >>> hourly = sales.groupBy("shop", window("time", "1 hour")).agg(sum("cents").alias("cents"))
            >>> keyed = OperatorTransformation.bootstrap_with(hourly).key_by("shop").window("window")
        """
        data = with_hidden(self.data, WINDOW, window_column(self.data, column))
        return WindowedStateTransformation(
            replace(self, data=data), is_merging, is_processing_time, allowed_lateness_ms
        )

    @classmethod
    def like(
        cls, data: DataFrame, operator: Operator, ttl_times: Literal["now"] | None = None
    ) -> Self:
        """See ``OneInputStateTransformation.like``."""
        types, shown = StoredTypes.of(operator), operator.state_columns
        infos = (_written(operator, info) for info in types.states)
        known = {shown.get(info.name, info.name): info for info in infos}
        has_windows = any(NewState(info, None).has_namespace for info in types.states)
        others = (KEY, NAMESPACE, KEY_GROUP) if has_windows else (KEY, KEY_GROUP)
        columns = [name for name in data.columns if name not in others]
        unknown = [name for name in columns if name not in known]
        if unknown:
            raise StateNotFoundError(
                f"operator {operator.name} has no column {unknown[0]!r} of keyed state;"
                f" {alternatives(unknown[0], known)}"
            )
        key_groups = KEY_GROUP if KEY_GROUP in data.columns else None
        keyed = cls(data, Key((KEY,), operator.written(types.key), key_groups))
        for name in columns:
            state = NewState(known[name], name)
            state.expect_times(data, ttl_times)
            keyed = keyed.with_new_state(state)
        return keyed

    def plan(self) -> OperatorPlan:
        """The state that will be written.

        Raises:
            ValueError: There is no state, or not every state has a rule for merging.
        """
        if not self.states:
            raise ValueError("no column becomes state: add with_state(descriptor)")
        if all(state.kind is StateKind.TIMERS for state in self.states):
            rows = self._rows_of_timers()
        else:
            data = self.merged(self.key.columns)
            rows = (KeyedRows(data, self.key, self.states, self._namespaces(data)),)
        infos = tuple(state.info for state in self.states)
        return OperatorPlan(KeyedPlan(self.key.snapshot, infos, rows))

    def _rows_of_timers(self) -> tuple[KeyedRows, ...]:
        """Rows with only timers; a key may have several, because timers are a set."""
        names = [*self.key.columns, *([NAMESPACE] if self._namespaces(self.data) else [])]
        key_groups = [] if self.key.key_groups is None else [self.key.key_groups]
        columns = [column_of(self.data, name)[0] for name in dict.fromkeys((*names, *key_groups))]
        rows = []
        for state in self.states:
            timestamps = state.values(self.data)
            if timestamps is not None:
                data = self.data.select(*columns, F.explode(timestamps).alias(_TIMESTAMP))
                data = Grouping.of(data, (*names, _TIMESTAMP)).distinct()
                of_timers, namespaces = replace(state, column=_TIMESTAMP), self._namespaces(data)
                timer_rows = KeyedRows(
                    data, self.key, (of_timers,), namespaces, is_keyed_once=False
                )
                rows.append(timer_rows)
        nothing = KeyedRows(self.data.limit(0), self.key, self.states, is_keyed_once=False)
        return tuple(rows) or (nothing,)

    def _namespaces(self, data: DataFrame) -> tuple[Column, TypeSerializerSnapshot] | None:
        """The column of namespaces, if states have any, such as state of windows made by ``like``."""
        serializers = dict.fromkeys(filter(None, (state.namespace for state in self.states)))
        if not serializers:
            return None
        if len(serializers) > 1:
            names = ", ".join(state.name for state in self.states if state.has_namespace)
            raise ColumnTypeError(
                f"states {names} have namespaces of several types, but the DataFrame has one column"
                f" of them, {NAMESPACE!r}: write them one by one, with with_state of the savepoint"
            )
        (serializer,) = serializers
        return fitted(data, NAMESPACE, serializer.layout(), "the namespace"), serializer

    def merged(self, group: tuple[str, ...]) -> DataFrame:
        """The rows, merged by their rules if there are any."""
        if not self.merge_rules:
            return self.data
        rules = dict(self.merge_rules)
        without = [
            state.name for state in self.states if state.column and state.column not in rules
        ]
        if without:
            raise ValueError(
                f"state {without[0]!r} has no rule for merging, but others have: add merge=…"
            )
        merged = [
            _MERGE_RULES[rule](column_of(self.data, name)[0])
            .cast(column_of(self.data, name)[1])
            .alias(name)
            for name, rule in rules.items()
        ]
        times = {state.last_access for state in self.states if state.last_access}
        latest = [F.max(column_of(self.data, name)[0]).alias(name) for name in times]
        return Grouping.of(self.data, group).aggregated(*merged, *latest)


def _written(operator: Operator, info: StateMetaInfo) -> StateMetaInfo:
    snapshot = info.serializer(VALUE_SERIALIZER)
    assert snapshot is not None  # every state has one
    return info.with_serializer(VALUE_SERIALIZER, operator.written(snapshot))


def key_of(
    data: DataFrame,
    columns: tuple[str, ...],
    key_type: TypeInformation | None,
    key_groups: str | None,
    hash_code: HashKeys | None,
) -> Key:
    """The key of columns; see ``OneInputStateTransformation.key_by``."""
    if not columns:
        raise ValueError("keyed state needs the column of its key: key_by('account')")
    if others := [column for column in columns if not isinstance(column, str)]:
        raise TypeError(
            f"key_by takes names of columns, but was given a {type(others[0]).__name__}: add what it"
            " computes as a column first, e.g. rows.withColumn('key', …)"
        )
    if key_type is None:
        types = [natural_type(name, column_of(data, name)[1]) for name in columns]
        key_type = types[0] if len(types) == 1 else Types.TUPLE(types)
    expect_type(key_type, "key_type")
    return Key(columns_of_key(columns, key_type), key_type.snapshot, key_groups, hash_code)


def columns_of_key(columns: tuple[str, ...], key_type: TypeInformation) -> tuple[str, ...]:
    """The columns of a key in the order of its fields, if its type has so many.

    Raises:
        ColumnTypeError: The fields have other names.
    """
    whole = key_type.arrow_type
    fields = [field.name for field in whole if field.name != ROW_KIND] if is_struct(whole) else []
    if len(columns) == 1 or len(fields) != len(columns):
        return columns  # ``Key`` refuses another number
    try:
        places = all_places(columns, fields)
    except ValueError as error:
        raise ColumnTypeError(
            f"the columns of the key do not fit {key_type!r}: {error}. Rename them by"
            " withColumnRenamed"
        ) from error
    return tuple(columns[place] for place in places if place is not None)
