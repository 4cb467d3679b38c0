"""Entries of several tables are merged as RocksDB reads them, with and without rivals for a key."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import cramjam
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.rocksdb_databases import varint

from savepoint_formats.errors import FormatError, RocksDbError
from savepoint_formats.state_files.rocksdb.sst_blocks import Blocks, Compression, StoredBlocks
from savepoint_formats.state_files.rocksdb.sst_merge import Room, living_entries
from savepoint_formats.state_files.rocksdb.stream_kernel import (
    DELETION,
    MERGE,
    SINGLE_DELETION,
    VALUE,
)

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("both_ways")

NONE, SNAPPY, LZ4 = Compression.NONE, Compression.SNAPPY, Compression.LZ4

COMPRESS: dict[Compression, Callable[[bytes], bytes]] = {
    NONE: bytes,
    SNAPPY: lambda data: bytes(cramjam.snappy.compress_raw(data)),
    LZ4: lambda data: varint(len(data)) + bytes(cramjam.lz4.compress_block(data, store_size=False)),
}

Entry = tuple[bytes, int, int, bytes]
"""Key, sequence number, type and value."""

# Keys that begin alike, as those of a key group do, and keys that others begin with.
KEYS = st.lists(st.sampled_from([0, 1, 0xFF]), max_size=24).map(bytes)
VALUES = st.binary(max_size=20)
KINDS = [VALUE, VALUE, MERGE, MERGE, DELETION, SINGLE_DELETION]


def block_of(entries: list[Entry], restarts: int) -> bytes:
    """A block with a restart point before every so many entries."""
    data, places, before = b"", [], b""
    for index, (key, sequence, kind, value) in enumerate(entries):
        stored = key + (sequence << 8 | kind).to_bytes(8, "little")
        shared = 0
        if index % restarts == 0:
            places.append(len(data))
        else:
            while shared < min(len(before), len(stored)) and before[shared] == stored[shared]:
                shared += 1
        data += varint(shared) + varint(len(stored) - shared) + varint(len(value))
        data += stored[shared:] + value
        before = stored
    return data + b"".join(place.to_bytes(4, "little") for place in [*places, len(places)])


def table_of(
    entries: list[Entry], per_block: int, restarts: int, compression: Compression = NONE
) -> StoredBlocks:
    """The blocks of a table without checksums, and some bytes behind them."""
    data, starts, ends = b"", [], []
    for first in range(0, len(entries), per_block):
        starts.append(len(data))
        content = block_of(entries[first : first + per_block], restarts)
        data += COMPRESS[compression](content)
        ends.append(len(data))
        data += bytes([compression, *range(4)])
    places = np.array(starts)
    return StoredBlocks("f", places, np.frombuffer(data, np.uint8), places, np.array(ends), 5)


def value_of(entries: list[Entry]) -> bytes | None:
    """The value of a key whose newest entry is the first; None if it has none."""
    operands: list[bytes] = []
    for _, _, kind, value in entries:
        if kind in (DELETION, SINGLE_DELETION):
            break
        operands.append(value)
        if kind == VALUE:
            break
    return b",".join(reversed(operands)) if operands else None


@st.composite
def tables(draw: st.DrawFn) -> list[list[Entry]]:
    """Some tables, each sorted by key, the newest entry of a key first."""
    kinds = draw(st.sampled_from([[VALUE], [VALUE, DELETION], KINDS, [MERGE]]))
    entry = st.tuples(KEYS, st.sampled_from(kinds), VALUES)
    drawn = draw(st.lists(st.tuples(st.integers(0, 2), entry), min_size=1, max_size=40))
    result: list[list[Entry]] = [[], [], []]
    for sequence, (table, (key, kind, value)) in enumerate(drawn):
        result[table].append((key, sequence, kind, value))
    return [sorted(one, key=lambda each: (each[0], -each[1])) for one in result if one]


def living_of(files: list[list[Entry]]) -> list[tuple[bytes, bytes]]:
    merged = sorted((one for file in files for one in file), key=lambda each: (each[0], -each[1]))
    values = [(key, value_of(list(rivals))) for key, rivals in groupby(merged, lambda one: one[0])]
    return [(key, value) for key, value in values if value is not None]


def merged(
    stored: tuple[StoredBlocks, ...],
    bounds: tuple[bytes, bytes],
    room: Room,
    oldest: int = 0,
    rows: list[bytes] | None = None,
) -> list[tuple[bytes, bytes]]:
    wanted = None if rows is None else pa.array(sorted(rows), pa.large_binary())
    tables = [Blocks.of(each) for each in stored]
    data, spans = living_entries(tables, bounds, room, 1, oldest, rows=wanted)
    content, places = data.tobytes(), np.stack(spans.arrays()).T
    return [(content[a:b], content[c:d]) for a, b, c, d in places.tolist()]


@given(
    tables(),
    st.tuples(st.integers(1, 20), st.integers(1, 5), st.sampled_from(list(COMPRESS))),
    st.tuples(KEYS, KEYS).map(sorted),
    st.integers(1, 4000),
    st.integers(0, 20),
    st.none() | st.lists(KEYS, unique=True),
)
def test_the_newest_entries_of_a_key_are_its_value(
    files: list[list[Entry]],
    form: tuple[int, int, Compression],
    bounds: list[bytes],
    size: int,
    oldest: int,
    rows: list[bytes] | None,
) -> None:
    """Entries older than ``oldest`` were deleted; of keys, those that begin like a row come."""
    chosen = [blocks_between(file, form[0], *bounds) for file in files]
    stored = tuple(table_of(file, *form) for file in chosen if file)
    within = [
        [each for each in file if bounds[0] <= each[0] < bounds[1] and each[1] >= oldest]
        for file in files
    ]
    assume(stored)
    living = [
        (key, value)
        for key, value in living_of(within)
        if rows is None or any(key.startswith(row) for row in rows)
    ]
    assert merged(stored, (bounds[0], bounds[1]), Room(size), oldest, rows) == living


@given(
    st.lists(
        st.tuples(
            KEYS | KEYS.map(lambda key: bytes(20) + key),
            st.integers(0, 2),
            st.sampled_from([*[VALUE] * 8, MERGE, DELETION]),
            st.binary(max_size=70),
        ),
        min_size=30,
        max_size=80,
        unique_by=lambda entry: entry[:2],
    ),
    st.tuples(st.integers(1, 10), st.integers(1, 5), st.sampled_from(list(COMPRESS))),
    st.integers(1, 10_000),
    st.integers(0, 2),
)
def test_a_table_alone_is_read_as_one_of_many(
    entries: list[Entry], form: tuple[int, int, Compression], size: int, oldest: int
) -> None:
    """Small sequence numbers: a key may go on with the bytes that follow the key before."""
    table = sorted(entries, key=lambda each: (each[0], -each[1]))
    bounds = table[len(table) // 5][0], table[-len(table) // 5][0]
    within = [each for each in table if bounds[0] <= each[0] < bounds[1] and each[1] >= oldest]
    for files in ([table], [table[::2], table[1::2]]):
        chosen = [blocks_between(file, form[0], *bounds) for file in files]
        stored = tuple(table_of(file, *form) for file in chosen if file)
        assert merged(stored, bounds, Room(size), oldest) == living_of([within])


def blocks_between(entries: list[Entry], per_block: int, lower: bytes, upper: bytes) -> list[Entry]:
    """The entries of the blocks that an index gives for keys between two bounds."""
    blocks = [entries[first : first + per_block] for first in range(0, len(entries), per_block)]
    last_keys = [block[-1][0] for block in blocks]
    first, last = (bisect_left(last_keys, bound) for bound in (lower, upper))
    return [entry for block in blocks[first : last + 1] for entry in block]


@pytest.mark.parametrize("count", [1, 2, 1000])
@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 5000])
def test_a_list_of_any_length_is_joined(count: int, size: int) -> None:
    """However little room there is at first."""
    operands = [bytes([place & 0xFF]) * size for place in range(count)]
    files = [
        [(b"a", 1, VALUE, b"1")],
        [(b"b", 2 + place, MERGE, value) for place, value in enumerate(operands)][::-1],
        [(b"c", 1, VALUE, b"3")],
    ]
    stored = tuple(table_of(file, 7, 3) for file in files)
    expected = [(b"a", b"1"), (b"b", b",".join(operands)), (b"c", b"3")]
    for room in (1, 100, size * count, 3 * size * count):
        assert merged(stored, (b"", b"z"), Room(room)) == expected


def test_an_entry_of_an_unknown_type_is_an_error_of_its_block() -> None:
    files = [(b"a", 1, VALUE, b"1")], [(b"b", 2, MERGE, b"2"), (b"c", 3, 17, b"3")]
    stored = tuple(table_of(file, 1, 1) for file in files)
    assert merged(stored, (b"", b"c"), Room(1)) == [(b"a", b"1"), (b"b", b"2")]
    with pytest.raises(RocksDbError, match="an entry of type 17") as caught:
        merged(stored, (b"", b"d"), Room(1))
    assert caught.value.offset == stored[1].starts[1]


def test_damage_is_an_error_of_its_block() -> None:
    stored = table_of([(b"a", 1, VALUE, b"1"), (b"b", 1, VALUE, b"1")], 1, 1)
    data = stored.data.copy()
    data[stored.starts[1]] = 9
    with pytest.raises(FormatError, match="a damaged block") as caught:
        merged((replace(stored, data=data),), (b"", b"z"), Room(1))
    assert caught.value.offset == stored.starts[1]


@pytest.mark.parametrize("place", [0, 1, 7, 1 << 16, (1 << 31) - 1, (1 << 32) - 1])
def test_restart_points_that_lead_elsewhere_lose_no_row(place: int) -> None:
    entries = [(bytes([number]), 1, VALUE, bytes([number])) for number in range(100)]
    stored = table_of(entries, 100, 2)
    data, points = stored.data.copy(), slice(stored.ends[0] - 4 * 50, stored.ends[0] - 4)
    data[points] = np.full(49, place, "<u4").view(np.uint8)
    rows = [b"\1", b"\x30", b"\x31", b"\x62"]
    expected = [(row, row) for row in rows]
    assert merged((stored,), (b"", b"\xff"), Room(1), rows=rows) == expected
    assert merged((replace(stored, data=data),), (b"", b"\xff"), Room(1), rows=rows) == expected


def test_an_empty_range_has_no_entries() -> None:
    assert merged((table_of([(b"b", 1, VALUE, b"1")], 1, 1),), (b"c", b"d"), Room(1)) == []
    assert merged((), (b"c", b"d"), Room(1)) == []
