"""Bytes of the serializers of Kafka's connector, and savepoints with them.

The bytes are what ``KafkaVectors.java`` prints with the connectors 3.4.0-1.20 and 4.0.1-2.0. Those of a
``FlinkKafkaConsumer`` are a whole ``_metadata`` that ``ConsumerState.java`` makes with 1.17.2.
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
ENUMERATOR_OF_PAYMENTS = bytes.fromhex(
    "00000002000000170000000100087061796d656e7473000000000000000101"
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

CONSUMER = bytes.fromhex(
    "4960672d00000004000000000000000100000000000000010123456789abcdef0123456789abcdef00000001"
    "00000080000000000100000000000000010400000001001d746f7069632d706172746974696f6e2d6f666673"
    "65742d7374617465730100000003000000000000040e0000000000000425000000000000043c010024303030"
    "30303030302d303030302d303030302d303030302d3030303030303030303030300000045400000005000100"
    "1d746f7069632d706172746974696f6e2d6f66667365742d737461746573000000010000000100204f504552"
    "41544f525f53544154455f444953545249425554494f4e5f4d4f44450005554e494f4e00000001001056414c"
    "55455f53455249414c495a45520000000200436f72672e6170616368652e666c696e6b2e6170692e6a617661"
    "2e747970657574696c732e72756e74696d652e5475706c6553657269616c697a6572536e617073686f740000"
    "0003000de7040000000200266f72672e6170616368652e666c696e6b2e6170692e6a6176612e7475706c652e"
    "5475706c6532001457fd000000010000000200476f72672e6170616368652e666c696e6b2e6170692e6a6176"
    "612e747970657574696c732e72756e74696d652e6b72796f2e4b72796f53657269616c697a6572536e617073"
    "686f740000000200496f72672e6170616368652e666c696e6b2e73747265616d696e672e636f6e6e6563746f"
    "72732e6b61666b612e696e7465726e616c732e4b61666b61546f706963506172746974696f6e000004f2c69a"
    "3d700000000200496f72672e6170616368652e666c696e6b2e73747265616d696e672e636f6e6e6563746f72"
    "732e6b61666b612e696e7465726e616c732e4b61666b61546f706963506172746974696f6e010000004b0049"
    "6f72672e6170616368652e666c696e6b2e73747265616d696e672e636f6e6e6563746f72732e6b61666b612e"
    "696e7465726e616c732e4b61666b61546f706963506172746974696f6e010000004f00496f72672e61706163"
    "68652e666c696e6b2e73747265616d696e672e636f6e6e6563746f72732e6b61666b612e696e7465726e616c"
    "732e4b61666b61546f706963506172746974696f6e0000000000296f72672e6170616368652e6176726f2e67"
    "656e657269632e47656e6572696344617461244172726179010000002b00296f72672e6170616368652e6176"
    "726f2e67656e657269632e47656e657269634461746124417272617901000000b600556f72672e6170616368"
    "652e666c696e6b2e6170692e6a6176612e747970657574696c732e72756e74696d652e6b72796f2e53657269"
    "616c697a6572732444756d6d794176726f52656769737465726564436c6173730000000100596f72672e6170"
    "616368652e666c696e6b2e6170692e6a6176612e747970657574696c732e72756e74696d652e6b72796f2e53"
    "657269616c697a6572732444756d6d794176726f4b72796f53657269616c697a6572436c617373000004f2c6"
    "9a3d7000000000000004f2c69a3d700000000000506f72672e6170616368652e666c696e6b2e6170692e636f"
    "6d6d6f6e2e747970657574696c732e626173652e4c6f6e6753657269616c697a6572244c6f6e675365726961"
    "6c697a6572536e617073686f740000000300005701899998ff0800016f72646572f300000000000000295701"
    "879998ff0802016f72646572f3ffffff2ad0922891570199a6c15200017061796d656e74f3ffffff2ad09228"
    "930000000000000000000000000000aced000570"
)


def coordinator(enumerator: bytes) -> bytes:
    """The state of a coordinator of Flink 1.14 and later."""
    return (1).to_bytes(4, "big") + enumerator


def bytes_savepoint(
    folder: Path,
    states: Mapping[str, Mapping[str, Sequence[bytes]]],
    coordinators: Mapping[str, bytes] | None = None,
    others: Mapping[str, Sequence[ListElements]] | None = None,
) -> Path:
    """A savepoint of operators (by uid) that have lists of bytes (by state), in one subtask.

    ``others`` are lists of other types, by uid.
    """
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
                        [len(element).to_bytes(4, "big") + element for element in elements],
                        pa.large_binary(),
                    ),
                )
                for name, elements in lists.items()
            ]
            + list((others or {}).get(uid, ())),
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
