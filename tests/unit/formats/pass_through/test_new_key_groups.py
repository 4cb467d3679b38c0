"""Keys find their key groups anew, whatever lies around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nightly import examples

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.errors import FormatError, HashCodeError, UnstableHashError
from savepoint_formats.hashing.key_hash import java_hash
from savepoint_formats.key_groups.ranges import key_group
from savepoint_formats.layout import (
    Int,
    Layout,
    Long,
    MapOf,
    Nullable,
    Opaque,
    Pojo,
    Struct,
    Text,
    TimerTimestamp,
    VoidNamespace,
)
from savepoint_formats.pass_through.new_key_groups import NewKeyGroups
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.state_files.state_chunk import StateChunk
from savepoint_formats.values.state_entries import EntryWriter, entry_key

if TYPE_CHECKING:
    from collections.abc import Sequence

BEFORE, AFTER = 128, 300
PAIR = Struct(("f0", "f1"), (Int(), Text()))
UNKNOWN = Opaque("com.shop.Custom", "its serializer is not known")


def written(layout: Layout, value: Any) -> bytes:
    view = DataOutputView()
    EntryWriter(view).write(layout, value)
    return view.to_bytes()


def piece_of(state: State, keys: Sequence[bytes], groups: Sequence[int]) -> StateChunk:
    values = pa.array([b""] * len(keys), pa.large_binary())
    entries = StoredEntries(pa.array(keys, pa.large_binary()), values)
    return StateChunk(state, entries, np.array(groups, np.uint16))


def state_of(kind: StateKind, key: Layout, namespace: Layout, user_key: Layout) -> State:
    """A state, whose values are of no interest."""
    stored: Layout = Text()
    if kind is StateKind.TIMERS:
        stored = Struct(("timestamp", "key", "namespace"), (TimerTimestamp(), key, namespace))
    elif kind is StateKind.MAP:
        stored = MapOf(user_key, Nullable(Text()))
    has_none = isinstance(namespace, VoidNamespace)
    return State("state", kind, stored, key, None if has_none else namespace)


def stored_key(state: State, namespace: Layout, key: Any, scope: Any, user_key: Any) -> bytes:
    """Bytes behind the prefix."""
    assert state.key is not None
    if state.kind is StateKind.TIMERS:
        return written(state.stored, {"timestamp": 44, "key": key, "namespace": scope})
    of_map = state.stored.key if isinstance(state.stored, MapOf) else None
    whole = entry_key(0, state.key, namespace, of_map)
    parts = {"prefix": None, "key": key, "namespace": scope, "user_key": user_key}
    return written(whole, parts)


LONGS = st.integers(-(2**63), 2**63 - 1)
INTS = st.integers(-(2**31), 2**31 - 1)
PAIRS = st.fixed_dictionaries({"f0": INTS, "f1": st.text(max_size=5)})
KEYS = [(Long(), LONGS), (Text(), st.text(max_size=300)), (PAIR, PAIRS)]
NAMESPACES = [(VoidNamespace(), None), (Long(), 7), (Text(), "scope")]
USER_KEYS = [(Long(), 5), (Text(), "a user key")]


@pytest.mark.parametrize("kind", [StateKind.VALUE, StateKind.LIST, StateKind.MAP, StateKind.TIMERS])
@settings(max_examples=examples(40))
@given(data=st.data())
def test_a_key_is_told_from_all_that_lies_around_it(data: st.DataObject, kind: StateKind) -> None:
    key, any_key = data.draw(st.sampled_from(KEYS))
    namespace, scope = data.draw(st.sampled_from(NAMESPACES))
    user_key_layout, user_key = data.draw(st.sampled_from(USER_KEYS))
    state = state_of(kind, key, namespace, user_key_layout)
    keys = data.draw(st.lists(any_key, min_size=1, max_size=5))
    stored = [stored_key(state, namespace, one, scope, user_key) for one in keys]
    hashes = [java_hash(key, one) for one in keys]
    chunk = piece_of(state, stored, [key_group(one, BEFORE) for one in hashes])
    groups = NewKeyGroups(BEFORE, AFTER, None, None)
    expected = [key_group(one, AFTER) for one in hashes]
    assert groups.of(chunk).tolist() == expected


@pytest.mark.parametrize("before", [100, BEFORE, AFTER])
@settings(max_examples=examples(30))
@given(
    keys=st.lists(INTS, min_size=1),
    after=st.integers(1, 1 << 15) | st.sampled_from([1, 256, 1 << 15]),
)
def test_any_number_of_key_groups_may_become_any_other(
    before: int, keys: list[int], after: int
) -> None:
    state = state_of(StateKind.VALUE, Int(), VoidNamespace(), Long())
    stored = [written(Int(), key) + b"\0" for key in keys]
    chunk = piece_of(state, stored, [key_group(key, before) for key in keys])
    found = NewKeyGroups(before, after, None, None).of(chunk)
    assert found.tolist() == [key_group(key, after) for key in keys]


def test_where_max_parallelism_stays_nothing_is_decoded() -> None:
    state = state_of(StateKind.VALUE, UNKNOWN, VoidNamespace(), Long())
    chunk = piece_of(state, [b"anything"], [77])
    assert NewKeyGroups(BEFORE, BEFORE, None, None).of(chunk).tolist() == [77]


def test_a_hash_code_that_explains_not_where_a_key_was_is_an_error() -> None:
    state = state_of(StateKind.VALUE, Long(), VoidNamespace(), Long())
    right = key_group(java_hash(Long(), 5), BEFORE)
    key = written(Long(), 5) + b"\0"
    chunk = piece_of(state, [key, key], [right, right + 1])
    wrong = f"lies in key group {right + 1}; by its hash code, 5, it belongs to {right}"
    with pytest.raises(UnstableHashError, match=f"00 05 {wrong}.*in state 'state'"):
        NewKeyGroups(BEFORE, AFTER, None, None).of(chunk)


POJO = Pojo("com.shop.Customer", ("age",), (Nullable(Int()),))


def pojo_piece(ages: Sequence[int]) -> StateChunk:
    """Keys of a class whose hash code is 7 times the age."""
    state = state_of(StateKind.VALUE, POJO, VoidNamespace(), Long())
    keys = [written(POJO, {"age": age}) + b"\0" for age in ages]
    return piece_of(state, keys, [key_group(7 * age, BEFORE) for age in ages])


def test_hash_codes_that_only_the_user_knows_are_asked_for() -> None:
    with pytest.raises(UnstableHashError, match="give a function"):
        NewKeyGroups(BEFORE, AFTER, None, None).of(pojo_piece([1, 2, 3]))


def test_the_user_may_give_hash_codes() -> None:
    def hash_keys(keys: pa.Array) -> np.ndarray[Any, np.dtype[np.int32]]:
        return np.array([7 * one["age"] for one in keys.to_pylist()], np.int32)

    found = NewKeyGroups(BEFORE, AFTER, None, hash_keys).of(pojo_piece([1, 2, 3]))
    assert found.tolist() == [key_group(7 * age, AFTER) for age in (1, 2, 3)]


def test_hash_codes_of_the_user_that_are_wrong_are_noticed() -> None:
    def hash_keys(keys: pa.Array) -> np.ndarray[Any, np.dtype[np.int32]]:
        return np.zeros(len(keys), np.int32)

    with pytest.raises(UnstableHashError, match="by its hash code, 0, it belongs to"):
        NewKeyGroups(BEFORE, AFTER, None, hash_keys).of(pojo_piece([1]))


@pytest.mark.parametrize("hashes", [np.zeros(2, np.int32), np.zeros(1), np.array([1 << 31])])
def test_the_user_gives_an_i32_for_each_key(hashes: np.ndarray[Any, Any]) -> None:
    with pytest.raises(HashCodeError, match="expected"):
        NewKeyGroups(BEFORE, AFTER, None, lambda _: hashes).of(pojo_piece([1]))


def test_a_key_that_cannot_be_decoded_may_have_a_hash_code_of_the_user() -> None:
    state = state_of(StateKind.VALUE, UNKNOWN, VoidNamespace(), Long())
    chunk = piece_of(state, [b"ab\0", b"c\0"], [key_group(2, BEFORE), key_group(1, BEFORE)])

    def hash_keys(keys: pa.Array) -> np.ndarray[Any, np.dtype[np.int32]]:
        return np.array([len(one["bytes"]) for one in keys.to_pylist()], np.int32)

    found = NewKeyGroups(BEFORE, AFTER, None, hash_keys).of(chunk)
    assert found.tolist() == [key_group(2, AFTER), key_group(1, AFTER)]


def test_a_key_without_an_end_that_one_can_tell_is_an_error() -> None:
    state = state_of(StateKind.MAP, UNKNOWN, VoidNamespace(), Long())
    with pytest.raises(UnstableHashError, match=r"Custom: its serializer .*in state"):
        NewKeyGroups(BEFORE, AFTER, None, None).of(piece_of(state, [b"abcdefghij"], [1]))


@pytest.mark.parametrize("size", range(9))
def test_a_stored_key_of_too_few_bytes_is_an_error(size: int) -> None:
    state = state_of(StateKind.VALUE, Long(), Long(), Long())
    chunk = piece_of(state, [bytes(size)], [1])
    with pytest.raises((FormatError, UnstableHashError)):
        NewKeyGroups(BEFORE, AFTER, None, None).of(chunk)
