"""Raw keyed state with sections of timers, as an operator whose timers are on the heap leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.metadata import (
    InlineStream,
    KeyedHandleType,
    KeyGroupRangeOffsets,
    KeyGroupsHandle,
    OperatorState,
    SubtaskState,
)
from support.hand_made import EVERYTHING, LONG, STRING, i32, operator_of, utf

if TYPE_CHECKING:
    from savepoint_formats.key_groups.ranges import KeyGroupRange

START = bytes.fromhex("f1cd859f 00000002")


def timer(key: bytes, namespace: bytes, time: int) -> bytes:
    return key + namespace + time.to_bytes(8, "big", signed=True)


def service(name: str, event: list[bytes], processing: list[bytes], *types: bytes) -> bytes:
    queues = [i32(len(timers)) + b"".join(timers) for timers in (event, processing)]
    return utf(name) + b"".join(types or (STRING, LONG)) + b"".join(queues)


def section(*services: bytes) -> bytes:
    return START + i32(len(services)) + b"".join(services)


def raw(
    *sections: bytes | None, key_groups: KeyGroupRange = EVERYTHING, junk: bytes = b""
) -> KeyGroupsHandle:
    """A handle of the sections of the first key groups; of None, and all others, nothing is there."""
    data, offsets = junk, [-1] * len(key_groups)
    for index, one in enumerate(sections):
        offsets[index] = -1 if one is None else len(data)
        data += one or b""
    groups = KeyGroupRangeOffsets(key_groups, tuple(offsets))
    return KeyGroupsHandle(KeyedHandleType.KEY_GROUPS, groups, InlineStream("raw", data), "id")


def with_raw(*handles: KeyGroupsHandle) -> OperatorState:
    return operator_of(
        *(SubtaskState(i, raw_keyed_state=handle) for i, handle in enumerate(handles))
    )
