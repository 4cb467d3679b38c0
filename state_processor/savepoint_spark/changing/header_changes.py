"""Changes in the headers of an operator's files: names of states, Java classes and constants of enums.

The bytes of values stay as they are, so they must not contain the old name of a class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self

from savepoint_formats.snapshots import ClassRename
from savepoint_spark.writing.operator_plan import OperatorPlan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, Row

    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import StateMetaInfo
    from savepoint_spark.writing.keyed_plan import KeyedPlan, RunRows
    from savepoint_spark.writing.operator_plan import ElementRows, NewOperatorState
    from savepoint_spark.writing.shuffled_runs import RunSource


class SerializerChange(Protocol):
    """Other names in serializers, beside values that keep their bytes."""

    def of(self, snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        """The snapshot with the new names; ``SchemaChangeError`` if one can't be changed."""


@dataclass(frozen=True)
class HeaderChanges:
    """New names of states, by the names in the savepoint, and changes of serializers in their order."""

    states: tuple[tuple[str, str], ...] = ()
    changes: tuple[SerializerChange, ...] = ()

    @property
    def classes(self) -> tuple[ClassRename, ...]:
        """The renames of classes."""
        return tuple(change for change in self.changes if isinstance(change, ClassRename))

    @property
    def has_constants(self) -> bool:
        """Whether others than classes get new names: constants of enums."""
        return len(self.classes) < len(self.changes)

    def name(self, state: str) -> str:
        return dict(self.states).get(state, state)

    def with_name(self, state: str, name: str) -> Self:
        return replace(self, states=tuple({**dict(self.states), state: name}.items()))

    def with_change(self, change: SerializerChange) -> Self:
        return replace(self, changes=(*self.changes, change))

    def snapshot(self, serializer: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        """A serializer with the new names; ``SchemaChangeError`` if one can't be changed."""
        for change in self.changes:
            serializer = change.of(serializer)
        return serializer

    def info(self, info: StateMetaInfo) -> StateMetaInfo:
        serializers = ((role, self.snapshot(entry)) for role, entry in info.serializers)
        return replace(info, name=self.name(info.name), serializers=tuple(serializers))

    def plan(self, plan: OperatorPlan) -> OperatorPlan:
        """The plan under the new names; raises what ``snapshot`` raises."""
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
        return RenamedElements(rows, self.operator_state(rows.state))

    def operator_state(self, state: NewOperatorState) -> NewOperatorState:
        """An operator state with the new names."""
        return replace(
            state,
            name=self.name(state.name),
            element=self.snapshot(state.element),
            key=None if state.key is None else self.snapshot(state.key),
        )


@dataclass(frozen=True)
class RenamedRows:
    """Rows of keyed state that know states by their old names."""

    rows: RunRows
    old_names: Mapping[str, str]

    def runs(self, ids: Mapping[str, int], max_parallelism: int) -> RunSource:
        known = {self.old_names.get(name, name): number for name, number in ids.items()}
        return self.rows.runs(known, max_parallelism)

    def duplicates(self, limit: int) -> list[Row]:
        return self.rows.duplicates(limit)


@dataclass(frozen=True)
class RenamedElements:
    """Elements of operator state that become ``state``."""

    rows: ElementRows
    state: NewOperatorState

    def elements(self, index: int, parallelism: int) -> DataFrame:
        return self.rows.elements(index, parallelism)
