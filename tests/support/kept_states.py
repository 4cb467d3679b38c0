"""Canonical savepoints of one operator, ``a``, with states of several kinds by keys that are texts.

| state     | kind and values                                      |
|-----------|------------------------------------------------------|
| total     | value of long                                        |
| names     | list of text                                         |
| by_day    | map from text to long, which may be null             |
| seen      | value of long with a time to live: (time, long)      |
| panes     | value of long per window: (start, end) -> long       |
| timers    | event time timers without a namespace                |
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
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
from support.hand_made import (
    LONG,
    STRING,
    TIME_WINDOW,
    VOID,
    encoded,
    header,
    list_of,
    map_of,
    meta_info,
    timers_of,
    with_ttl,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

STATES: dict[str, tuple[str, bytes, bytes]] = {
    "total": ("VALUE", LONG, VOID),
    "names": ("LIST", list_of(STRING), VOID),
    "by_day": ("MAP", map_of(STRING, LONG), VOID),
    "seen": ("VALUE", with_ttl(LONG), VOID),
    "panes": ("VALUE", LONG, TIME_WINDOW),
    "_timer_state/event_user-timers": ("TIMERS", timers_of(STRING, VOID), b""),
}


@dataclass(frozen=True)
class KeptState:
    """What one key has; an empty list or map is none."""

    total: int | None = None
    names: tuple[str, ...] = ()
    by_day: Mapping[str, int | None] = field(default_factory=dict)
    seen: tuple[int, int] | None = None
    panes: Mapping[tuple[int, int], int] = field(default_factory=dict)
    timers: frozenset[int] = frozenset()

    def entries(self, key: str) -> Iterator[tuple[str, bytes, bytes]]:
        """The name of a state, the key behind the prefix, and the value of each entry."""
        own = encoded(Text(), key)
        plain = own + b"\0"  # of a namespace that there is not
        if self.total is not None:
            yield "total", plain, struct.pack(">q", self.total)
        if self.names:
            yield "names", plain, b",".join(encoded(Text(), name) for name in self.names)
        for day, count in self.by_day.items():
            value = b"\1" if count is None else b"\0" + struct.pack(">q", count)
            yield "by_day", plain + encoded(Text(), day), value
        if self.seen is not None:
            yield "seen", plain, struct.pack(">qq", *self.seen)
        for window, count in self.panes.items():
            yield "panes", own + struct.pack(">qq", *window), struct.pack(">q", count)
        for time in self.timers:
            stored = struct.pack(">q", time ^ -(1 << 63)) + own + b"\0"
            yield "_timer_state/event_user-timers", stored, b""


def savepoint_of_states(
    folder: Path,
    keys: Mapping[str, KeptState],
    *,
    max_parallelism: int = 128,
    uid: str = "a",
    names: tuple[str, ...] = tuple(STATES),
    types: Mapping[str, tuple[str, bytes, bytes]] = STATES,
) -> Path:
    """Writes a savepoint with the states of these names, in one file; at most 128 key groups."""
    groups: dict[int, list[tuple[int, bytes, bytes]]] = {}
    for key, kept in keys.items():
        group = key_group(java_hash(Text(), key), max_parallelism)
        for name, stored, value in kept.entries(key):
            if name in names:
                entry = (names.index(name), bytes([group]) + stored, value)
                groups.setdefault(group, []).append(entry)
    infos = (meta_info(name, *types[name]) for name in names)
    data, offsets = bytearray(header(*infos)), [0] * max_parallelism
    for group, entries in groups.items():
        offsets[group] = len(data)
        data += _of_group(sorted(entries))
    handle = KeyGroupsHandle(
        KeyedHandleType.CANONICAL_SAVEPOINT,
        KeyGroupRangeOffsets(KeyGroupRange(0, max_parallelism - 1), tuple(offsets)),
        InlineStream("state", bytes(data)),
    )
    subtask = SubtaskState(0, managed_keyed_state=handle)
    operator = OperatorState(OperatorId.from_uid(uid), 1, max_parallelism, (subtask,), uid=uid)
    view = DataOutputView()
    CheckpointMetadata.new((operator,)).write(view)
    folder.mkdir(parents=True)
    (folder / "_metadata").write_bytes(view.to_bytes())
    return folder


def _of_group(entries: list[tuple[int, bytes, bytes]]) -> bytes:
    data = struct.pack(">H", entries[0][0])
    for place, (state, key, value) in enumerate(entries):
        following = entries[place + 1][0] if place + 1 < len(entries) else 0xFFFF
        is_last = following != state
        first = key[0] | 0x80 if is_last else key[0]
        data += struct.pack(">i", len(key)) + bytes([first]) + key[1:]
        data += struct.pack(">i", len(value)) + value
        data += struct.pack(">H", following) if is_last else b""
    return data
