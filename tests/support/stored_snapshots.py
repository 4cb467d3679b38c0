"""The serializer snapshots that the sample savepoints hold."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import CheckpointMetadata
from savepoint_formats.state_files.header import (
    HeaderBytes,
    KeyedBackendHeader,
    OperatorBackendHeader,
)
from savepoint_formats.tables.catalog import base_handles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from savepoint_formats.metadata import SubtaskState
    from savepoint_formats.snapshots import TypeSerializerSnapshot


@cache
def stored_snapshots(samples: Path) -> frozenset[TypeSerializerSnapshot]:
    """All serializers in a folder of savepoints, and those that they are made of."""
    return frozenset(
        part
        for metadata in samples.rglob("_metadata")
        for snapshot in _serializers(SnapshotDirectory.of(str(metadata.parent)))
        for part in _tree(snapshot)
    )


def _serializers(directory: SnapshotDirectory) -> Iterator[TypeSerializerSnapshot]:
    metadata = CheckpointMetadata.read(DataInputView(directory.read_metadata()))
    for operator in metadata.operators:
        for subtask in operator.subtasks:
            yield from _keyed(directory, subtask)
            yield from _operator(directory, subtask)


def _keyed(directory: SnapshotDirectory, subtask: SubtaskState) -> Iterator[TypeSerializerSnapshot]:
    for handle in base_handles(subtask.managed_keyed_state):
        header = KeyedBackendHeader.parse(HeaderBytes.of_keyed_state(directory, handle))
        yield header.key_serializer
        for state in header.states:
            yield from (snapshot for _, snapshot in state.serializers)


def _operator(
    directory: SnapshotDirectory, subtask: SubtaskState
) -> Iterator[TypeSerializerSnapshot]:
    handles = subtask.managed_operator_state
    if handles is not None and handles.states:
        header = OperatorBackendHeader.parse(HeaderBytes.of_operator_state(directory, handles))
        for state in (*header.list_states, *header.broadcast_states):
            yield from (snapshot for _, snapshot in state.serializers)


def _tree(snapshot: TypeSerializerSnapshot) -> Iterator[TypeSerializerSnapshot]:
    yield snapshot
    for nested in snapshot.nested:
        yield from _tree(nested)


def snapshot_bytes(snapshot: TypeSerializerSnapshot) -> bytes:
    """The bytes of a snapshot."""
    view = DataOutputView()
    snapshot.write(view)
    return view.to_bytes()
