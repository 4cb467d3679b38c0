"""Canonical savepoints of one operator, ``a``: a state ``total`` of longs, by keys that are texts."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.hashing.key_hash import java_hash
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange, key_group
from savepoint_formats.layout import Text
from savepoint_formats.metadata import (
    CheckpointMetadata,
    InlineStream,
    KeyedHandleType,
    KeyGroupRangeOffsets,
    KeyGroupsHandle,
    OperatorState,
    SubtaskState,
)
from support.hand_made import BASE, encoded, header, meta_info, snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LONG = snapshot(f"{BASE}LongSerializer$LongSerializerSnapshot")


def savepoint_of_longs(
    folder: Path,
    totals: Mapping[str, int],
    max_parallelism: int = 128,
    uid: str = "a",
    state: str = "total",
    value: bytes = LONG,
) -> Path:
    """Writes a savepoint of these totals, in one file; at most 128 key groups.

    Another ``value`` is the serializer of a state without totals.
    """
    groups: dict[int, list[bytes]] = {}
    for key, total in totals.items():
        group = key_group(java_hash(Text(), key), max_parallelism)
        stored = bytes([group]) + encoded(Text(), key) + b"\0"  # of a namespace that there is not
        entry = struct.pack(">i", len(stored)) + stored + struct.pack(">iq", 8, total)
        groups.setdefault(group, []).append(entry)
    data, offsets = bytearray(header(meta_info(state, "VALUE", value))), [0] * max_parallelism
    for group, entries in groups.items():
        offsets[group] = len(data)
        last = bytearray(entries[-1])
        last[4] |= 0x80
        data += struct.pack(">H", 0) + b"".join(entries[:-1]) + last + b"\xff\xff"
    key_groups = KeyGroupRange(0, max_parallelism - 1)
    handle = KeyGroupsHandle(
        KeyedHandleType.CANONICAL_SAVEPOINT,
        KeyGroupRangeOffsets(key_groups, tuple(offsets)),
        InlineStream("state", bytes(data)),
    )
    subtask = SubtaskState(0, managed_keyed_state=handle)
    operator = OperatorState(OperatorId.from_uid(uid), 1, max_parallelism, (subtask,), uid=uid)
    view = DataOutputView()
    CheckpointMetadata.new((operator,)).write(view)
    folder.mkdir(parents=True)
    (folder / "_metadata").write_bytes(view.to_bytes())
    return folder
