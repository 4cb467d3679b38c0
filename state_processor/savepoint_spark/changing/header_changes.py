"""What changes in the headers of an operator's files: names of states and of Java classes.

Bytes of values stay as they are, so that they may not hold the old name of a class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from savepoint_formats.snapshots import SerializerEntry
from savepoint_spark.writing.operator_plan import OperatorPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, Row

    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.snapshots.class_names import ClassRename
    from savepoint_formats.state_files.header import StateMetaInfo
    from savepoint_spark.writing.handed_runs import RunSource
    from savepoint_spark.writing.keyed_plan import KeyedPlan, RunRows
    from savepoint_spark.writing.operator_rows import ElementRows, NewOperatorState


@dataclass(frozen=True)
class HeaderChanges:
    """New names.

    Attributes:
        states: Name of a state in the savepoint -> its new name.
        classes: Classes that get another name, in order.
    """

    states: tuple[tuple[str, str], ...] = ()
    classes: tuple[ClassRename, ...] = ()

    def name(self, state: str) -> str:
        """The new name of a state."""
        return dict(self.states).get(state, state)

    def with_name(self, state: str, name: str) -> Self:
        """With a new name of a state, instead of one that it may have got before."""
        return replace(self, states=tuple({**dict(self.states), state: name}.items()))

    def with_class(self, rename: ClassRename) -> Self:
        """With one more class that gets another name."""
        return replace(self, classes=(*self.classes, rename))

    def snapshot(self, serializer: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        """A serializer with the new names of classes.

        Raises:
            SchemaChangeError: It has an old name where it cannot be changed.
        """
        for rename in self.classes:
            serializer = rename.of(serializer)
        return serializer

    def info(self, info: StateMetaInfo) -> StateMetaInfo:
        """What a header says of a state, with the new names; errors as of ``snapshot``."""
        serializers = (
            (role, SerializerEntry(self.snapshot(entry.snapshot)))
            for role, entry in info.serializers
        )
        return replace(info, name=self.name(info.name), serializers=tuple(serializers))

    def plan(self, plan: OperatorPlan) -> OperatorPlan:
        """What is to be written, under the new names; errors as of ``snapshot``."""
        keyed = None if plan.keyed is None else self._keyed(plan.keyed)
        return OperatorPlan(keyed, tuple(map(self._elements, plan.operator_states)))

    def _keyed(self, plan: KeyedPlan) -> KeyedPlan:
        old_names = {self.name(info.name): info.name for info in plan.states}
        return replace(
            plan,
            key=self.snapshot(plan.key),
            states=tuple(map(self.info, plan.states)),
            rows=tuple(RenamedRows(rows, old_names) for rows in plan.rows),
        )

    def _elements(self, rows: ElementRows) -> ElementRows:
        state = rows.state
        renamed = replace(
            state,
            name=self.name(state.name),
            element=self.snapshot(state.element),
            key=None if state.key is None else self.snapshot(state.key),
        )
        return RenamedElements(rows, renamed)


@dataclass(frozen=True)
class RenamedRows:
    """Rows of keyed state.

    Attributes:
        rows: The rows.
        old_names: New name of a state -> the one that the rows know it by.
    """

    rows: RunRows
    old_names: Mapping[str, str]

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        """The runs; see ``RunRows``."""
        known = {self.old_names.get(name, name): number for name, number in ids.items()}
        return self.rows.runs(known, max_parallelism)

    def duplicates(self, limit: int) -> list[Row]:
        """See ``RunRows``."""
        return self.rows.duplicates(limit)


@dataclass(frozen=True)
class RenamedElements:
    """Elements of operator state.

    Attributes:
        rows: The elements.
        state: The state that they become.
    """

    rows: ElementRows
    state: NewOperatorState

    def elements(self, index: int, parallelism: int) -> DataFrame:
        """The elements; see ``ElementRows``."""
        return self.rows.elements(index, parallelism)
