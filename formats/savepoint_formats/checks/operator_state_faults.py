"""Faults of the elements of operator state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.checks.faults import Check, Fault
from savepoint_formats.errors import SavepointError
from savepoint_formats.scan.operator_scan import OperatorStateSplit, read_operator_state
from savepoint_formats.state_files.state import StateKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import SubtaskState
    from savepoint_formats.state_files.state import State
    from savepoint_formats.values.kryo.dialect import KryoDialect


def checked_elements(
    directory: SnapshotDirectory,
    subtask: SubtaskState,
    states: Iterable[State],
    kryo: KryoDialect | None,
) -> Iterator[tuple[str, int, Fault | None]]:
    """Decodes each operator state of a subtask: its name, number of decoded elements, and fault."""
    handle = subtask.managed_operator_state
    if handle is None:
        return
    counts = {state.name: len(state.offsets) for state in handle.states}
    for state in states:
        if state.kind.is_keyed or state.kind.is_raw or state.name not in counts:
            continue
        split, read = OperatorStateSplit(subtask.index, handle), 0
        try:
            for columns in read_operator_state(directory, split, state, kryo):
                read += len(columns[0])
        except SavepointError as error:
            lost, cost = _cost(state, counts[state.name] - read)
            fault = Fault.of(Check.VALUES, error, cost=cost, lost_entries=lost)
            yield state.name, read, replace(fault, subtask=subtask.index, state=state.name)
        else:
            yield state.name, read, None


def _cost(state: State, left: int) -> tuple[int | None, str]:
    if state.kind is StateKind.BROADCAST:
        return None, "this subtask's copy of the map"
    return left, f"up to {left:,} elements of the state in this subtask"
