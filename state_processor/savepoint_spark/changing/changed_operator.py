"""An operator whose state is changed: states are replaced or removed, the rest passes through."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Literal, Self

from savepoint_database.snapshot import DEFAULT_FORMS, ValueForms
from savepoint_formats.errors import (
    KeyTypeError,
    SchemaChangeError,
    StateExistsError,
    StateNotFoundError,
)
from savepoint_formats.printable import alternatives
from savepoint_formats.python_state.stored_forms import PREFIX, is_python_state, job_name
from savepoint_formats.snapshots import class_names
from savepoint_formats.state_files import StateKind
from savepoint_formats.values import arrow_type, visible_key_type
from savepoint_spark.bootstrapping.keyed_columns import KeyedColumns
from savepoint_spark.changing.changed_table import VALUE, ChangedTable
from savepoint_spark.changing.hash_codes import hash_code_of
from savepoint_spark.changing.key_choice import DeletedKeys, keys_where
from savepoint_spark.changing.local_write import LocalKeyedPlan, MergedLocal, merged_instances
from savepoint_spark.changing.named_classes import is_named_in_values, snapshots_of
from savepoint_spark.changing.operator_changes import OperatorChanges
from savepoint_spark.changing.outcome import outcome
from savepoint_spark.changing.present_names import present_columns
from savepoint_spark.changing.stored_operator_state import rewritten_state
from savepoint_spark.columns import column_of, expect_frame
from savepoint_spark.writing.operator_plan import OperatorPlan, OperatorRows
from savepoint_spark.writing.run_encoding import KEY, KEY_GROUP, NAMESPACE
from savepoint_spark.writing.stored_types import StoredTypes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from savepoint_formats.snapshots import ClassRename, TypeSerializerSnapshot
    from savepoint_formats.state_files import State
    from savepoint_formats.tables import Table
    from savepoint_spark.changing.change import Change
    from savepoint_spark.changing.local_write import Merge
    from savepoint_spark.changing.order import StageRule
    from savepoint_spark.writing.keyed_plan import KeyedPlan


@dataclass(frozen=True)
class ChangedOperator(OperatorChanges):
    """An operator and its changes; each verb returns it with one more."""

    @property
    def is_same(self) -> bool:
        """Whether only its key groups and the format of its files change."""
        same = ChangedOperator(self.operator, hash_code=self.hash_code)
        return replace(self, is_canonical=False) == same

    def with_change(self, change: Change) -> Self:
        """The operator with one more change of its stored state."""
        return replace(self, changes=(*self.changes, change))

    def ready_for(self, rule: StageRule) -> Self:
        """The changes, or if the next one must see their outcome, the operator after them."""
        return self.followed() if rule.follows(self) else self

    def followed(self) -> Self:
        """The operator after these changes, for later ones to change."""
        for change in self.changes:
            change.expect_followed(self.operator.name)
        # Keys that move need hash codes, and the new savepoint can't infer those of the old one.
        ready = (self.with_hash_codes() if self.moves_keys else self).with_listed_keys()
        after = type(self)(outcome(ready), hash_code=self.hash_code, earlier=ready)
        return replace(after, is_canonical=self.is_canonical)

    def with_listed_keys(self) -> Self:
        """The operator whose deleted keys are known, after a job that finds them."""
        if (listed := self._listed()) is None:
            return self
        tables = tuple(replace(table, deleted=listed) for table in self.tables)
        changes = (DeletedKeys(listed), *self.changes)
        return replace(self, deleted=None, changes=changes, tables=tables)

    def with_merged(self, merge: Mapping[str, Merge]) -> Self:
        """See ``SavepointWriter.merge_local``."""
        states = self.operator.catalog.states
        present = {job_name(self.headers.name(state.name)): state.name for state in states}
        stored = {present.get(name, name): function for name, function in merge.items()}
        return self.with_change(MergedLocal(merged_instances(self.operator, stored)))

    def state(self, name: str) -> State:
        """The state that has this name now, and its values of the savepoint.

        Raises ``StateNotFoundError``, or ``SchemaChangeError`` if its values were given anew.
        """
        state = self._named(name)
        if state.name in self.removed:
            raise self._given_anew(name)
        return state

    def _named(self, name: str) -> State:
        given = self.added.state_names()
        states = (state for state in self.operator.catalog.states if not state.kind.is_raw)
        known = {
            job_name(self.headers.name(state.name)): state
            for state in states
            if state.name not in self.removed or state.name in given
        }
        name = job_name(name)
        if name not in known:
            raise StateNotFoundError(
                f"operator {self.operator.name} has no state {name!r}; {alternatives(name, known)}"
            )
        return known[name]

    def _given_anew(self, name: str) -> SchemaChangeError:
        return SchemaChangeError(
            f"state {name!r} of operator {self.operator.name} was given anew, and this change would"
            " not see it: write that first, and change the new savepoint"
        )

    def without(self, name: str) -> Self:
        """See ``SavepointWriter.remove_state``."""
        if self._named(name).name in self.removed:
            return self.followed().without(name)
        return replace(self, removed=self.removed | {self.state(name).name})._with_names()

    def with_name(self, old: str, new: str) -> Self:
        """See ``SavepointWriter.rename_state``."""
        state = self._named(old)
        if is_python_state(state.name) and not is_python_state(new):
            new = PREFIX + new
        gone = self.removed - self.added.state_names()
        stored = (other.name for other in self.operator.catalog.states)
        others = ({*stored, *self.added.state_names()} - gone) - {state.name}
        if new in map(self.headers.name, others):
            raise StateExistsError(
                f"operator {self.operator.name} has a state {new!r} already; rename it first"
            )
        return replace(self, headers=self.headers.with_name(state.name, new))._with_names()

    def _with_names(self) -> Self:
        return replace(self, tables=tuple(table.with_names(self.names) for table in self.tables))

    def with_class(self, rename: ClassRename) -> Self:
        """See ``SavepointWriter.rename_class``."""
        return replace(self, headers=self.headers.with_change(rename))

    def renames(self, rename: ClassRename) -> bool:
        """Whether serializers or values change with the name of a class; ``SchemaChangeError`` if one can't."""
        # Tries all of them, because each may have the name where it cannot be changed.
        changes = [rename.of(snapshot) != snapshot for snapshot in self._snapshots()]
        if any(changes) or any(earlier.new == rename.old for earlier in self.headers.classes):
            return True
        return is_named_in_values(self.operator, rename)

    def class_names(self) -> frozenset[str]:
        """All Java classes that serializers name."""
        return class_names(self._snapshots())

    def _snapshots(self) -> Iterator[TypeSerializerSnapshot]:
        brought = (change.snapshots() for change in self.changes)
        return map(self.headers.snapshot, chain(snapshots_of(self.operator), *brought))

    def table_of(self, spark: SparkSession | None, state: State) -> ChangedTable:
        """The table that shows a state, as changed so far."""
        tables = (table for table in self.operator.readable_tables if state in table.states)
        return self._table(spark, next(tables))

    def _table(
        self, spark: SparkSession | None, table: Table, forms: ValueForms = DEFAULT_FORMS
    ) -> ChangedTable:
        given = self.added.keyed
        if given is not None and table.states[0].kind.is_keyed:
            raise self._given_anew(given.states[0].name)
        is_keyed = table.states[0].kind.is_keyed
        if made := self.made(is_keyed=is_keyed) & {state.name for state in table.states}:
            raise self._given_anew(min(made))
        changed = {changed_table.table.name: changed_table for changed_table in self.tables}
        if table.name in changed:
            return replace(changed[table.name], spark=spark)
        unchanged = ChangedTable(spark, self.operator, table, **forms.options())
        return unchanged.with_names(self.names)

    def with_table(self, table: ChangedTable) -> Self:
        """The operator with a table added, or changed once more."""
        if table.is_keyed:
            self._expect_not_local()
        others = (other for other in self.tables if other.table != table.table)
        return replace(self, tables=(*others, table))

    def without_keys(self, spark: SparkSession, where: Column | str, forms: ValueForms) -> Self:
        """See ``SavepointWriter.delete_keys``."""
        keyed = (table for table in self.operator.readable_tables if table.states[0].kind.is_keyed)
        tables = [self._table(spark, table, forms) for table in keyed]
        rows = [table.data(with_encoded_keys=True) for table in tables if table.has_keys]
        keys = keys_where(rows, where, self.operator.name)
        return replace(self, deleted=keys if self.deleted is None else self.deleted.union(keys))

    def with_rows(
        self, name: str, data: DataFrame, ttl_times: Literal["now"] | None = None
    ) -> Self:
        """See ``SavepointWriter.with_state``."""
        expect_frame(data)
        if self._named(name).name in self.removed:
            return self.followed().with_rows(name, data, ttl_times)
        without, state = self.without(name), self.state(name)
        if state.kind.is_keyed:
            self._expect_not_local()
        plan = self._rows_of(state, data, ttl_times)
        return replace(without, added=self.added.with_states(plan))

    def with_plan(self, plan: OperatorPlan) -> Self:
        """The operator with planned states, which replace those of their names."""
        names = plan.state_names()
        renamed = {name for pair in self.headers.states for name in pair}
        taken = names & (self.added.state_names() | renamed)
        if taken:
            return self.followed().with_plan(plan)
        if plan.keyed is not None:
            self._expect_keys_of(plan.keyed)
        known = {state.name for state in self.operator.catalog.states}
        removed = self.removed | (names & known)
        return replace(self, removed=removed, added=self.added.with_states(plan))._with_names()

    def _expect_keys_of(self, keyed: KeyedPlan) -> None:
        """Raises an error for keys of another type, and for local state."""
        if isinstance(keyed, LocalKeyedPlan):
            raise SchemaChangeError(
                f"operator {self.operator.name} can't get single local states: make it anew by"
                " with_operator"
            )
        self._expect_not_local()
        if not self.operator.has_keyed_state:
            return
        own, given = StoredTypes.of(self.operator).key, keyed.key
        stored, new = (arrow_type(key.layout()) for key in (own, given))
        if own.class_name != given.class_name or visible_key_type(stored) != visible_key_type(new):
            raise KeyTypeError(
                f"operator {self.operator.name} has keys of {visible_key_type(stored)}, written by"
                f" {own.class_name.rpartition('.')[2]}, and the new states have keys of"
                f" {visible_key_type(new)}, by {given.class_name.rpartition('.')[2]}: give key_by the"
                " key_type of the operator"
            )

    def _rows_of(
        self, state: State, data: DataFrame, ttl_times: Literal["now"] | None
    ) -> OperatorPlan:
        name = state.name
        if state.kind.is_keyed:
            others = [] if state.namespace is None else [NAMESPACE]
            key_groups = [KEY_GROUP] if KEY_GROUP in data.columns else []
            (table,) = (table for table in self.operator.tables if state in table.states)
            # Timers have no column of their own in a table.
            given = present_columns(table, self.names).get(name, self.headers.name(name))
            column = present_columns(table, {}).get(name, name)
            kept = (column_of(data, name)[0] for name in (KEY, *others, *key_groups))
            rows = data.select(*kept, column_of(data, given)[0].alias(column))
            return KeyedColumns.like(rows, self.operator, ttl_times).plan()
        stored = rewritten_state(self.operator, name)
        columns = (KEY, VALUE) if state.kind is StateKind.BROADCAST else (VALUE,)
        return OperatorPlan(operator_states=(OperatorRows.of(data, stored, columns),))

    def with_hash_codes(self) -> Self:
        """The operator with inferred hash codes; raises ``UnstableHashError`` if that fails."""
        if self.is_local:
            return self
        earlier = (change for stage in self.stages[:-1] for change in stage.changes)
        has_other_keys = any(change.retypes_keys for change in earlier)
        # Keys of the savepoint tell most, and other values change no hash function.
        operator = self.operator if has_other_keys else self.stages[0].operator
        return replace(self, hash_code=hash_code_of(operator, self.hash_code))

    def _expect_not_local(self) -> None:
        if self.is_local:
            raise SchemaChangeError(
                f"operator {self.operator.name} has local keyed state, whose values cannot be"
                " changed: write it with merge_local first, and change the new savepoint"
            )
