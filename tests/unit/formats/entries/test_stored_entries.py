"""Entries become runs that a section can be put together of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.nightly import examples

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.entries.entry_ranges import EntryRanges
from savepoint_formats.entries.frames import section_frames
from savepoint_formats.entries.stored_entries import (
    StoredEntries,
    distinct_hashes,
    placed_hashes,
    runs,
)
from savepoint_formats.program.byte_ranges import ranges_in

OFTEN = settings(max_examples=examples(100), suppress_health_check=list(HealthCheck))
END = b"\xff\xff"

Entry = tuple[int, bytes, bytes]
"""Key group, key and value."""


def column(values: list[bytes]) -> pa.LargeBinaryArray:
    return pa.array(values, pa.large_binary())


def stored(entries: list[Entry]) -> tuple[StoredEntries, Any]:
    keys, values = column([one[1] for one in entries]), column([one[2] for one in entries])
    return StoredEntries(keys, values), np.array([one[0] for one in entries], np.uint16)


def found_runs(entries: list[Entry], state: int, prefix: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = runs(*stored(entries), state, prefix).to_pylist()
    return rows


def run_of(entries: list[Entry], state: int, prefix: int) -> bytes:
    """A run, written entry by entry."""
    view = DataOutputView()
    view.write_unsigned_short(state)
    for index, (key_group, key, value) in enumerate(entries):
        data = bytearray(key_group.to_bytes(prefix, "big") + key)
        data[0] |= 0x80 if index == len(entries) - 1 else 0
        view.write_int(len(data))
        view.write_bytes(bytes(data))
        view.write_int(len(value))
        view.write_bytes(value)
    return view.to_bytes()


@st.composite
def entries_of_any_group(draw: st.DrawFn) -> tuple[list[Entry], int]:
    prefix = draw(st.sampled_from([1, 2]))
    groups = st.integers(0, 3) | st.integers(0, 127 if prefix == 1 else 32_767)
    contents = st.binary(max_size=20)
    return draw(st.lists(st.tuples(groups, contents, contents), max_size=30)), prefix


@OFTEN
@given(entries_of_any_group(), st.integers(0, 0x7FFF))
def test_there_is_a_run_per_key_group_with_its_entries_in_order(
    case: tuple[list[Entry], int], state: int
) -> None:
    entries, prefix = case
    groups = sorted({one[0] for one in entries})
    expected = [
        {"key_group": group, "run": run_of([e for e in entries if e[0] == group], state, prefix)}
        for group in groups
    ]
    assert found_runs(entries, state, prefix) == expected


@OFTEN
@given(entries_of_any_group(), st.data())
def test_parts_of_columns_are_taken_as_they_are(
    case: tuple[list[Entry], int], data: st.DataObject
) -> None:
    entries, prefix = case
    start = data.draw(st.integers(0, len(entries)))
    whole, groups = stored(entries)
    part = StoredEntries(whole.keys[start:], whole.values[start:])
    found = runs(part, groups[start:], 1, prefix).to_pylist()
    assert found == found_runs(entries[start:], 1, prefix)


def test_the_bytes_are_those_of_the_format() -> None:
    rows = found_runs([(5, b"a", b"1"), (3, b"bb", b""), (5, b"c", b"22")], 1, 1)
    assert [(row["key_group"], row["run"].hex(" ")) for row in rows] == [
        (3, "00 01 00 00 00 03 83 62 62 00 00 00 00"),
        (5, "00 01 00 00 00 02 05 61 00 00 00 01 31 00 00 00 02 85 63 00 00 00 02 32 32"),
    ]


def test_a_section_is_runs_and_an_end_mark() -> None:
    (first,) = found_runs([(300, b"a", b"1"), (300, b"b", b"2")], 0, 2)
    (second,) = found_runs([(300, b"a", b"3")], 1, 2)
    data = np.frombuffer(first["run"] + second["run"] + END, np.uint8)
    found = section_frames(Chunk(data), 0, 2)
    assert found.is_end
    assert {state: len(places) for state, places in found.by_state.items()} == {0: 2, 1: 1}


def test_no_entries_are_no_runs() -> None:
    assert runs(*stored([]), 0, 1).num_rows == 0


@pytest.mark.parametrize(("prefix", "key_group"), [(1, 128), (2, 32_768)])
def test_a_key_group_that_its_prefix_cannot_hold_is_refused(prefix: int, key_group: int) -> None:
    message = f"entry 1 is of key group {key_group}, expected 0 to {key_group - 1}"
    with pytest.raises(ValueError, match=message):
        found_runs([(0, b"", b""), (key_group, b"", b"")], 0, prefix)


def test_a_value_of_2_gib_is_refused() -> None:
    # The offsets alone say how large a value is; nothing of it is read.
    offsets = pa.py_buffer(np.array([0, 1 << 31], np.int64))
    value = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), 1, [None, offsets, pa.foreign_buffer(offsets.address, 1 << 31, offsets)]
    )
    entries = StoredEntries(column([b"key"]), value)
    message = "a key of 3 bytes and a value of 2147483648, expected less than 2 GiB"
    with pytest.raises(ValueError, match=message):
        runs(entries, np.zeros(1, np.uint16), 0, 1)


def test_keys_and_values_are_as_many_and_never_null() -> None:
    with pytest.raises(ValueError, match="2 keys and 1 values"):
        StoredEntries(column([b"a", b"b"]), column([b"1"]))
    with pytest.raises(ValueError, match="1 nulls of large_binary"):
        StoredEntries(pa.array([None], pa.large_binary()), column([b""]))
    with pytest.raises(ValueError, match="0 nulls of binary, expected large_binary"):
        StoredEntries(column([]), pa.array([], pa.binary()))
    with pytest.raises(ValueError, match="1 key groups of 3 bytes, 1 entries"):
        found_runs([(0, b"", b"")], 0, 3)
    with pytest.raises(ValueError, match="1 nulls"):
        distinct_hashes(pa.array([None], pa.large_binary()))


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    ("key", "low", "high"),
    [
        (b"", 0, 0),
        (b"hello", 0xCBD8A7B341BD9B02, 0x5B1E906A48AE1D19),
        (
            b"The quick brown fox jumps over the lazy dog",
            0xE34BBC7BBC071B6C,
            0x7A433CA9C49A9347,
        ),
    ],
)
def test_the_hash_is_that_of_murmur(key: bytes, low: int, high: int) -> None:
    assert distinct_hashes(column([b"other", key])[1:]).tolist() == [[low, high]]


@pytest.mark.usefixtures("both_ways")
@OFTEN
@given(st.lists(st.binary(max_size=40)))
def test_keys_are_equal_where_their_hashes_are(keys: list[bytes]) -> None:
    hashes = list(map(tuple, distinct_hashes(column(keys)).tolist()))
    assert len(set(hashes)) == len(set(keys))
    assert len(set(zip(keys, hashes, strict=True))) == len(set(keys))


OLD_PREFIX = b"??"


def in_one_chunk(entries: list[Entry]) -> tuple[StoredEntries, Any]:
    """All entries one behind the other, with gaps between them."""
    data, ranges = bytearray(), np.zeros((4, len(entries)), np.int64)
    for index, (_, key, value) in enumerate(entries):
        data += b"gap" + OLD_PREFIX + key
        ranges[:2, index] = len(data) - len(key) - len(OLD_PREFIX), len(data)
        data += b"gap" + value
        ranges[2:, index] = len(data) - len(value), len(data)
    chunk = Chunk(np.frombuffer(bytes(data), np.uint8))
    placed_entries = StoredEntries.of(chunk, EntryRanges(*ranges), len(OLD_PREFIX))
    return placed_entries, np.array([one[0] for one in entries], np.uint16)


@OFTEN
@given(entries_of_any_group())
@pytest.mark.usefixtures("slow")
def test_entries_in_a_chunk_have_the_runs_of_columns(case: tuple[list[Entry], int]) -> None:
    entries, prefix = case
    rows = runs(*in_one_chunk(entries), 1, prefix).to_pylist()
    assert rows == found_runs(entries, 1, prefix)


@pytest.mark.parametrize(
    ("row", "position"), [(0, -3), (0, 99), (1, 99), (2, -1), (2, 21), (3, 99)]
)
def test_entries_outside_of_their_bytes_are_refused(row: int, position: int) -> None:
    ranges = np.array([[3], [10], [13], [20]], np.int64)
    ranges[row] = position
    entries = StoredEntries.of(Chunk(np.zeros(20, np.uint8)), EntryRanges(*ranges), 2)
    groups = np.zeros(1, np.uint16)
    with pytest.raises(ValueError, match=r"entry 0 .* outside of their bytes"):
        runs(entries, groups, 0, 2)
    if row < 2:
        with pytest.raises(ValueError, match=r"key 0 lies outside of its 20 bytes"):
            placed_hashes(entries.key_places)


def placed(*borders: int) -> EntryRanges:
    return EntryRanges(*(np.array([border], np.int64) for border in borders))


@given(st.binary(max_size=9), st.binary(max_size=60), st.binary(max_size=20))
def test_an_entry_has_its_bytes_whether_or_not_it_is_most_of_its_chunk(
    key: bytes, value: bytes, rest: bytes
) -> None:
    data = b"\1" + key + value + rest
    chunk = Chunk(np.frombuffer(data, np.uint8))
    ranges = placed(0, 1 + len(key), 1 + len(key), 1 + len(key) + len(value))
    entries = StoredEntries.of(chunk, ranges, 1)
    assert (entries.keys.to_pylist(), entries.values.to_pylist()) == ([key], [value])
    prefixed = entries.prefixed(np.array([7], np.uint16), 1)
    for prefix, each in ((b"", entries), (b"\7", prefixed)):
        whole, places = each.in_chunk("")
        bounds = [int(each[0]) for each in places.arrays()]
        assert whole.data[bounds[0] : bounds[1]].tobytes() == prefix + key
        assert whole.data[bounds[2] : bounds[3]].tobytes() == value


def test_a_large_value_stays_in_the_memory_of_its_chunk() -> None:
    chunk = Chunk(np.zeros(100, np.uint8))
    entries = StoredEntries.of(chunk, placed(0, 9, 9, 90), 1)
    whole, _ = entries.in_chunk("")
    assert np.shares_memory(whole.data, chunk.data)
    assert np.shares_memory(ranges_in(entries.values)[0], chunk.data)


def test_an_entry_outside_of_its_chunk_is_refused() -> None:
    with pytest.raises(ValueError, match="bytes 9 to 109, outside of the chunk of 100 bytes"):
        _ = StoredEntries.of(Chunk(np.zeros(100, np.uint8)), placed(0, 9, 9, 109), 1).values


def test_places_may_lie_apart_in_memory() -> None:
    """A caller may have the four borders of each entry side by side."""
    by_entry = np.array([[0, 3, 3, 5], [5, 8, 8, 10]], np.int64)
    chunk = Chunk(np.frombuffer(b"\1aaAA\1bbBB", np.uint8))
    entries = StoredEntries.of(chunk, EntryRanges(*by_entry.T), 1)
    groups = np.ones(2, np.uint16)
    assert runs(entries, groups, 0, 1).to_pylist() == [
        {"key_group": 1, "run": run_of([(1, b"aa", b"AA"), (1, b"bb", b"BB")], 0, 1)}
    ]
    assert placed_hashes(entries.value_places).tolist() == (
        distinct_hashes(column([b"AA", b"BB"])).tolist()
    )
