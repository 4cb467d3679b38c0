"""An operator that loses some operator states, and gets lists of byte arrays instead."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from savepoint_formats.bytes import DataOutputView
from savepoint_formats.metadata import (
    DistributionMode,
    InlineStream,
    OperatorState,
    OperatorStateHandle,
    OperatorStateOffsets,
    SubtaskState,
)
from savepoint_formats.scan import operator_splits
from savepoint_formats.snapshots import constructed
from savepoint_formats.state_files import (
    OperatorBackendHeader,
    StateMetaInfo,
    byte_array,
    element_arrays,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from savepoint_database.snapshot import Operator


@dataclass(frozen=True, slots=True)
class Renewed:
    """What a connector's operator becomes.

    Attributes:
        record: The operator without its old state.
        added: Operators that the savepoint didn't have.
        remarks: What the user must know.
        names: Splits and topics that the old state has.
    """

    record: OperatorState
    added: tuple[OperatorState, ...] = ()
    remarks: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RenewalOptions:
    """What the user chose.

    Attributes:
        without_topics: Topics and streams that the new source doesn't read.
        allows_empty: Whether a source without a position is renewed.
        stream_arns: ARNs of streams of Kinesis.
        directory: The directory that an old source of files watches.
        newest_files_ms: Times that monitoring functions of the savepoint have stored.
        is_stopped: Whether the savepoint stopped its job.
        positions: Split -> where the new source reads it, as JSON, instead of its stored position.
    """

    without_topics: frozenset[str] = field(default_factory=frozenset)
    allows_empty: bool = False
    stream_arns: tuple[str, ...] = ()
    directory: str = ""
    newest_files_ms: tuple[int, ...] = ()
    is_stopped: bool = False
    positions: Mapping[str, str] = field(default_factory=dict)


def has_list(operator: Operator, state: str) -> bool:
    """Whether an operator has an operator state of a name, be it empty."""
    return any(
        known.name == state
        for split in operator_splits(operator.record)
        for known in split.handle.states
    )


def with_byte_lists(
    operator: Operator, removed: Collection[str], added: Mapping[int, Mapping[str, Iterable[bytes]]]
) -> OperatorState:
    """The record of an operator without some states, with lists of byte arrays by subtask and name.

    Raises ``SavepointError`` if a file is gone or damaged.
    """
    subtasks = [
        replace(
            subtask,
            managed_operator_state=_changed(
                operator,
                subtask.managed_operator_state,
                removed,
                added.get(subtask.index, {}),
                subtask.index,
            ),
        )
        for subtask in operator.record.subtasks
    ]
    known = {subtask.index for subtask in subtasks}
    for index in sorted(added.keys() - known):
        handle = _changed(operator, None, removed, added[index], index)
        subtasks.append(SubtaskState(index, managed_operator_state=handle))
    return replace(operator.record, subtasks=tuple(subtasks))


def byte_list_handle(lists: Mapping[str, Iterable[bytes]], name: str) -> OperatorStateHandle:
    """Lists of byte arrays of a subtask that has nothing else, in a stream with a unique name."""
    view = DataOutputView()
    OperatorBackendHeader.of(tuple(map(_byte_list, lists)), ()).write(view)
    written = [
        OperatorStateOffsets(
            state, DistributionMode.SPLIT_DISTRIBUTE, _written(view, map(byte_array, elements))
        )
        for state, elements in lists.items()
    ]
    return OperatorStateHandle(tuple(written), InlineStream(name, view.to_bytes()))


def _changed(
    operator: Operator,
    handle: OperatorStateHandle | None,
    removed: Collection[str],
    added: Mapping[str, Iterable[bytes]],
    subtask: int,
) -> OperatorStateHandle | None:
    if handle is None and not added:
        return None
    if (
        handle is not None
        and not added
        and not {state.name for state in handle.states} & {*removed}
    ):
        return handle
    header, entries = OperatorBackendHeader.of((), ()), list[OperatorStateOffsets]()
    if handle is not None:
        header = replace(
            OperatorBackendHeader.of_handle(operator.directory, handle), is_compressed=False
        )
        entries = [entry for entry in handle.states if entry.name not in removed]
    kept = tuple(state for state in header.list_states if state.name not in removed)
    if not (kept or header.broadcast_states or added):
        return None
    lists = (*kept, *map(_byte_list, added))
    view = DataOutputView()
    replace(header, list_states=lists).write(view)
    written = []
    for entry in sorted(entries, key=lambda entry: entry.offsets):
        assert handle is not None  # its entries are those of a handle
        arrays = element_arrays(operator.directory, handle, entry.name)
        offsets = _written(view, chain.from_iterable(array.to_pylist() for array in arrays))
        written.append(replace(entry, offsets=offsets))
    for name, elements in added.items():
        offsets = _written(view, map(byte_array, elements))
        written.append(OperatorStateOffsets(name, DistributionMode.SPLIT_DISTRIBUTE, offsets))
    # Flink takes streams of one name for the same when it gives their elements to other subtasks.
    name = f"renewed-{operator.id}-{subtask}"
    return OperatorStateHandle(tuple(written), InlineStream(name, view.to_bytes()))


def _byte_list(name: str) -> StateMetaInfo:
    element = constructed.basic("array.BytePrimitiveArray")
    return StateMetaInfo.of_operator(name, DistributionMode.SPLIT_DISTRIBUTE, element)


def _written(view: DataOutputView, elements: Iterable[bytes]) -> tuple[int, ...]:
    offsets = []
    for element in elements:
        offsets.append(view.position)
        view.write_bytes(element)
    return tuple(offsets)
