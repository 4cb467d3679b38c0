"""What of an operator stays as it is when some of its state is written anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.errors import RescaleError
from savepoint_formats.metadata import SubtaskState
from savepoint_formats.state_files.state import StateKind

if TYPE_CHECKING:
    from savepoint_database.snapshot.operator import Operator
    from savepoint_formats.metadata import OperatorState


def expect_rescalable(operator: Operator) -> None:
    """Looks whether all state of an operator can be spread over other subtasks.

    Raises:
        RescaleError: Nobody knows how some of it is spread.
        SavepointError: A file of it is missing or damaged.
    """
    operator.expect_read()
    what = {
        StateKind.RAW_KEYED: "raw keyed state",
        StateKind.RAW_OPERATOR: "raw operator state",
    }
    kinds = [state.kind for state in operator.catalog.states]
    fixed = [words for kind, words in what.items() if kind in kinds]
    if any(
        subtask.input_channels or subtask.output_channels for subtask in operator.record.subtasks
    ):
        fixed.append("records in flight (of an unaligned checkpoint)")
    if fixed:
        raise RescaleError(
            f"operator {operator.name} has {' and '.join(fixed)}, which only Flink can"
            " spread over other subtasks: rescale a canonical savepoint of the job"
        )


def without_keyed_state(record: OperatorState) -> OperatorState:
    """The record without keyed state."""
    # Raw timers are keyed state too, and go into the new files as managed ones.
    subtasks = (
        replace(subtask, managed_keyed_state=None, raw_keyed_state=None)
        for subtask in record.subtasks
    )
    return replace(record, subtasks=tuple(subtasks))


def without_operator_state(record: OperatorState) -> OperatorState:
    """The record without managed operator state."""
    subtasks = (replace(subtask, managed_operator_state=None) for subtask in record.subtasks)
    return replace(record, subtasks=tuple(subtasks))


def joined(kept: OperatorState, written: OperatorState) -> OperatorState:
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
