"""Entries of several tables are merged as RocksDB reads them, with and without rivals for a key."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from itertools import groupby, pairwise

import cramjam
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.rocksdb_databases import varint

from savepoint_formats.state_files.rocksdb.room import Room
from savepoint_formats.state_files.rocksdb.snappy_kernel import SLACK
from savepoint_formats.state_files.rocksdb.sst_blocks import Compression, StoredBlocks
from savepoint_formats.state_files.rocksdb.sst_entries import SstEntries
from savepoint_formats.state_files.rocksdb.sst_kernel import (
    DELETION,
    MERGE,
    SINGLE_DELETION,
    VALUE,
)
from savepoint_formats.state_files.rocksdb.sst_merge import SstMerge

pytestmark = pytest.mark.usefixtures("both_ways")

NONE, SNAPPY = Compression.NONE, Compression.SNAPPY

Entry = tuple[bytes, int, int, bytes]
"""Key, sequence number, type and value."""

# Keys that begin alike, as those of a key group do, and keys that others begin with.
KEYS = st.lists(st.sampled_from([0, 1, 0xFF]), max_size=24).map(bytes)
VALUES = st.binary(max_size=20)


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
        data += bytes(cramjam.snappy.compress_raw(content)) if compression else content
        ends.append(len(data))
        data += bytes([compression, *range(4)])
    data += bytes(range(SLACK))
    return StoredBlocks("f", 0, np.frombuffer(data, np.uint8), np.array(starts), np.array(ends))


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
def tables(draw: st.DrawFn, kinds: list[int], *, keys_are_distinct: bool) -> list[list[Entry]]:
    """Some tables, each sorted by key, the newest entry of a key first."""
    entry = st.tuples(KEYS, st.sampled_from(kinds), VALUES)
    drawn = draw(st.lists(st.tuples(st.integers(0, 2), entry), min_size=1, max_size=40))
    result: list[list[Entry]] = [[], [], []]
    for sequence, (table, (key, kind, value)) in enumerate(drawn):
        if not keys_are_distinct or key not in (other for one in result for other, *_ in one):
            result[table].append((key, sequence, kind, value))
    return [sorted(one, key=lambda each: (each[0], -each[1])) for one in result if one]


def check(files: list[list[Entry]], per_block: int, restarts: int, *, is_plain: bool) -> None:
    entries = SstEntries.of(tuple(table_of(file, per_block, restarts) for file in files))
    assert entries.is_plain == is_plain
    data, spans = entries.living(b"", b"\xff" * 30)
    content = data.tobytes()
    living = [(content[a:b], content[c:d]) for a, b, c, d in spans.T.tolist()]
    assert living == living_of(files)


def living_of(files: list[list[Entry]]) -> list[tuple[bytes, bytes]]:
    merged = sorted((one for file in files for one in file), key=lambda each: (each[0], -each[1]))
    values = [(key, value_of(list(rivals))) for key, rivals in groupby(merged, lambda one: one[0])]
    return [(key, value) for key, value in values if value is not None]


@given(tables([VALUE], keys_are_distinct=True), st.integers(1, 9), st.integers(1, 5))
def test_without_rivals_all_entries_are_alive(
    files: list[list[Entry]], per_block: int, restarts: int
) -> None:
    check(files, per_block, restarts, is_plain=True)


@given(
    tables([VALUE, VALUE, MERGE, DELETION, SINGLE_DELETION], keys_are_distinct=False),
    st.integers(1, 9),
    st.integers(1, 5),
)
def test_the_newest_entries_of_a_key_are_its_value(
    files: list[list[Entry]], per_block: int, restarts: int
) -> None:
    entries = [entry for file in files for entry in file]
    repeats = any(one[0] == other[0] for one, other in pairwise(entries))
    are_values = all(kind == VALUE for _, _, kind, _ in entries)
    check(files, per_block, restarts, is_plain=are_values and not repeats)


def merged(
    stored: tuple[StoredBlocks, ...], bounds: tuple[bytes, bytes], room: Room
) -> list[tuple[bytes, bytes]] | None:
    merge = SstMerge.of(stored)
    assert merge is not None
    result = merge.living(*bounds, room, count=1)
    if result is None:
        return None
    content, spans = result[0].tobytes(), np.stack(result[1].arrays()).T
    return [(content[a:b], content[c:d]) for a, b, c, d in spans.tolist()]


@given(
    tables([VALUE, VALUE, DELETION, SINGLE_DELETION], keys_are_distinct=False),
    st.tuples(st.integers(1, 9), st.integers(1, 5), st.sampled_from([NONE, SNAPPY])),
    st.tuples(KEYS, KEYS).map(sorted),
    st.integers(1, 4000),
)
def test_merged_as_they_are_decompressed_they_are_the_same(
    files: list[list[Entry]],
    form: tuple[int, int, Compression],
    bounds: list[bytes],
    size: int,
) -> None:
    chosen = [blocks_between(file, form[0], *bounds) for file in files]
    stored = tuple(table_of(file, *form) for file in chosen if file)
    within = [[each for each in file if bounds[0] <= each[0] < bounds[1]] for file in files]
    assume(stored)
    assert merged(stored, (bounds[0], bounds[1]), Room(size)) == living_of(within)


def blocks_between(entries: list[Entry], per_block: int, lower: bytes, upper: bytes) -> list[Entry]:
    """The entries of the blocks that an index gives for keys between two bounds."""
    blocks = [entries[first : first + per_block] for first in range(0, len(entries), per_block)]
    last_keys = [block[-1][0] for block in blocks]
    first, last = (bisect_left(last_keys, bound) for bound in (lower, upper))
    return [entry for block in blocks[first : last + 1] for entry in block]


def test_merge_operands_are_left_to_those_who_join_them() -> None:
    files = [(b"a", 1, VALUE, b"1")], [(b"b", 2, MERGE, b"2")]
    stored = tuple(table_of(file, 1, 1) for file in files)
    assert merged(stored, (b"", b"b"), Room(1)) == [(b"a", b"1")]
    assert merged(stored, (b"", b"c"), Room(1)) is None


def test_other_compressions_are_left_to_those_who_know_them() -> None:
    stored = table_of([(b"a", 1, VALUE, b"1")], 1, 1)
    data = stored.data.copy()
    data[stored.ends[0]] = Compression.LZ4
    assert SstMerge.of((replace(stored, data=data),)) is None


def test_an_empty_range_has_no_entries() -> None:
    entries = SstEntries.of((table_of([(b"b", 1, VALUE, b"1")], 1, 1),))
    assert entries.living(b"c", b"d")[1].shape == (4, 0)
