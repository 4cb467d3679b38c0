"""Whether keyed state is in Flink's canonical format, and whether it can be converted to it."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from savepoint_formats.errors import ConversionError, SavepointError
from savepoint_formats.metadata import KeyedHandleType
from savepoint_formats.state_files import BackendStateType, StateKind
from savepoint_formats.tables import keyed_headers

if TYPE_CHECKING:
    from savepoint_database.snapshot import Operator
    from savepoint_formats.metadata import SubtaskState


def needs_conversion(operator: Operator) -> bool:
    """Whether some keyed state of the operator is in the format of one state backend.

    Raw timers count as keyed state. Other raw keyed state is the same for all backends, and stays.
    """
    subtasks = operator.record.subtasks
    managed = (subtask.managed_keyed_state for subtask in subtasks)
    formats = {handle.type for handle in managed if handle is not None}
    if formats - {KeyedHandleType.CANONICAL_SAVEPOINT} or _has_state_v2(operator):
        return True
    has_raw = any(subtask.raw_keyed_state is not None for subtask in subtasks)
    return has_raw and not _has_unknown_state(operator)


def expect_convertible(operator: Operator) -> None:
    """Raises ``ConversionError`` if only the operator itself can read some of its keyed state.

    Missing and damaged files of keyed state raise a ``SavepointError``.
    """
    operator.expect_read(is_keyed=True)
    if _has_unknown_state(operator):
        raise ConversionError(
            f"operator {operator.name} has raw keyed state, which only the operator itself can"
            " read, and keyed state in the format of a state backend: take a canonical"
            " savepoint of the job, or remove the operator"
        )


def is_of_forst(operator: Operator) -> bool:
    """Whether the files of its first subtask with keyed state have state V2, which only ForSt writes."""
    keyed = (it for it in operator.record.subtasks if it.managed_keyed_state is not None)
    return _has_state_v2(operator, tuple(islice(keyed, 1)))


def _has_state_v2(operator: Operator, subtasks: tuple[SubtaskState, ...] | None = None) -> bool:
    """Whether files of these subtasks, or all, have state V2, which Flink never writes canonically."""
    with suppress(SavepointError):
        return any(
            info.type is BackendStateType.KEY_VALUE_V2
            for subtask in subtasks or operator.record.subtasks
            for header in keyed_headers(operator.directory, subtask)
            for info in header.states
        )
    return False


def _has_unknown_state(operator: Operator) -> bool:
    return any(state.kind is StateKind.RAW_KEYED for state in operator.catalog.states)
