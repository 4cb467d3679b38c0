"""Savepoints whose operator state is objects of Kryo."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.metadata import (
    CheckpointMetadata,
    DistributionMode,
    InlineStream,
    OperatorState,
    SubtaskState,
)
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot
from savepoint_formats.state_files.operator_state import (
    BroadcastEntries,
    ListElements,
    OperatorStateFile,
)
from support.hand_made import STRING, kryo_of

if TYPE_CHECKING:
    from pathlib import Path

UID = "buffer"
_KRYO = TypeSerializerSnapshot.read(SnapshotView(kryo_of("java.lang.Object")))
_TEXT = TypeSerializerSnapshot.read(SnapshotView(STRING))


def savepoint_of(
    folder: Path, objects: list[bytes], by_name: dict[str, bytes], name: str = "objects"
) -> str:
    """A savepoint of Flink 1.x: an operator with a union list of objects, and broadcast ones by name."""
    names = [bytes([len(text) + 1]) + text.encode() for text in by_name]
    output = io.BytesIO()
    file = OperatorStateFile.write(
        output,
        [ListElements(name, DistributionMode.UNION, _KRYO, _bytes(objects))],
        [BroadcastEntries.of("by_name", _TEXT, _KRYO, _bytes(names), _bytes([*by_name.values()]))],
    )
    handle = file.handle(InlineStream("state", output.getvalue()))
    subtask = SubtaskState(0, managed_operator_state=handle)
    operator = OperatorState(OperatorId.from_uid(UID), 1, 128, (subtask,))
    view = DataOutputView()
    CheckpointMetadata.new((operator,)).write(view)
    folder.mkdir(parents=True)
    (folder / "_metadata").write_bytes(view.to_bytes())
    return str(folder)


def _bytes(values: list[bytes]) -> pa.LargeBinaryArray:
    return pa.array(values, pa.large_binary())
