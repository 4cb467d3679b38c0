"""Keys are left out of what passes through, whatever file they are in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.counted_calls import calls_in

from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.layout import Int, Layout, MapOf, Struct, Text, TimerTimestamp, VoidNamespace
from savepoint_formats.pass_through.divided_entries import ListedKeys
from savepoint_formats.program.encode import Encoder
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.state_files.state_chunk import StateChunk

VOID = b"\0"


def chunk(state: State, keys: list[bytes]) -> StateChunk:
    entries = StoredEntries(
        pa.array(keys, pa.large_binary()), pa.array([b"v"] * len(keys), pa.large_binary())
    )
    return StateChunk(state, entries, np.arange(len(keys), dtype=np.uint16))


def left(found: StateChunk, layout: Layout, deleted: list[object]) -> list[int]:
    """The key groups, which number the entries, that remain."""
    keys = Encoder(layout).encode(pa.array(deleted, Encoder(layout).type))
    (rest,) = ListedKeys(keys, is_excluded=True).chosen([found], None)
    assert len(rest.entries) == len(rest.key_groups)
    return [int(one) for one in rest.key_groups]


def number(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def text(value: str) -> bytes:
    return bytes([len(value) + 1]) + value.encode()


def test_entries_of_the_keys_are_left_out() -> None:
    state = State("total", StateKind.VALUE, Int(), Int())
    found = chunk(state, [number(one) + VOID for one in (1, -2, 3, 1)])
    assert left(found, Int(), [1, 7]) == [1, 2]
    assert left(found, Int(), []) == [0, 1, 2, 3]


@pytest.mark.parametrize("deleted", [["a"], ["a", "abc"], ["ab"]])
def test_keys_of_any_size_are_told_from_what_is_behind_them(deleted: list[object]) -> None:
    texts = ["a", "ab", "abc", "a"]
    state = State("names", StateKind.MAP, MapOf(Text(), Int()), Text())
    found = chunk(state, [text(one) + VOID + text("user key") for one in texts])
    assert left(found, Text(), deleted) == [n for n, one in enumerate(texts) if one not in deleted]


def test_timers_of_the_keys_are_left_out() -> None:
    names = ("timestamp", "key", "namespace")
    timer = Struct(names, (TimerTimestamp(), Int(), VoidNamespace()))
    state = State("_timer_state/event_user-timers", StateKind.TIMERS, timer, Int())
    found = chunk(state, [bytes(8) + number(one) + VOID for one in (5, 6, 5)])
    assert left(found, Int(), [5]) == [1]


few_bytes = st.lists(st.binary(max_size=2) | st.integers(0, 9).map(number), max_size=60)


@given(few_bytes, few_bytes)
def test_listed_keys_are_those_with_equal_bytes(listed: list[bytes], keys: list[bytes]) -> None:
    listed_keys, stored = (pa.array(each, pa.large_binary()) for each in (listed, keys))
    expected = pc.is_in(stored, listed_keys).to_pylist()
    assert ListedKeys(listed_keys).are_listed(stored).tolist() == expected


def test_listed_keys_are_hashed_once_for_all_chunks() -> None:
    state = State("total", StateKind.VALUE, Int(), Int())
    chunks = [chunk(state, [number(n) + VOID]) for n in range(20)]
    listed = ListedKeys(Encoder(Int()).encode(pa.array(range(10), pa.int32())))
    calls = calls_in(lambda: list(listed.chosen(chunks, None)))
    assert calls["stored_entries.distinct_hashes"] == 1 + len(chunks)
