"""Keys whose hashCode is inferred, wherever an operator has them."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.hand_made import (
    LONG,
    MAX_PARALLELISM,
    TIME_WINDOW,
    VOID,
    canonical_base,
    encoded,
    header,
    heap_base,
    meta_info,
    operator_of,
    timers_of,
)
from support.rocksdb_databases import STATE, make, put

from savepoint_database.snapshot.operator import Operator
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import UnstableHashError
from savepoint_formats.hashing.hash_shapes import HashShape, shape_hashes
from savepoint_formats.hashing.inferred_hash_codes import InferredHashCode
from savepoint_formats.key_groups.ranges import key_groups_of
from savepoint_formats.layout import VoidNamespace
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import InlineStream, SubtaskState
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_spark.changing.hash_codes import hash_code_of
from state_processor import Types

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from savepoint_formats.metadata import KeyGroupsHandle

KEY = Types.POJO("shop.OrderKey", {"id": Types.LONG(), "shop": Types.STRING()}).snapshot
LAYOUT = KEY.layout()
SHAPE = "record(shop, id)"
KEYS = [
    {"id": number * 0x9E3779B97F4A7C15 % (1 << 60), "shop": f"{number}"} for number in range(90)
]

_VIEW = DataOutputView()
KEY.write(_VIEW)
KEY_SERIALIZER = _VIEW.to_bytes()
VALUE = encoded(Types.LONG().snapshot.layout(), 7)
NO_NAMESPACE = encoded(VoidNamespace(), None)

STATES = {
    "value": meta_info("value", "VALUE", LONG),
    "window": meta_info("window", "REDUCING", LONG, TIME_WINDOW),
    "timers": meta_info("_timer_state/event_t", "TIMERS", timers_of(KEY_SERIALIZER, VOID)),
}
"""Each is a table of its own."""


def key_groups(count: int) -> list[int]:
    """The key group of each key."""
    hashes = shape_hashes(HashShape.parse(SHAPE), LAYOUT, pa.array(KEYS, arrow_type(LAYOUT)))
    return [int(one) for one in key_groups_of(hashes, count)]


def entry(state: str, key: bytes) -> tuple[bytes, bytes]:
    """An entry as canonical files have it, without its key group."""
    match state:
        case "timers":
            return struct.pack(">Q", (1 << 63) + 5) + key + NO_NAMESPACE, b""
        case "window":
            return key + struct.pack(">qq", 0, 10), VALUE
        case _:
            return key + NO_NAMESPACE, VALUE


def canonical(
    states: Sequence[str],
    keys: Sequence[tuple[str, int]],
    displaced: tuple[str, int] | None = None,
) -> KeyGroupsHandle:
    """A canonical file, with the states and numbers of keys in it."""
    groups = key_groups(MAX_PARALLELISM)
    entries = [
        (
            (groups[number] + ((state, number) == displaced)) % MAX_PARALLELISM,
            states.index(state),
            *entry(state, encoded(LAYOUT, KEYS[number])),
        )
        for state, number in keys
    ]
    return canonical_base(header(*(STATES[one] for one in states), key=KEY_SERIALIZER), entries)


def heap(states: Sequence[str], keys: Sequence[tuple[str, int]]) -> KeyGroupsHandle:
    """The states as a heap file."""
    groups, entries = key_groups(MAX_PARALLELISM), []
    for state, number in keys:
        key = encoded(LAYOUT, KEYS[number])
        data, value = entry(state, key)
        if state != "timers":
            data = data[len(key) :] + key
        entries.append((groups[number], states.index(state), data + value))
    head = header(*(STATES[one] for one in states), key=KEY_SERIALIZER)
    return heap_base(head, len(states), entries)


def operator_with(handle: KeyGroupsHandle) -> Operator:
    record = operator_of(SubtaskState(0, managed_keyed_state=handle))
    return Operator(record, "a", SnapshotDirectory.of("/"))


@pytest.mark.parametrize("file", [canonical, heap])
@pytest.mark.parametrize(
    "states", [("value",), ("window",), ("timers",), ("window", "timers"), tuple(STATES)], ids=str
)
def test_any_table_of_keys_will_do(
    states: tuple[str, ...],
    file: Callable[[Sequence[str], Sequence[tuple[str, int]]], KeyGroupsHandle],
) -> None:
    keys = [(state, number) for number in range(len(KEYS)) for state in states]
    found = hash_code_of(operator_with(file(states, keys)), None)
    assert isinstance(found, InferredHashCode)
    assert str(found.shape) == SHAPE
    assert found.keys == len(KEYS)


def test_the_keys_of_all_tables_count_together() -> None:
    names = tuple(STATES)
    keys = [(names[number % 3], number) for number in range(30)]
    found = hash_code_of(operator_with(canonical(names, keys)), None)
    assert isinstance(found, InferredHashCode)
    assert (str(found.shape), found.keys) == (SHAPE, 30)
    for name in names:
        few = [one for one in keys if one[0] == name]
        with pytest.raises(UnstableHashError, match="operator a"):
            hash_code_of(operator_with(canonical(names, few)), None)


@pytest.mark.parametrize("state", STATES)
def test_one_key_of_any_table_that_disagrees_is_enough(state: str) -> None:
    names = tuple(STATES)
    keys = [(name, number) for name in names for number in range(len(KEYS))]
    handle = canonical(names, keys, displaced=(state, 7))
    with pytest.raises(UnstableHashError, match="usual shapes"):
        hash_code_of(operator_with(handle), None)


def test_keys_in_tables_of_rocksdb_will_do(tmp_path: Path) -> None:
    groups = key_groups(128)
    keys = {
        bytes([group]) + encoded(LAYOUT, key) + NO_NAMESPACE: VALUE
        for group, key in zip(groups, KEYS, strict=True)
    }
    some, others = dict(list(keys.items())[:50]), dict(list(keys.items())[50:])
    files = make(tmp_path / "db", put(some), put(others))
    head = header(meta_info(STATE, "VALUE", LONG), key=KEY_SERIALIZER)
    handle = replace(files.handle, meta=InlineStream("meta", head))
    record = operator_of(SubtaskState(0, managed_keyed_state=handle))
    record = replace(record, max_parallelism=files.max_parallelism)
    found = hash_code_of(Operator(record, "a", files.directory), None)
    assert isinstance(found, InferredHashCode)
    assert (str(found.shape), found.keys) == (SHAPE, len(KEYS))
