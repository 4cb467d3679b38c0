"""The changes of an operator: how they are checked and written.

Untouched values are not decoded. If keyed state is touched, its other states go into the new files
entry by entry. Operator state, coordinator state and the like are copied as files. If the operator
is rescaled, keyed and operator state are spread anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from savepoint_formats.errors import within
from savepoint_formats.new_snapshot import copied
from savepoint_formats.pass_through import EntryChanges
from savepoint_formats.state_files import expect_synchronous
from savepoint_spark.changing.canonical import expect_convertible
from savepoint_spark.changing.change import Part
from savepoint_spark.changing.changed_table import (
    ChangedTable,
    elements_after,
    info_after,
    with_tables,
)
from savepoint_spark.changing.hash_codes import hash_code_of
from savepoint_spark.changing.header_changes import HeaderChanges, RenamedElements, RenamedRows
from savepoint_spark.changing.key_choice import listed_keys
from savepoint_spark.changing.local_write import LocalKeyedPlan
from savepoint_spark.changing.made_rows import MadeElements, MadeRows, check_made
from savepoint_spark.changing.named_classes import entries_with_names, name_steps
from savepoint_spark.changing.records import (
    expect_rescalable,
    is_changed,
    joined,
    without_keyed_state,
    without_operator_state,
)
from savepoint_spark.changing.stored_operator_state import StoredElements, operator_states
from savepoint_spark.changing.stored_rows import StoredKeyedRows
from savepoint_spark.changing.struct_columns import check_values, expect_none_unknown
from savepoint_spark.writing.keyed_plan import KeyedPlan
from savepoint_spark.writing.operator_plan import OperatorPlan
from savepoint_spark.writing.stored_types import StoredTypes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from savepoint_database.snapshot import Operator
    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.pass_through import EntryChange, ListedKeys
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import StateMetaInfo
    from savepoint_spark.changing.change import Change
    from savepoint_spark.changing.present_names import Names
    from savepoint_spark.writing.operator_plan import ElementRows, NewOperatorState
    from savepoint_spark.writing.write_context import WriteContext


@dataclass(frozen=True)
class OperatorChanges:
    """The changes of an operator.

    ``removed`` also has the states that ``added`` replaces. ``deleted`` has the bytes of keys.
    ``hash_code`` gives Java hash codes that can't be computed, or is the text of a shape.
    ``changes`` are those of stored state. ``earlier`` changes have made ``operator`` of the
    one in the savepoint.
    """

    operator: Operator
    removed: frozenset[str] = frozenset()
    added: OperatorPlan = field(default_factory=OperatorPlan)
    tables: tuple[ChangedTable, ...] = ()
    headers: HeaderChanges = field(default_factory=HeaderChanges)
    deleted: DataFrame | None = None
    hash_code: HashKeys | str | None = None
    is_canonical: bool = False
    changes: tuple[Change, ...] = ()
    earlier: OperatorChanges | None = None

    @property
    def stages(self) -> tuple[OperatorChanges, ...]:
        """All changes from the first on; each sees the outcome of those before it."""
        return (*(() if self.earlier is None else self.earlier.stages), self)

    @property
    def names(self) -> Names:
        """The present names of states that were renamed or removed, see ``present_names``."""
        return {**dict(self.headers.states), **dict.fromkeys(self.removed)}

    @property
    def has_new_values(self) -> bool:
        """Whether it has values or fields that the savepoint lacks."""
        added = self.added.keyed is not None or bool(self.added.operator_states)
        return added or bool(self.tables)

    @property
    def moves_keys(self) -> bool:
        """Whether keys of the same type get new hash codes."""
        return any(change.moves_keys for change in self.changes)

    @property
    def done(self) -> frozenset[Part]:
        """What ``changes`` have done."""
        return frozenset().union(*(change.does for change in self.changes))

    @property
    def is_local(self) -> bool:
        """Whether its stored keyed state is local."""
        return any(state.scope.is_local for state in self.operator.catalog.states)

    def check(self, spark: SparkSession | None, parallelism: int, max_parallelism: int) -> None:
        """Reads and encodes as ``write`` does, raises its errors, and writes nothing."""
        self._expect_movable(parallelism, max_parallelism)
        deleted = self._listed()
        if self.operator.has_keyed_state:
            types = StoredTypes.of(self.operator)
            passing = self.passing(types)
            self._passed(spark, types.key, passing, deleted).check(max_parallelism)
        for name, state in operator_states(self.operator).items():
            if name not in self.written() and name not in self.made(is_keyed=False):
                self.recoded_elements(StoredElements(None, self.operator, state))[0].check()
        self._expect_known()
        added, tables = self.added, self._moved_tables(max_parallelism, deleted)
        if spark is None:
            for stage in self.stages:
                check_values(stage._moved_tables(max_parallelism, None), max_parallelism)
        else:
            added = with_tables(added, tables, spark)
            remaining = self.made(is_keyed=True) - self.written()
            check_made(self.made_rows(spark), remaining, max_parallelism)
        self.headers.plan(added).check(parallelism, max_parallelism)

    def write(self, context: WriteContext) -> OperatorState:
        """See ``StateTransformation``."""
        record = self.operator.record
        is_rescaled = self._expect_movable(context.parallelism, context.max_parallelism)
        remaining, plan = record, OperatorPlan()
        if is_rescaled or self.touches(is_keyed=True):
            remaining = without_keyed_state(remaining)
            plan = replace(plan, keyed=self.keyed(context))
        if is_rescaled or self.touches(is_keyed=False):
            remaining = without_operator_state(remaining)
            plan = replace(plan, operator_states=self._elements(context.spark))
        self._expect_known()
        written = self.headers.plan(plan).write(context)
        if is_rescaled:
            return replace(written, coordinator_state=record.coordinator_state)
        return joined(copied(remaining, self.operator.directory, context.target), written)

    def writes_keys(self, parallelism: int, max_parallelism: int) -> bool:
        """Whether keyed state is written anew, so that its keys need a serializer."""
        is_moved = self._is_rescaled(parallelism, max_parallelism) or self.touches(is_keyed=True)
        return is_moved and self.operator.has_keyed_state

    def _is_rescaled(self, parallelism: int, max_parallelism: int) -> bool:
        record = self.operator.record
        return (record.parallelism, record.max_parallelism) != (parallelism, max_parallelism)

    def _expect_movable(self, parallelism: int, max_parallelism: int) -> bool:
        """Checks that state can be moved; returns whether the operator is rescaled."""
        stored = self.stages[0].operator
        if self.is_canonical:
            expect_convertible(stored)
        is_rescaled = self._is_rescaled(parallelism, max_parallelism)
        if is_rescaled:
            expect_rescalable(stored)
        return is_rescaled

    def touches(self, *, is_keyed: bool) -> bool:
        """Whether keyed state, or operator state, is written anew."""
        states = [
            state for state in self.operator.catalog.states if state.kind.is_keyed == is_keyed
        ]
        touched = {*self.removed, *(name for name, _ in self.headers.states)}
        touched.update(name for table in self.tables for name in table.touched)
        touched.update(name for change in self.changes for name in change.touched)
        added = self.added.keyed is not None if is_keyed else bool(self.added.operator_states)
        # Only the headers know which states name the class or the constant.
        has_other_keys = self.deleted is not None or bool(self.done & {Part.CHOICES, Part.MERGED})
        is_all = bool(self.headers.changes) or (is_keyed and has_other_keys)
        if (is_keyed and self.is_canonical) or is_changed(self.operator, is_keyed=is_keyed):
            return True
        return added or (is_all and bool(states)) or any(state.name in touched for state in states)

    def _listed(self) -> ListedKeys | None:
        return None if self.deleted is None else listed_keys(self.deleted)

    def _moved_tables(
        self, max_parallelism: int, deleted: ListedKeys | None
    ) -> tuple[ChangedTable, ...]:
        """The changed tables; their keys are hashed if their key groups change."""
        tables = tuple(replace(it, deleted=deleted or it.deleted) for it in self.tables)
        if max_parallelism == self.operator.record.max_parallelism:
            return tables
        hash_keys = self._hash_keys
        return tuple(replace(it, moves_keys=True, hash_code=hash_keys) for it in tables)

    @property
    def _hash_keys(self) -> HashKeys | None:
        return hash_code_of(self.operator, self.hash_code) if self.hash_code else None

    def keyed(self, context: WriteContext) -> KeyedPlan | None:
        """The keyed state of the new savepoint, by the old names of states and classes."""
        spark = context.spark
        deleted = self._listed()
        tables = self._moved_tables(context.max_parallelism, deleted)
        plan = with_tables(self.added, tables, spark)
        if not self.operator.has_keyed_state:
            return plan.keyed
        types = StoredTypes.of(self.operator)
        passing = self.passing(types)
        passed = self._passed(spark, types.key, passing, deleted)
        if self.is_local:
            return self._local(types.key, passing, passed) if passing else None
        rows = (*((passed,) if passed.names else ()), *self.made_rows(spark))
        if plan.keyed is None:
            return KeyedPlan(self.key(types), passing, rows) if passing else None
        added, order = replace(plan.keyed, key=types.key), [info.name for info in types.states]
        return added.beside(passing, rows, order)

    def made(self, *, is_keyed: bool) -> frozenset[str]:
        """States of ``operator`` whose values earlier changes make when the savepoint is written."""
        if self.earlier is None:
            return frozenset()
        made = self.earlier.makes(is_keyed=is_keyed)
        return frozenset(map(self.earlier.headers.name, made))

    def makes(self, *, is_keyed: bool) -> frozenset[str]:
        """States after the changes, by their old names, whose values come from DataFrames."""
        tables = (table for table in self.tables if table.is_keyed == is_keyed)
        encoded = {state.name for table in tables for state in table.states}
        if is_keyed:
            added = () if self.added.keyed is None else self.added.keyed.states
            encoded.update(info.name for info in added)
        else:
            encoded.update(rows.state.name for rows in self.added.operator_states)
        return frozenset(encoded) | (self.made(is_keyed=is_keyed) - self.written())

    def made_rows(self, spark: SparkSession) -> tuple[MadeRows, ...]:
        """The rows of ``made`` keyed states, and what these changes make of their entries."""
        before = self.earlier
        if before is None or not (made := self.made(is_keyed=True)):
            return ()
        count = self.operator.record.max_parallelism
        plan = with_tables(before.added, before._moved_tables(count, before._listed()), spark)
        own = () if plan.keyed is None else plan.keyed.rows
        old_names = {before.headers.name(name): name for name in before.makes(is_keyed=True)}
        changed = self.stored_rows(None)
        return tuple(
            MadeRows(
                RenamedRows(rows, old_names),
                {name: number for number, name in enumerate(sorted(made))},
                {
                    state.name: state
                    for state in self.operator.catalog.states
                    if state.kind.is_keyed
                },
                count,
                self.operator.kryo,
                EntryChanges(changed.choices, changed.recoded),
                changed.hash_code,
            )
            for rows in (*own, *before.made_rows(spark))
        )

    @property
    def entries(self) -> EntryChange | None:
        """What writes keyed entries anew; None if they stay.

        Raises ``ValueError`` if the rule of a change lets it overlook another one.
        """
        hash_keys = self._hash_keys
        anew = [it for change in self.changes if (it := change.entries(hash_keys)) is not None]
        if len(anew) > 1:
            raise ValueError(
                f"{len(anew)} changes of entries of operator {self.operator.name} in one stage: the"
                " StageRule of the later one must see Part.ENTRIES"
            )
        recoded = anew[0] if anew else None
        return entries_with_names(recoded, self.operator, self.headers.classes)

    def _passed(
        self,
        spark: SparkSession | None,
        key: TypeSerializerSnapshot,
        passing: tuple[StateMetaInfo, ...],
        deleted: ListedKeys | None,
    ) -> StoredKeyedRows:
        choices = tuple(choice for change in self.changes for choice in change.choices())
        if deleted is not None:
            choices = (deleted, *choices)
        return StoredKeyedRows(
            spark,
            self.operator,
            frozenset(info.name for info in passing) - self.made(is_keyed=True),
            key.layout(),
            self._hash_keys,
            choices,
            self.is_local,
            self.entries,
        )

    def _expect_known(self) -> None:
        """Raises ``SchemaChangeError`` for values whose fields can't be renamed."""
        for stage in self.stages:
            expect_none_unknown(stage.operator, stage.tables)

    def _local(
        self,
        key: TypeSerializerSnapshot,
        passing: tuple[StateMetaInfo, ...],
        passed: StoredKeyedRows,
    ) -> KeyedPlan:
        """The new form of local state, which stays local unless it is merged."""
        local = LocalKeyedPlan(key, passing, (passed,), self.operator.record.parallelism)
        merged = (change for change in self.changes if Part.MERGED in change.does)
        change = next(merged, None)
        return local if change is None else change.merged(local)

    def passing(self, types: StoredTypes) -> tuple[StateMetaInfo, ...]:
        """The states that pass through, by their old names; ``ConversionError`` for one that must stay V2."""
        written = self.written()
        passing = tuple(
            map(self._passing, (info for info in types.states if info.name not in written))
        )
        with within(f"operator {self.operator.name}"):
            expect_synchronous(passing)
        return passing

    def key(self, types: StoredTypes) -> TypeSerializerSnapshot:
        """The serializer of keys, by the old names of classes."""
        key = types.key
        for change in self.changes:
            key = change.new_key(key)
        return key

    def stored_rows(self, spark: SparkSession | None) -> StoredKeyedRows:
        """Its remaining keyed states, in their stored form."""
        types = StoredTypes.of(self.operator)
        return self._passed(spark, types.key, self.passing(types), self._listed())

    def _passing(self, info: StateMetaInfo) -> StateMetaInfo:
        for change in self.changes:
            info = change.new_info(info)
        return info_after(self.tables, info)

    def written(self) -> frozenset[str]:
        """States that don't pass through: they are removed, or encoded anew."""
        encoded = (state.name for table in self.tables for state in table.states)
        return self.removed | frozenset(encoded)

    def _elements(self, spark: SparkSession) -> tuple[ElementRows, ...]:
        made = self._made_elements(spark)
        passing = (
            self.passing_elements(StoredElements(spark, self.operator, state), made.get(name))
            for name, state in operator_states(self.operator).items()
            if name not in self.written()
        )
        added = with_tables(self.added, self.tables, spark)
        return (*passing, *added.operator_states)

    def _made_elements(self, spark: SparkSession) -> dict[str, ElementRows]:
        """The rows of ``made`` operator states."""
        before = self.earlier
        if before is None or not (made := self.made(is_keyed=False)):
            return {}
        rows = {before.headers.name(it.state.name): it for it in before._elements(spark)}
        return {name: of_state for name, of_state in rows.items() if name in made}

    def recoded_elements(self, rows: StoredElements) -> tuple[StoredElements, NewOperatorState]:
        """The elements of an operator state as they are written, and the state with other serializers."""
        steps, state, kryo = rows.steps, rows.state, self.operator.kryo
        assert kryo is not None  # operators of a savepoint have one
        for change in self.changes:
            more, state = change.new_elements(state)
            steps, kryo = (*steps, *more), change.new_kryo(kryo) if more else kryo
        steps += name_steps(state, kryo, self.headers.classes)
        return replace(rows, steps=steps), state

    def passing_elements(
        self, rows: StoredElements, made: ElementRows | None = None
    ) -> ElementRows:
        """The elements of an operator state that passes through, with the fields of the new one.

        ``made`` are its rows if earlier changes make them.
        """
        stored, state = self.recoded_elements(rows)
        changed: ElementRows = stored
        if made is not None:
            changed = MadeElements(made, stored.state, stored.steps)
        for change in self.changes:
            changed = change.new_rows(changed)
        recoded = changed if state == rows.state else RenamedElements(changed, state)
        return elements_after(self.tables, recoded)
