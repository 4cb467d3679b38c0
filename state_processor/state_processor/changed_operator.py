"""An operator whose state is changed: some states are replaced or removed, the rest passes through.

What is untouched is not decoded. If keyed state is touched, the other states go into the new files
entry by entry as they lie; operator state, coordinator and the like keep their files, which are
copied. If the operator is rescaled, keyed and operator state are spread anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from savepoint_formats.catalog import StateKind
from savepoint_formats.copying import copied
from savepoint_formats.errors import RescaleError, StateNotFoundError
from savepoint_formats.metadata import OperatorState, SubtaskState
from state_processor.column_types import column_of
from state_processor.jobs.encode_keyed import KEY, KEY_GROUP, NAMESPACE
from state_processor.jobs.keyed_write import KeyedPlan
from state_processor.jobs.operator_plan import OperatorPlan
from state_processor.jobs.operator_rows import OperatorRows
from state_processor.jobs.stored_elements import StoredElements
from state_processor.jobs.stored_rows import StoredKeyedRows
from state_processor.keyed_transformation import KeyedStateTransformation
from state_processor.stored_types import StoredTypes

VALUE = "value"

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from state_processor.jobs.encode_keyed import HashKeys
    from state_processor.jobs.operator_rows import ElementRows
    from state_processor.planned_operator import WriteContext
    from state_processor.savepoint import Operator


@dataclass(frozen=True)
class ChangedOperator:
    """What becomes of an operator.

    Attributes:
        operator: The operator as it is.
        removed: The names of states that are left out, or replaced.
        added: What replaces states.
        hash_code: Gives the Java hash codes of its keys, if max parallelism changes and they
            cannot be computed.
    """

    operator: Operator
    removed: frozenset[str] = frozenset()
    added: OperatorPlan = field(default_factory=OperatorPlan)
    hash_code: HashKeys | None = None

    def without(self, name: str) -> Self:
        """The operator without a state.

        Raises:
            StateNotFoundError: It has none of this name; the message lists those there are.
        """
        known = [state.name for state in self.operator.catalog.states if not state.kind.is_raw]
        if name not in known:
            raise StateNotFoundError(
                f"operator {self.operator.name} has no state {name!r};"
                f" it has: {', '.join(known) or 'none'}"
            )
        return replace(self, removed=self.removed | {name})

    def with_rows(self, name: str, data: DataFrame) -> Self:
        """The operator with a state replaced; see ``SavepointWriter.with_state``."""
        without = self.without(name)
        plan = self._plan(name, data)
        return replace(without, added=self.added.with_states(plan))

    def _plan(self, name: str, data: DataFrame) -> OperatorPlan:
        """The rows as the state of this name."""
        state = next(state for state in self.operator.catalog.states if state.name == name)
        if state.kind.is_keyed:
            others = [] if state.namespace is None else [NAMESPACE]
            given = [KEY_GROUP] if KEY_GROUP in data.columns else []
            columns = [column_of(data, one)[0] for one in (KEY, *others, *given, name)]
            return KeyedStateTransformation.like(data.select(*columns), self.operator).plan()
        stored = StoredElements.state_of(self.operator, name)
        names = (KEY, VALUE) if state.kind is StateKind.BROADCAST else (VALUE,)
        return OperatorPlan(operator_states=(OperatorRows.of(data, stored, names),))

    def write(self, context: WriteContext) -> OperatorState:
        """See ``StateTransformation``.

        Raises:
            RescaleError: It is rescaled, but has state that only its operator can spread anew.
        """
        record = self.operator.record
        is_rescaled = (record.parallelism, record.max_parallelism) != (
            context.parallelism,
            context.max_parallelism,
        )
        if is_rescaled:
            self._expect_rescalable()
        kept = record
        plan = OperatorPlan()
        if is_rescaled or self._touches(is_keyed=True):
            kept = _without_keyed_state(kept)
            plan = replace(plan, keyed=self._keyed(context.spark))
        if is_rescaled or self._touches(is_keyed=False):
            kept = _without_operator_state(kept)
            plan = replace(plan, operator_states=self._elements(context.spark))
        written = plan.write(context)
        if is_rescaled:
            return replace(written, coordinator_state=record.coordinator_state)
        return _joined(copied(kept, self.operator.directory, context.target), written)

    def _touches(self, *, is_keyed: bool) -> bool:
        """Whether keyed state, or operator state, is not all as it was."""
        kinds = [state.kind for state in self.operator.catalog.states if state.name in self.removed]
        added = self.added.keyed is not None if is_keyed else bool(self.added.operator_states)
        return added or any(kind.is_keyed == is_keyed for kind in kinds)

    def _keyed(self, spark: SparkSession) -> KeyedPlan | None:
        """The keyed state; None if there is none, nor was any."""
        added = self.added.keyed
        if not any(state.kind.is_keyed for state in self.operator.catalog.states):
            return added
        types = StoredTypes.of(self.operator)
        kept = tuple(info for info in types.states if info.name not in self.removed)
        names = frozenset(info.name for info in kept)
        key = types.key.layout()
        passed = StoredKeyedRows(spark, self.operator, names, key, self.hash_code)
        if added is None:
            return KeyedPlan(types.key, kept, (passed,)) if kept else None
        return KeyedPlan(types.key, (*kept, *added.states), (passed, *added.rows))

    def _elements(self, spark: SparkSession) -> tuple[ElementRows, ...]:
        found = StoredElements.all_of(spark, self.operator)
        kept = tuple(one for one in found if one.state.name not in self.removed)
        return (*kept, *self.added.operator_states)

    def _expect_rescalable(self) -> None:
        """Raises ``RescaleError`` for state of which nobody knows how it is spread."""
        what = {
            StateKind.RAW_KEYED: "raw keyed state",
            StateKind.RAW_OPERATOR: "raw operator state",
        }
        kinds = [state.kind for state in self.operator.catalog.states]
        found = [words for kind, words in what.items() if kind in kinds]
        if any(one.input_channels or one.output_channels for one in self.operator.record.subtasks):
            found.append("records in flight (of an unaligned checkpoint)")
        if found:
            raise RescaleError(
                f"operator {self.operator.name} has {' and '.join(found)}, which only Flink can"
                " spread over other subtasks: rescale a canonical savepoint of the job"
            )


def _without_keyed_state(record: OperatorState) -> OperatorState:
    # Raw timers are keyed state too, and go into the new files as managed ones.
    subtasks = (
        replace(subtask, managed_keyed_state=None, raw_keyed_state=None)
        for subtask in record.subtasks
    )
    return replace(record, subtasks=tuple(subtasks))


def _without_operator_state(record: OperatorState) -> OperatorState:
    subtasks = (replace(subtask, managed_operator_state=None) for subtask in record.subtasks)
    return replace(record, subtasks=tuple(subtasks))


def _joined(kept: OperatorState, written: OperatorState) -> OperatorState:
    """The record of what was kept, with what was written in its gaps."""
    subtasks = {subtask.index: subtask for subtask in kept.subtasks}
    for new in written.subtasks:
        old = subtasks.get(new.index, SubtaskState(new.index))
        subtasks[new.index] = replace(
            old,
            managed_keyed_state=new.managed_keyed_state or old.managed_keyed_state,
            managed_operator_state=new.managed_operator_state or old.managed_operator_state,
        )
    return replace(kept, subtasks=tuple(subtasks[index] for index in sorted(subtasks)))
