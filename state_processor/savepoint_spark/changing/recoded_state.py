"""State that is recoded while it passes through: for another Flink, and with classes renamed.

A value is migrated first, under its old names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.errors import within
from savepoint_formats.pass_through.recoded_entries import RecodedStates, renamed
from savepoint_formats.values.named_values import may_name_classes
from savepoint_spark.changing.header_changes import RenamedElements
from savepoint_spark.changing.named_classes import naming_states
from savepoint_spark.changing.stored_elements import described_layout, element_arrays

if TYPE_CHECKING:
    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.snapshots.class_names import ClassRename
    from savepoint_spark.changing.migration import Migration
    from savepoint_spark.changing.stored_elements import Step, StoredElements
    from savepoint_spark.writing.operator_rows import ElementRows, NewOperatorState


@dataclass(frozen=True)
class RecodedState:
    """Recodes the values of an operator; without ``migration`` only names change."""

    operator: Operator
    migration: Migration | None
    renames: tuple[ClassRename, ...]

    @property
    def entries(self) -> RecodedStates | None:
        """The recoding of keyed entries; None if they stay."""
        recoded = None if self.migration is None else self.migration.recoded
        names = any(state.kind.is_keyed for state in naming_states(self.operator))
        if not self.renames or not names:
            return recoded
        kryo = self.operator.kryo
        assert kryo is not None  # as it is one of a savepoint
        recoded = recoded or RecodedStates({}, kryo, kryo)
        return replace(recoded, renames=self.renames)

    def elements(self, rows: StoredElements) -> ElementRows:
        """The elements of an operator state, recoded where needed."""
        steps, state = self._steps(rows.state)
        return RenamedElements(replace(rows, steps=steps), state) if steps else rows

    def check_elements(self, state: NewOperatorState) -> None:
        """Recodes the elements of an operator state, and writes nothing."""
        steps, _ = self._steps(state)
        if not steps:
            return
        with within(f"state {state.name!r}", f"operator {self.operator.name}"):
            for elements in element_arrays(self.operator, state):
                for step in steps:
                    elements = step(elements)  # noqa: PLW2901  # they go from step to step

    def _steps(self, state: NewOperatorState) -> tuple[tuple[Step, ...], NewOperatorState]:
        """The steps for each element, and the new state."""
        steps: tuple[Step, ...] = ()
        kryo = self.operator.kryo
        assert kryo is not None  # as it is one of a savepoint
        if self.migration is not None and state.name in self.migration.elements:
            steps = (self.migration.element_recoding(state.name),)
            _, state = self.migration.elements[state.name]
            kryo = self.migration.writes
        layout = described_layout(state, kryo)
        if self.renames and may_name_classes(layout):
            steps += (partial(renamed, layout=layout, kryo=kryo, renames=self.renames),)
        return steps, state
