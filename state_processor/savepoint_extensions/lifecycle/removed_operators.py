"""Which operators go when several are removed at once, and which of them have no state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.errors import UndecodableError
from savepoint_formats.scan import ranges_of_handle
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_handles
from savepoint_formats.state_files import key_layout

if TYPE_CHECKING:
    from savepoint_database.snapshot import Operator
    from savepoint_formats.metadata import SubtaskState
    from state_processor import PlannedOperator, SavepointWriter

_RANGE_SIZE = 1 << 26
"""Bytes of key groups in which an entry is looked for at a time."""


def removed_operators(
    writer: SavepointWriter, uids: tuple[str, ...], *, empty: bool, all_but: tuple[str, ...]
) -> list[PlannedOperator]:
    """The planned operators that go; see ``remove_operator``."""
    if not (uids or empty or all_but):
        raise ValueError("no operator is named: name some, or use empty or all_but")
    gone = [writer.operator(uid) for uid in uids]
    if all_but:
        kept = [writer.operator(uid) for uid in all_but]
        gone += [planned for planned in writer.operators if planned not in kept]
    if empty:
        gone += filter(_has_no_state, writer.operators)
    return gone


def _has_no_state(planned: PlannedOperator) -> bool:
    """Whether it has none in the savepoint, and no change has added any."""
    if planned.source is None or planned.is_made_anew:
        return False
    if not planned.is_copied:
        change = planned.change
        assert change is not None  # it is not made anew
        if any(stage.added.state_names() for stage in change.stages):
            return False
    return restores_nothing(planned.source)


def restores_nothing(operator: Operator) -> bool:
    """Whether Flink restores nothing from it: no handle, or only handles without an entry.

    Raises:
        StateFileNotFoundError: A file of keyed state is gone.
        FormatError: A file is damaged.
    """
    record = operator.record
    # Without the record of an operator that has ended, the job would run it again.
    has_ended = record.is_finished or any(it.is_finished for it in record.subtasks)
    if has_ended or record.coordinator_state is not None:
        return False
    if any(map(_has_fixed_state, record.subtasks)):
        return False
    keyed = [subtask for subtask in record.subtasks if subtask.managed_keyed_state is not None]
    return not any(_has_entries(operator, subtask) for subtask in keyed)


def _has_fixed_state(subtask: SubtaskState) -> bool:
    """Whether it has raw state, records in flight, or elements; of broadcast state, a map."""
    is_raw = subtask.raw_keyed_state is not None or subtask.raw_operator_state is not None
    if is_raw or subtask.input_channels or subtask.output_channels:
        return True
    managed = subtask.managed_operator_state
    return managed is not None and any(state.offsets for state in managed.states)


def _has_entries(operator: Operator, subtask: SubtaskState) -> bool:
    """Whether a key has something; reads until the first entry."""
    operator.expect_read(is_keyed=True)
    states = [state for state in operator.catalog.states if state.kind.is_keyed]
    if not states:
        return False
    names, key = frozenset(state.name for state in states), key_layout(states[0])
    settings = SourceSettings(operator.record.max_parallelism, operator.kryo)
    try:
        return any(
            len(chunk.entries)
            for stored in keyed_handles(subtask)
            for key_groups in ranges_of_handle(stored.handle, stored.handle.key_groups, _RANGE_SIZE)
            for chunk in stored.source(operator.directory, key, settings).state_chunks(
                names, key_groups
            )
        )
    except UndecodableError:
        return True  # there is an entry that can't be decoded
