"""A table of an operator whose states change: as a DataFrame, and as new state.

Each change is applied to the DataFrame that the changes before it have made. Only the columns of
changed states are written; other states are copied.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Self

from pyspark.sql import functions as F

from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.layout import as_records, with_open_pojos, without_ttl
from savepoint_formats.scan import ReadOptions, checked_subclasses
from savepoint_formats.state_files import VALUE_SERIALIZER, StateKind, key_layout
from savepoint_formats.values import checked_nanoseconds
from savepoint_spark.changing.access_times import NewTimes, has_times, with_times, without_times
from savepoint_spark.changing.header_changes import RenamedElements
from savepoint_spark.changing.present_names import (
    BEFORE,
    not_empty,
    present_columns,
    present_rows,
    timed,
    with_names,
)
from savepoint_spark.changing.stored_operator_state import rewritten_state
from savepoint_spark.changing.struct_columns import edited_column
from savepoint_spark.changing.table_rows import TableRows
from savepoint_spark.columns import column_of, fitted, fitting, spark_type
from savepoint_spark.writing.keyed_plan import KeyedPlan
from savepoint_spark.writing.keyed_rows import Key, KeyedRows, NewState
from savepoint_spark.writing.operator_plan import OperatorPlan, OperatorRows
from savepoint_spark.writing.run_encoding import KEY, KEY_GROUP, NAMESPACE
from savepoint_spark.writing.stored_types import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from savepoint_database.snapshot import Operator
    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.pass_through import ListedKeys
    from savepoint_formats.scan import UndescribedSubclasses
    from savepoint_formats.snapshots import StructEdit, TypeSerializerSnapshot
    from savepoint_formats.state_files import State, StateMetaInfo
    from savepoint_formats.tables import Table
    from savepoint_formats.values import Nanoseconds
    from savepoint_spark.changing.present_names import Names
    from savepoint_spark.writing.operator_plan import ElementRows

VALUE = "value"

_NEW, _WHERE, _ACCESS = "$new", "$where", "$last access"
_COLLECTIONS = (StateKind.LIST, StateKind.MAP)


@dataclass(frozen=True)
class TableChange:
    """A change of a table; ``state`` is None if rows are deleted, ``edit`` changes the fields of values."""

    state: str | None
    apply: Callable[[DataFrame], DataFrame]
    edit: StructEdit | None = None

    @property
    def keeps_bytes(self) -> bool:
        return self.edit is not None and self.edit.keeps_bytes


@dataclass(frozen=True)
class ChangedTable:
    """A table and its changes; without a session only its types can be looked at.

    With ``moves_keys``, keys go to other key groups; ``hash_code`` is as for a rescale. ``names`` has
    the present names of states, see ``present_names``. Rows of ``deleted`` keys are not read.
    """

    spark: SparkSession | None
    operator: Operator
    table: Table
    changes: tuple[TableChange, ...] = ()
    nanoseconds: Nanoseconds = "refuse"
    undescribed_subclasses: UndescribedSubclasses = "refuse"
    moves_keys: bool = False
    hash_code: HashKeys | None = None
    names: Names = field(default_factory=dict)
    deleted: ListedKeys | None = None

    @property
    def is_keyed(self) -> bool:
        return self.table.states[0].kind.is_keyed

    @property
    def states(self) -> tuple[State, ...]:
        """The states whose values are encoded anew."""
        names = {change.state for change in self.changes if not change.keeps_bytes}
        names -= {name for name, present in self.names.items() if present is None}
        return tuple(state for state in self.table.states if state.name in names)

    @property
    def touched(self) -> frozenset[str]:
        """The names of all changed states, even if only their headers change."""
        return frozenset(change.state for change in self.changes if change.state is not None)

    @property
    def snapshots(self) -> Mapping[str, TypeSerializerSnapshot]:
        """The new serializers of values, by state."""
        return {
            change.state: change.edit.snapshot
            for change in self.changes
            if change.state and change.edit
        }

    def column_name(self, state: State) -> str:
        """The present column of a state."""
        return self._columns(self.names)[state.name]

    def stored_column(self, state: State) -> str:
        """The column of a state in ``rows``."""
        return self._columns({})[state.name]

    def _columns(self, names: Names) -> dict[str, str]:
        return (
            present_columns(self.table, names)
            if self.is_keyed
            else {self.table.states[0].name: VALUE}
        )

    def snapshot(self, state: State) -> TypeSerializerSnapshot:
        """The serializer of the state's values after the changes so far."""
        return self.snapshots.get(state.name) or _serializer(self.operator, state)

    @property
    def rows(self) -> TableRows:
        """The stored rows."""
        options = ReadOptions(
            with_key_group=self.is_keyed,
            with_times=self.is_keyed,
            undescribed_subclasses=self.undescribed_subclasses,
        )
        changed = self.states
        written = frozenset({KEY, NAMESPACE, *map(self.stored_column, changed)} if changed else ())
        scan = self.operator.scan(self.table, options)
        key = key_layout(self.table.states[0]) if self.has_keys else None
        return TableRows(scan, written, self.nanoseconds, key, deleted=self.deleted)

    @property
    def has_keys(self) -> bool:
        """Whether it has a column of keys, unlike raw state."""
        return self.is_keyed and any(column.name == KEY for column in self.table.columns)

    def data(
        self, *, with_encoded_keys: bool = False, with_values_before: bool = False
    ) -> DataFrame:
        """The rows after all changes; times of last access are columns next to the values."""
        if self.spark is None:
            raise ValueError("Spark reads the rows of a table, and there is no session")
        stored = replace(self.rows, has_encoded_keys=with_encoded_keys)
        rows = stored.to_dataframe(self.spark)
        for state in self._timed():
            name = self.stored_column(state)
            column = column_of(rows, name)[0]
            columns = {timed(name): column, name: without_times(column, state.timed_value)}
            rows = rows.withColumns(columns)
        for state in self.states if with_values_before else ():
            column = column_of(rows, self.stored_column(state))[0]
            rows = rows.withColumn(BEFORE + state.name, column)
        for change in self.changes:
            rows = change.apply(rows)
        return self._present(rows) if with_encoded_keys else rows

    def _present(self, rows: DataFrame) -> DataFrame:
        """The rows after all changes, without those of keys that have nothing any more."""
        # Not behind each change: what Spark pushes down grows with every change below it.
        is_changed = self.is_keyed and bool(self.touched)
        columns = self._columns(self.names).values()
        return present_rows(rows, columns) if is_changed and columns else rows

    def _timed(self) -> Iterator[State]:
        if self.is_keyed:
            yield from (state for state in self.table.states if has_times(state.stored))

    def with_change(self, change: TableChange) -> Self:
        """The table with one more change, which is tried at once if there is a session."""
        changed = replace(self, changes=(*self.changes, change))
        if self.spark is not None:
            changed.data()
        return changed

    def shown(
        self, nanoseconds: Nanoseconds, undescribed_subclasses: UndescribedSubclasses = "refuse"
    ) -> Self:
        """The table with these options; raises ``ValueError`` if an earlier change has others."""
        options = {"nanoseconds": nanoseconds, "undescribed_subclasses": undescribed_subclasses}
        for option, value in options.items():
            if self.touched and value != getattr(self, option):
                raise ValueError(
                    f"{option}={value!r}, but an earlier change of table {self.table.name!r}"
                    f" has {option}={getattr(self, option)!r}: give both the same value, or write one"
                    " before the other"
                )
        return replace(
            self,
            nanoseconds=checked_nanoseconds(nanoseconds),
            undescribed_subclasses=checked_subclasses(undescribed_subclasses),
        )

    def with_values(
        self,
        state: State,
        expression: Column,
        where: Column | None,
        last_access: Column | None = None,
    ) -> Self:
        """The table with other values of a state; ``ColumnTypeError`` for another type."""
        name, now_ms = self.column_name(state), time.time_ns() // 1_000_000
        stored = self.snapshot(state).layout()
        # Values whose fields have changed are decoded.
        if self.undescribed_subclasses != "refuse" and state.name not in self.snapshots:
            stored = with_open_pojos(stored)

        is_timed = has_times(stored) and self.is_keyed
        if last_access is not None and not is_timed:
            raise ValueError(f"state {state.name!r} has no time to live, so no time of last access")

        def apply(rows: DataFrame) -> DataFrame:
            data = self._present(rows)
            new = not_empty(data, expression) if state.kind in _COLLECTIONS else expression
            asked = {_NEW: new, _WHERE: where, _ACCESS: last_access}
            given = {other: column for other, column in asked.items() if column is not None}
            # Of their own first: inside a lambda, Spark finds the new column by the name of the old one.
            data = data.withColumns(given)
            values, new_type = column_of(data, _NEW)
            if where is not None:
                shown, what = column_of(data, name)[1], f"state {state.name!r}"
                values, new_type = fitting(values, new_type, shown, "the expression", what), shown
            columns = {name: values}
            if is_timed:
                layout, before = as_records(stored), column_of(data, timed(name))[0]
                times = NewTimes.of(data, _ACCESS, now_ms, layout)
                columns[timed(name)] = with_times(values, new_type, before, layout, times)
            if where is not None:
                condition = column_of(data, _WHERE)[0]
                columns = {
                    other: F.when(condition, column).otherwise(column_of(data, other)[0])
                    for other, column in columns.items()
                }
            return data.withColumns(columns).drop(*given)

        changed = self.with_change(TableChange(state.name, apply))
        wanted = as_records(without_ttl(stored)) if self.is_keyed else stored
        fitted(changed.data(), name, wanted, f"state {state.name!r}")
        return changed

    def with_fields(self, state: State, edit: StructEdit, new: Mapping[str, Column]) -> Self:
        _expect_no_records(state)
        name, stored = self.column_name(state), edit.snapshot.layout()
        wanted = spark_type(stored, self.nanoseconds)
        is_timed = has_times(stored) and self.is_keyed

        def apply(data: DataFrame) -> DataFrame:
            whole = timed(name) if is_timed else name
            column = edited_column(*column_of(data, whole), wanted, edit, new)
            data = data.withColumn(whole, column)
            if is_timed:
                data = data.withColumn(name, without_times(column_of(data, whole)[0], stored))
            return data

        return self.with_change(TableChange(state.name, apply, edit))

    def with_names(self, names: Names) -> Self:
        """The table with these present names of states."""
        before, states = self.names, [state.name for state in self.table.states]
        is_same = all(before.get(name, name) == names.get(name, name) for name in states)
        if not self.is_keyed or is_same:
            return replace(self, names=names)
        apply = partial(with_names, table=self.table, before=before, after=names)
        return replace(self, names=names, changes=(*self.changes, TableChange(None, apply)))

    def plan(self) -> OperatorPlan:
        """The new state; empty if only headers change."""
        if not self.states:
            return OperatorPlan()
        if self.is_keyed:
            return OperatorPlan(self._keyed_plan())
        (state,) = self.states
        stored = rewritten_state(self.operator, state.name)
        names = (KEY, VALUE) if stored.key is not None else (VALUE,)
        changed = replace(stored, element=self.snapshot(state))
        return OperatorPlan(operator_states=(OperatorRows.of(self.data(), changed, names),))

    def info(self, state: State, types: StoredTypes) -> StateMetaInfo:
        """The header entry of a keyed state."""
        info = next(info for info in types.states if info.name == state.name)
        return info.with_serializer(VALUE_SERIALIZER, self.snapshot(state))

    def _keyed_plan(self) -> KeyedPlan:
        types = StoredTypes.of(self.operator)
        data, states = self.data(), []
        for state in self.states:
            name = self.column_name(state)
            column = timed(name) if has_times(state.stored) else name
            states.append(NewState(self.info(state, types), column))
            states[-1].check(data)
        serializer = states[0].namespace
        namespace = None if serializer is None else (column_of(data, NAMESPACE)[0], serializer)
        key_groups = None if self.moves_keys else KEY_GROUP
        written = self.operator.written(types.key)
        key = Key((KEY,), written, key_groups, self.hash_code, are_stored=True)
        rows = KeyedRows(data, key, tuple(states), namespace, is_keyed_once=False)
        return KeyedPlan(types.key, tuple(state.info for state in states), (rows,))


def with_tables(
    plan: OperatorPlan, tables: Iterable[ChangedTable], spark: SparkSession
) -> OperatorPlan:
    """The plan with the new state of tables."""
    for table in tables:
        plan = plan.with_states(replace(table, spark=spark).plan())
    return plan


def info_after(tables: Iterable[ChangedTable], info: StateMetaInfo) -> StateMetaInfo:
    """The header entry of a keyed state that passes through, after changes of tables."""
    for table in tables:
        snapshot = table.snapshots.get(info.name) if table.is_keyed else None
        if snapshot is not None:
            return info.with_serializer(VALUE_SERIALIZER, snapshot)
    return info


def elements_after(tables: Iterable[ChangedTable], rows: ElementRows) -> ElementRows:
    """The elements of an operator state that passes through, after changes of tables."""
    for table in tables:
        snapshot = None if table.is_keyed else table.snapshots.get(rows.state.name)
        if snapshot is not None:
            return RenamedElements(rows, replace(rows.state, element=snapshot))
    return rows


def _serializer(operator: Operator, state: State) -> TypeSerializerSnapshot:
    if not state.kind.is_keyed:
        return rewritten_state(operator, state.name).element
    info = next(info for info in StoredTypes.of(operator).states if info.name == state.name)
    snapshot = info.serializer(VALUE_SERIALIZER)
    assert snapshot is not None  # every state has one
    return operator.written(snapshot)


def _expect_no_records(state: State) -> None:
    if state.timed_value != state.stored:
        raise SchemaChangeError(
            f"state {state.name!r} holds the elements of windows with an evictor, each in a record"
            " of its own, whose fields cannot be changed: replace them with update_state or"
            " with_state"
        )
