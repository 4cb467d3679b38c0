"""What the serializers of Kafka's connector write, and savepoints that have it.

The bytes are what ``KafkaVectors.java`` prints with the connectors 3.4.0-1.20 and 4.0.1-2.0.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.metadata import (
    CheckpointMetadata,
    DistributionMode,
    InlineStream,
    OperatorState,
    SubtaskState,
)
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot
from savepoint_formats.state_files.operator_state import ListElements, OperatorStateFile
from support.hand_made import BASE, snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SPLIT = bytes.fromhex("000000000000001c00066f726465727300000003000000000000002a8000000000000000")
BOUNDED_SPLIT = bytes.fromhex(
    "000000000000001c00066f726465727300000003000000000000002a0000000000000063"
)
EARLIEST_SPLIT = bytes.fromhex(
    "000000000000001c00066f726465727300000003fffffffffffffffe8000000000000000"
)
ENUMERATOR = bytes.fromhex(
    "00000002000000270000000200066f7264657273000000030000000000087061796d656e7473000000000000000101"
)
PARTITIONS_1 = bytes.fromhex("0000000100066f726465727300000003")
WRITERS = {
    "3.4.0-1.20": bytes.fromhex("00000001000000080006707265666978"),
    "4.0.1-2.0": bytes.fromhex(
        "000000020000002c000670726566697800000001000000040000000100000001000a7072656669782d302d35"
        "0000000000000005"
    ),
}
COMMITTABLE = bytes.fromhex("000000010000001600020000000000000007000a7072656669782d302d31")
COLLECTORS = {
    "3.4.0-1.20": bytes.fromhex(
        "000000020000006ab91f252c00000001000000010000005a0000000000000001000000010000000100000001"
        "0000004200000000000000000000000100000026000000010000001600020000000000000007000a70726566"
        "69782d302d310000000000000000000000010000000000000000"
    ),
    "4.0.1-2.0": bytes.fromhex(
        "0000000200000066b91f252c0000000100000001000000560000000000000001000000010000000200000001"
        "0000003e00000000000000000000000100000026000000010000001600020000000000000007000a70726566"
        "69782d302d3100000000000000000000000100000000"
    ),
}


def coordinator(enumerator: bytes) -> bytes:
    """The state of a coordinator of Flink 1.14 and later."""
    return (1).to_bytes(4, "big") + enumerator


def bytes_savepoint(
    folder: Path,
    states: Mapping[str, Mapping[str, Sequence[bytes]]],
    coordinators: Mapping[str, bytes] | None = None,
) -> Path:
    """A savepoint of operators (by uid) that have lists of bytes (by state), in one subtask."""
    name = f"{BASE}array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot"
    element = TypeSerializerSnapshot.read(SnapshotView(snapshot(name)))
    operators = []
    for uid, lists in states.items():
        output = io.BytesIO()
        file = OperatorStateFile.write(
            output,
            [
                ListElements(
                    name,
                    DistributionMode.SPLIT_DISTRIBUTE,
                    element,
                    pa.array(
                        [len(one).to_bytes(4, "big") + one for one in found], pa.large_binary()
                    ),
                )
                for name, found in lists.items()
            ],
        )
        subtask = SubtaskState(
            0, managed_operator_state=file.handle(InlineStream("state", output.getvalue()))
        )
        state = (coordinators or {}).get(uid)
        operators.append(
            OperatorState(
                OperatorId.from_uid(uid),
                1,
                128,
                (subtask,),
                coordinator_state=None if state is None else InlineStream("coordinator", state),
            )
        )
    view = DataOutputView()
    CheckpointMetadata.new(tuple(operators)).write(view)
    folder.mkdir(parents=True)
    (folder / "_metadata").write_bytes(view.to_bytes())
    assert CheckpointMetadata.read(DataInputView(view.to_bytes())).operators
    return folder
