"""Entries of heap files become those of canonical files out of the bytes as they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.hand_made import (
    STRING,
    UNKNOWN,
    VOID,
    encoded,
    group_of,
    header,
    heap_base,
    kryo_of,
    list_of,
    map_of,
    meta_info,
    operator_of,
    timers_of,
)
from support.nightly import examples
from support.passed_state import entries_in, sections_of

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import UndecodableError
from savepoint_formats.layout import (
    Layout,
    Long,
    MapOf,
    Nullable,
    Repeated,
    Struct,
    Text,
    TimerTimestamp,
    Ttl,
    VoidNamespace,
)
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import SubtaskState
from savepoint_formats.sources.heap_source import CanonicalForm
from savepoint_formats.state_files.heap_entries import StateRecords
from savepoint_formats.state_files.state import State, StateKind
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.state_entries import (
    Delimited,
    EntryWriter,
    NullableRest,
    entry_key,
)

if TYPE_CHECKING:
    from savepoint_formats.entries.stored_entries import StoredEntries
    from savepoint_formats.metadata import OperatorState

TEXTS = st.text(max_size=4)
LONG_TEXTS = TEXTS | st.sampled_from(["x" * 255, "x" * 300, "x" * 70_000])
"""Keys whose sizes take one, two and three bytes."""

NAMESPACES = [(VoidNamespace(), st.none()), (Long(), st.integers(0, 9)), (Text(), LONG_TEXTS)]

VALUES: list[tuple[StateKind, Layout, st.SearchStrategy[Any]]] = [
    (StateKind.VALUE, Text(), TEXTS | st.none()),
    (StateKind.LIST, Repeated(Text()), st.lists(TEXTS, max_size=4)),
    (StateKind.LIST, Repeated(Long()), st.lists(st.integers(0, 99), max_size=4)),
    (
        StateKind.MAP,
        MapOf(Text(), Nullable(Long())),
        st.dictionaries(TEXTS, st.none() | st.integers(0, 99), max_size=4),
    ),
    (
        StateKind.MAP,
        MapOf(Long(), Nullable(Repeated(Text()))),
        st.dictionaries(st.integers(0, 9), st.none() | st.lists(TEXTS, max_size=3), max_size=4),
    ),
]


def written(layout: Layout, value: Any) -> bytes:
    view = DataOutputView()
    EntryWriter(view).write(layout, value)
    return view.to_bytes()


def canonical(
    state: State, namespace: Layout, key: str, scope: Any, value: Any
) -> list[tuple[bytes, bytes]]:
    """The entries of a value, as the general path writes them."""
    identity = {"prefix": None, "key": key, "namespace": scope}
    match state.kind, state.stored:
        case StateKind.LIST, Repeated(element):
            whole = written(entry_key(0, Text(), namespace), identity)
            return [(whole, written(Delimited(element), value))] if value else []
        case StateKind.MAP, MapOf(user_key, Nullable(user_value)):
            layout = entry_key(0, Text(), namespace, user_key)
            return [
                (
                    written(layout, identity | {"user_key": one}),
                    written(NullableRest(user_value), other),
                )
                for one, other in value.items()
            ]
        case _:
            whole = written(entry_key(0, Text(), namespace), identity)
            return [(whole, written(state.stored, value))]


def canonical_form(
    state: State, chunk: Chunk, position: int, count: int
) -> tuple[StoredEntries, int]:
    """Entries of a heap file from a position on, and where they end."""
    found, end = StateRecords(state, None).read(chunk, position, count)
    return CanonicalForm(state, None).entries(found), end


@settings(max_examples=examples(50))
@given(st.data())
def test_they_are_what_the_general_path_writes(data: st.DataObject) -> None:
    namespace, scopes = data.draw(st.sampled_from(NAMESPACES))
    kind, stored, values = data.draw(st.sampled_from(VALUES))
    state = State("state", kind, stored, Text(), namespace)
    rows = data.draw(st.lists(st.tuples(LONG_TEXTS, scopes, values), min_size=1, max_size=5))
    heap = b"".join(
        written(namespace, scope) + written(Text(), key) + written(stored, value)
        for key, scope, value in rows
    )
    chunk = Chunk(np.frombuffer(b"head" + heap + b"tail", np.uint8))
    entries, end = canonical_form(state, chunk, 4, len(rows))
    assert end == 4 + len(heap)
    found = list(zip(entries.keys.to_pylist(), entries.values.to_pylist(), strict=True))
    assert found == [one for row in rows for one in canonical(state, namespace, *row)]


def test_timers_are_copied() -> None:
    timer = Struct(("timestamp", "key", "namespace"), (TimerTimestamp(), Text(), Long()))
    timers = [written(timer, {"timestamp": -n, "key": "k" * n, "namespace": n}) for n in range(3)]
    state = State("timers", StateKind.TIMERS, timer, Text(), Long())
    chunk = Chunk(np.frombuffer(b"".join(timers), np.uint8))
    entries, end = canonical_form(state, chunk, 0, 3)
    assert end == len(chunk)
    assert entries.keys.to_pylist() == timers
    assert entries.values.to_pylist() == [b""] * 3


def test_times_of_last_access_are_copied() -> None:
    stored = Repeated(Ttl(Text()))
    value = encoded(stored, [{"timestamp": 1, "value": "a"}, {"timestamp": 2, "value": "b"}])
    state = State("state", StateKind.LIST, stored, Text())
    chunk = Chunk(np.frombuffer(b"\0" + encoded(Text(), "k") + value, np.uint8))
    entries, _ = canonical_form(state, chunk, 0, 1)
    assert entries.values.to_pylist() == [value[4:14] + b"," + value[14:]]


KRYO = KryoDialect(KryoVersion.V5_6)
NOWHERE = SnapshotDirectory.of("/")


def operator_with(state: bytes, value: bytes) -> OperatorState:
    """An operator of one state, with a value."""
    entry = (group_of("k"), 0, b"\0" + encoded(Text(), "k") + value)
    behind = (group_of("k"), 1, b"\0" + encoded(Text(), "k") + encoded(Text(), "behind it"))
    head = header(state, meta_info("other", "VALUE", STRING, VOID))
    return operator_of(SubtaskState(0, managed_keyed_state=heap_base(head, 2, [entry, behind])))


def stored(operator: OperatorState) -> list[tuple[int, bytes, bytes]]:
    """State id, key and value of each entry passed on."""
    sections = sections_of(NOWHERE, operator, operator.max_parallelism, kryo=KRYO)
    return [entry for runs in sections.values() for entry in entries_in(b"".join(runs))]


def values_of(operator: OperatorState) -> list[bytes]:
    """The values of the first state; the other one must be there, too."""
    found = stored(operator)
    assert found[-1][2] == encoded(Text(), "behind it")
    return [value for state, _, value in found if state == 0]


OBJECT = kryo_of("java.lang.Object")


@pytest.mark.parametrize("value", ["00", "0209", "030141e2"])
def test_the_end_of_an_object_of_kryo_is_found(value: str) -> None:
    data = bytes.fromhex(value)
    state = meta_info("state", "VALUE", OBJECT, VOID)
    assert values_of(operator_with(state, data)) == [data]


def test_objects_of_kryo_may_be_elements_and_values_of_maps() -> None:
    one, other = bytes.fromhex("0209"), bytes.fromhex("00")
    state = meta_info("state", "LIST", list_of(OBJECT), VOID)
    value = bytes.fromhex("00000002") + one + other
    assert values_of(operator_with(state, value)) == [one + b"," + other]
    state = meta_info("state", "MAP", map_of(STRING, OBJECT), VOID)
    entries = encoded(Text(), "a") + b"\0" + one + encoded(Text(), "b") + b"\1"
    value = bytes.fromhex("00000002") + entries
    assert values_of(operator_with(state, value)) == [b"\0" + one, b"\1"]


UNDESCRIBED = b"\1\0com.shop.Ord\xe5\1\1\7"
"""An object of a class of which nobody said which fields it has."""


@pytest.mark.parametrize(
    ("serializer", "value"),
    [(UNKNOWN, b"anything"), (kryo_of("com.shop.Order"), UNDESCRIBED), (OBJECT, UNDESCRIBED)],
)
def test_a_value_that_nobody_can_decode_is_passed_on_as_bytes(
    serializer: bytes, value: bytes
) -> None:
    assert values_of(operator_with(meta_info("state", "VALUE", serializer, VOID), value)) == [value]


def test_the_last_item_of_a_collection_may_be_one_that_nobody_can_decode() -> None:
    value = bytes.fromhex("00000001") + b"anything"
    state = meta_info("state", "LIST", list_of(UNKNOWN), VOID)
    assert values_of(operator_with(state, value)) == [b"anything"]
    value = bytes.fromhex("00000002") + bytes.fromhex("0209") + UNDESCRIBED
    state = meta_info("state", "LIST", list_of(OBJECT), VOID)
    assert values_of(operator_with(state, value)) == [b"\2\t," + UNDESCRIBED]
    entries = encoded(Text(), "a") + b"\1" + encoded(Text(), "b") + b"\0" + UNDESCRIBED
    state = meta_info("state", "MAP", map_of(STRING, OBJECT), VOID)
    value = bytes.fromhex("00000002") + entries
    assert values_of(operator_with(state, value)) == [b"\1", b"\0" + UNDESCRIBED]


def test_items_that_others_follow_need_an_end_that_one_can_tell() -> None:
    value = bytes.fromhex("00000002") + b"anything"
    operator = operator_with(meta_info("state", "LIST", list_of(UNKNOWN), VOID), value)
    with pytest.raises(UndecodableError, match="2 items, but the one at index 0 hides"):
        stored(operator)


def test_items_that_fit_in_one_way_only_are_told_apart() -> None:
    value = bytes.fromhex("00000002") + UNDESCRIBED + UNDESCRIBED
    operator = operator_with(meta_info("state", "LIST", list_of(OBJECT), VOID), value)
    assert values_of(operator) == [UNDESCRIBED + b"," + UNDESCRIBED]


def test_a_value_without_an_end_that_one_can_tell_is_an_error() -> None:
    # What follows it begins there, or here, with a text that takes all the rest.
    here = bytes.fromhex("0001 00000001") + b"\0" + encoded(Text(), "k") + b"\x14"
    value = b"anything" + here
    operator = operator_with(meta_info("state", "VALUE", UNKNOWN, VOID), value)
    with pytest.raises(UndecodableError, match="take a canonical savepoint") as caught:
        stored(operator)
    assert "state 'state'" in str(caught.value)
    assert f"key group {group_of('k')}" in str(caught.value)


def test_an_unknown_timer_is_an_error() -> None:
    head = meta_info("_timer_state/event_t", "TIMERS", timers_of(STRING, UNKNOWN))
    entry = (group_of("k"), 0, b"\x80" + bytes(7) + encoded(Text(), "k") + b"anything")
    base = heap_base(header(head), 1, [entry])
    operator = operator_of(SubtaskState(0, managed_keyed_state=base))
    with pytest.raises(UndecodableError, match="take a canonical savepoint"):
        stored(operator)
