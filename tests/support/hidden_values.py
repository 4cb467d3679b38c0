"""Savepoints of POJOs with an object of Kryo whose class nobody knows, so that it hides its end.

The object is the first field, ``extra``; ``id`` and ``name`` lie behind it.
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.layout import Long, Text, VoidNamespace
from savepoint_formats.metadata import (
    CheckpointMetadata,
    DistributionMode,
    InlineStream,
    SubtaskState,
)
from savepoint_formats.state_files.operator_state import (
    BroadcastEntries,
    ListElements,
    OperatorStateFile,
)
from state_processor import Savepoint
from support.hand_made import (
    LONG,
    STRING,
    VOID,
    canonical_base,
    encoded,
    entry_identity,
    group_of,
    header,
    heap_base,
    i32,
    kryo_of,
    list_of,
    map_of,
    meta_info,
    operator_of,
    timers_of,
)
from support.serializer_snapshots import pojo, read

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_formats.metadata import KeyGroupsHandle

ORDER = pojo("com.acme.Order", {"extra": kryo_of("com.acme.Extra"), "id": LONG, "name": STRING})
LAST = pojo("com.acme.Last", {"id": LONG, "other": kryo_of("com.acme.Extra")})
REASON = "com.acme.Extra: an object of com.acme.Extra, whose fields are not known"
KEYS = tuple(f"key {number}" for number in range(60))
ADVICE = "undescribed_subclasses='rest'"


def order(number: int) -> bytes:
    return order_of(f"extra {number}".encode(), number)


def order_of(extra: bytes, number: int) -> bytes:
    behind = b"\0" + encoded(Long(), number) + b"\0" + encoded(Text(), f"name {number}")
    return b"\2\0" + unknown(extra) + behind


def last(number: int, extra: bytes = b"more") -> bytes:
    """A POJO whose last field hides where it ends."""
    return b"\2\0" + encoded(Long(), number) + b"\0" + unknown(extra)


def unknown(data: bytes) -> bytes:
    """An object of a class that nobody described: its number, a new object, its fields."""
    return b"\x57\1" + data


def shown(number: int) -> dict[str, Any]:
    """Expected values of ``order``."""
    extra = {"json": None, "bytes": unknown(f"extra {number}".encode()), "reason": REASON}
    return {"extra": extra, "id": number, "name": f"name {number}"}


def text(value: str) -> bytes:
    return encoded(Text(), value)


def broadcast(folder: Path, values: list[bytes], value: bytes = ORDER) -> Savepoint:
    """A broadcast state ``rules`` of these values by the keys ``rule 0``..., and a list of them."""
    keys = [text(f"rule {number}") for number in range(len(values))]
    output = io.BytesIO()
    file = OperatorStateFile.write(
        output,
        [ListElements("offers", DistributionMode.SPLIT_DISTRIBUTE, read(value), _bytes(values))],
        [BroadcastEntries.of("rules", read(STRING), read(value), _bytes(keys), _bytes(values))],
    )
    handle = file.handle(InlineStream("state", output.getvalue()))
    return _opened(folder, SubtaskState(0, managed_operator_state=handle))


def heap(folder: Path, values: list[bytes], value: bytes = ORDER) -> Savepoint:
    """A heap file: by key a number ``count``, one of the values, and a timer behind these."""
    timer = meta_info("_timer_state/event_t", "TIMERS", timers_of(STRING, VOID))
    states = meta_info("count", "VALUE", LONG), meta_info("order", "VALUE", value), timer
    entries = []
    for number, (key, data) in enumerate(zip(KEYS, values, strict=False)):
        group, identity = group_of(key), b"\0" + text(key)
        entries.append((group, 0, identity + encoded(Long(), number)))
        entries.append((group, 1, identity + data))
        time = (number ^ (1 << 63)).to_bytes(8)
        entries.append((group, 2, time + text(key) + b"\0"))
    base = _named(heap_base(header(*states), len(states), entries))
    return _opened(folder, SubtaskState(0, managed_keyed_state=base))


def heap_of_two(folder: Path) -> Savepoint:
    """A heap file with two states of POJOs that hide their ends."""
    states = meta_info("first", "VALUE", ORDER), meta_info("second", "VALUE", ORDER)
    entries = [
        (group_of(key), state, b"\0" + text(key) + order(number))
        for number, key in enumerate(KEYS)
        for state in range(len(states))
    ]
    base = _named(heap_base(header(*states), len(states), entries))
    return _opened(folder, SubtaskState(0, managed_keyed_state=base))


def heap_collections(folder: Path, values: list[bytes]) -> Savepoint:
    """A heap file with a list and a map of these values under one key."""
    states = meta_info("all", "LIST", list_of(ORDER)), meta_info("by", "MAP", map_of(STRING, ORDER))
    identity, count = b"\0" + text("k"), i32(len(values))
    pairs = b"".join(text(f"u{index}") + b"\0" + one for index, one in enumerate(values))
    group = group_of("k")
    entries = [
        (group, 0, identity + count + b"".join(values)),
        (group, 1, identity + count + pairs),
    ]
    base = _named(heap_base(header(*states), len(states), entries))
    return _opened(folder, SubtaskState(0, managed_keyed_state=base))


def canonical(folder: Path, values: list[bytes], value: bytes = ORDER) -> Savepoint:
    """A canonical file: by key one of the values, and under the first key a list of all."""
    states = meta_info("order", "VALUE", value), meta_info("all", "LIST", list_of(value))
    entries = [
        (group_of(key), 0, _identity(key), data) for key, data in zip(KEYS, values, strict=False)
    ]
    entries.append((group_of(KEYS[0]), 1, _identity(KEYS[0]), b",".join(values)))
    base = canonical_base(header(*states), entries)
    return _opened(folder, SubtaskState(0, managed_keyed_state=base))


def opened_canonical(
    folder: Path, serializers: dict[str, bytes], state: int, values: dict[str, bytes]
) -> Savepoint:
    """A canonical file of value states, of which one has values by their keys."""
    states = [meta_info(name, "VALUE", one) for name, one in serializers.items()]
    entries = [(group_of(key), state, _identity(key), data) for key, data in values.items()]
    base = canonical_base(header(*states), entries)
    return _opened(folder, SubtaskState(0, managed_keyed_state=base))


def rows(savepoint: Savepoint, table: str, **options: Any) -> list[dict[str, Any]]:
    scan = savepoint.scan(f"a.{table}", **options)
    return [row for one in scan.splits() for batch in scan.read(one) for row in batch.to_pylist()]


def _identity(key: str) -> bytes:
    return entry_identity(key, None, (Text(), VoidNamespace()))


def _named(base: KeyGroupsHandle) -> KeyGroupsHandle:
    return replace(base, handle_id="base")


def _opened(folder: Path, subtask: SubtaskState) -> Savepoint:
    view = DataOutputView()
    CheckpointMetadata.new((operator_of(subtask),)).write(view)
    (folder / "_metadata").write_bytes(view.to_bytes())
    return Savepoint.open(str(folder))


def _bytes(values: list[bytes]) -> pa.LargeBinaryArray:
    return pa.array(values, pa.large_binary())
