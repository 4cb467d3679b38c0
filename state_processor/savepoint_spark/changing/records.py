"""Records of operators, from which some state goes, and to which other state comes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.errors import RescaleError
from savepoint_formats.metadata import SubtaskState
from savepoint_formats.sources.changed_source import ChangedHandle
from savepoint_formats.state_files import ChangedElements, StateKind

if TYPE_CHECKING:
    from savepoint_database.snapshot import Operator
    from savepoint_formats.metadata import OperatorState


def is_changed(operator: Operator, *, is_keyed: bool) -> bool:
    """Whether earlier changes are made as the state is read."""
    if is_keyed:
        keyed = (subtask.managed_keyed_state for subtask in operator.record.subtasks)
        return any(isinstance(handle, ChangedHandle) for handle in keyed)
    handles = (subtask.managed_operator_state for subtask in operator.record.subtasks)
    return any(isinstance(handle, ChangedElements) for handle in handles)


def expect_rescalable(operator: Operator) -> None:
    """Raises ``RescaleError`` if it has state that only Flink can spread anew."""
    operator.expect_read()
    what = {StateKind.RAW_KEYED: "raw keyed state", StateKind.RAW_OPERATOR: "raw operator state"}
    kinds = [state.kind for state in operator.catalog.states]
    fixed = [words for kind, words in what.items() if kind in kinds]
    has_in_flight = any(
        subtask.input_channels or subtask.output_channels for subtask in operator.record.subtasks
    )
    if has_in_flight:
        fixed.append("records in flight (of an unaligned checkpoint)")
    if fixed:
        way = " (or drop the records first: savepoint convert --drop-in-flight)" * has_in_flight
        raise RescaleError(
            f"operator {operator.name} has {' and '.join(fixed)}, which only Flink can"
            f" spread over other subtasks: rescale a canonical savepoint of the job{way}"
        )


def without_keyed_state(record: OperatorState) -> OperatorState:
    """The record without the keyed state that is written anew."""
    # Raw timers are keyed state too, and become managed ones in the new files.
    subtasks = (
        replace(subtask, managed_keyed_state=None, raw_keyed_state=None)
        for subtask in record.subtasks
    )
    return replace(record, subtasks=tuple(subtasks))


def without_operator_state(record: OperatorState) -> OperatorState:
    """The record without the operator state that is written anew."""
    subtasks = (replace(subtask, managed_operator_state=None) for subtask in record.subtasks)
    return replace(record, subtasks=tuple(subtasks))


def joined(remaining: OperatorState, written: OperatorState) -> OperatorState:
    """The remaining record, with the written state in its gaps."""
    subtasks = {subtask.index: subtask for subtask in remaining.subtasks}
    for new in written.subtasks:
        old = subtasks.get(new.index, SubtaskState(new.index))
        subtasks[new.index] = replace(
            old,
            managed_keyed_state=new.managed_keyed_state or old.managed_keyed_state,
            managed_operator_state=new.managed_operator_state or old.managed_operator_state,
        )
    return replace(remaining, subtasks=tuple(subtasks[index] for index in sorted(subtasks)))
