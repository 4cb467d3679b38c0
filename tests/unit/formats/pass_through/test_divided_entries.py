"""Entries are divided by their keys: what is taken is decoded elsewhere, the rest goes on as it is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.layout import Int, Struct, TimerTimestamp, VoidNamespace
from savepoint_formats.pass_through.divided_entries import DividedEntries
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.state_files.state_chunk import StateChunk

VOID = b"\0"
TOTAL = State("total", StateKind.VALUE, Int(), Int())
TIMER = Struct(("timestamp", "key", "namespace"), (TimerTimestamp(), Int(), VoidNamespace()))
TIMERS = State("timers", StateKind.TIMERS, TIMER, Int())


def key(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)


def timer(timestamp: int, number: int) -> bytes:
    return (timestamp + (1 << 63)).to_bytes(8, "big") + key(number) + VOID


def chunk(state: State, keys: list[bytes], groups: list[int]) -> StateChunk:
    entries = StoredEntries(
        pa.array(keys, pa.large_binary()), pa.array([b"v"] * len(keys), pa.large_binary())
    )
    return StateChunk(state, entries, np.array(groups, np.uint16))


def keys(*numbers: int) -> pa.LargeBinaryArray:
    return pa.array(map(key, numbers), pa.large_binary())


def test_entries_are_taken_once_and_the_rest_passes_through() -> None:
    parts = [
        chunk(TOTAL, [key(one) + VOID for one in (1, 2)], [0, 1]),
        chunk(TIMERS, [timer(5, 1), timer(7, 3)], [0, 1]),
        chunk(TOTAL, [key(3) + VOID], [1]),
    ]
    divided = DividedEntries(parts, None)
    taken = {one.state.name: one for one in divided.take(keys(1, 3, 9))}
    assert taken["total"].entries.keys.to_pylist() == [key(1) + VOID, key(3) + VOID]
    assert taken["total"].key_groups.tolist() == [0, 1]
    assert taken["timers"].entries.keys.to_pylist() == [timer(5, 1), timer(7, 3)]
    assert divided.take(keys(1, 3)) == []
    (rest,) = divided.rest({"total": 4, "timers": 5}, 128)
    assert rest.to_pylist()[0]["key_group"] == 1
    # State 4, and the only key with the bit of the last one in its key group of one byte.
    assert rest.to_pylist()[0]["run"][:11] == b"\0\4" + b"\0\0\0\6" + b"\x81" + key(2)


def test_keys_are_due_whose_timers_are() -> None:
    parts = [chunk(TIMERS, [timer(-5, 1), timer(7, 2), timer(7, 1), timer(8, 3)], [0, 2, 0, 1])]
    divided = DividedEntries(parts, None)
    assert divided.due({"timers": -6}).keys.to_pylist() == []
    due = divided.due({"timers": 7, "others": 100})
    assert due.keys.to_pylist() == [key(1), key(2)]
    assert due.key_groups.tolist() == [0, 2]
    divided.take(keys(1))
    assert divided.due({"timers": 7}).keys.to_pylist() == [key(2)]
