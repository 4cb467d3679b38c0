"""RocksDB state by key groups: foreign ones, and the chunks and batches of one's own."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rocksdict import BottommostLevelCompaction, CompactOptions
from support.rocksdb_databases import (
    SMALL,
    STATE,
    Reader,
    both,
    entries_of,
    make,
    numbered,
    put,
    read,
    table_options,
)

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_ranges import key_groups_at
from savepoint_formats.errors import RocksDbError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.state_files.rocksdb.states import RocksDbState

if TYPE_CHECKING:
    from pathlib import Path

    from rocksdict import Rdict


@both
def test_foreign_key_groups_never_surface(tmp_path: Path, reader: Reader) -> None:
    entries = numbered(range(10), 20)
    files = make(tmp_path, put(entries)).of_groups(3, 6)
    own = [(key, value) for key, value in sorted(entries.items()) if 3 <= key[0] <= 6]
    assert reader(files) == own
    assert reader(files, groups=KeyGroupRange(4, 4)) == own[20:40]


def test_only_the_handles_own_key_groups_are_asked_for(tmp_path: Path) -> None:
    files = make(tmp_path, put(numbered(range(10), 1))).of_groups(3, 6)
    assert [key[0] for key, _ in read(files, groups=KeyGroupRange(0, 4))] == [3, 4]
    assert read(files, groups=KeyGroupRange(8, 9)) == []


@both
def test_deleted_ranges_of_foreign_key_groups_are_no_matter(tmp_path: Path, reader: Reader) -> None:
    entries = numbered(range(10), 20)

    def clip(state: Rdict) -> None:
        state.delete_range(b"\0", b"\3")
        state.delete_range(b"\7", b"\x0a")

    files = make(tmp_path, put(entries), clip).of_groups(3, 6)
    assert reader(files) == [item for item in sorted(entries.items()) if 3 <= item[0][0] <= 6]


@both
def test_deleted_ranges_of_own_keys_hide_what_is_older(tmp_path: Path, reader: Reader) -> None:
    entries = numbered(range(10), 20)
    files = make(
        tmp_path,
        put(entries),
        lambda state: state.delete_range(b"\2", b"\5"),
        put({b"\3again": b"1"}),
        lambda state: state.delete_range(b"\4x", b"\7"),
        put({b"\4y": b"2"}),
    )
    expected = {key: value for key, value in entries.items() if not 2 <= key[0] < 7}
    expected |= {b"\3again": b"1", b"\4y": b"2"}
    for size in (1, SMALL, 1 << 20):
        assert reader(files, size=size) == sorted(expected.items())
    groups = KeyGroupRange(3, 8)
    own = [(key, value) for key, value in sorted(expected.items()) if 3 <= key[0] <= 8]
    assert reader(files, groups=groups) == own


@both
def test_a_deleted_range_ends_with_its_table(tmp_path: Path, reader: Reader) -> None:
    """Several tables note all of it, and each counts only for its own keys.

    Entries that came later have lost their sequence numbers, so that elsewhere they would seem older.
    """
    compact, bottom = CompactOptions(), CompactOptions()
    bottom.set_bottommost_level_compaction(BottommostLevelCompaction.force())
    entries = {key: b"%d" % place * 50 for place, key in enumerate(numbered(range(10), 20))}
    held: list[object] = []

    def delete(state: Rdict) -> None:
        held.append(state.snapshot())
        state.delete_range(b"\2", b"\x09")

    def compact_some(state: Rdict) -> None:
        held.clear()
        state.compact_range(b"\3", b"\4", bottom)

    files = make(
        tmp_path,
        put(entries),
        delete,
        lambda state: state.compact_range(None, None, compact),
        put({b"\3new": b"1", b"\4new": b"2"}),
        compact_some,
        options=table_options(target_file_size_base=1000, max_compaction_bytes=1000),
    )
    expected = {key: value for key, value in entries.items() if not 2 <= key[0] < 9}
    assert reader(files) == sorted((expected | {b"\3new": b"1", b"\4new": b"2"}).items())


def test_a_deleted_range_is_that_of_a_listed_table(tmp_path: Path) -> None:
    files = make(tmp_path, put(numbered(range(10), 5)), lambda s: s.delete_range(b"\2", b"\5"))
    (manifest,) = tmp_path.glob("MANIFEST-*")
    manifest.write_bytes(manifest.read_bytes()[:-30])
    assert len(read(files.of_groups(5, 9))) == 25
    with pytest.raises(
        RocksDbError, match="a deletion of the keys 02 to 05, whose reach is unknown"
    ):
        read(files)


@pytest.mark.parametrize("size", [1, SMALL, 1000, 1 << 20])
@both
def test_prefixes_of_two_bytes(tmp_path: Path, reader: Reader, size: int) -> None:
    entries = numbered([0, 1, 255, 256, 257, 511, 512, 32767], 30, width=2)
    files = replace(make(tmp_path, put(entries)), max_parallelism=32768).of_groups(0, 32767)
    assert reader(files, size=size) == sorted(entries.items())
    assert reader(files, groups=KeyGroupRange(256, 511), size=size) == [
        (key, value) for key, value in sorted(entries.items()) if key[0] == 1
    ]


@pytest.mark.parametrize("size", [1, SMALL, 1000, 1 << 20])
def test_chunks_follow_each_other_without_a_gap(tmp_path: Path, size: int) -> None:
    entries = numbered([3, 4, 300, 301], 40, width=2)
    files = make(tmp_path, put(entries))
    files = replace(files, max_parallelism=1000).of_groups(2, 900)
    state = RocksDbState(files.directory, files.handle, 1000)
    assert entries_of(state.chunks(STATE, chunk_size=size)) == sorted(entries.items())


def test_a_key_group_is_split_only_if_it_is_too_big_for_a_chunk(tmp_path: Path) -> None:
    entries = numbered([1], 10) | numbered([2], 2000) | numbered([3, 4], 10)
    options = table_options(table={"block_size": 128})
    files = make(tmp_path, put(entries), options=options)
    state = RocksDbState(files.directory, files.handle, 128)
    chunks = [entries_of([chunk]) for chunk in state.chunks(STATE, chunk_size=10_000)]
    groups = [{key[0] for key, _ in chunk} for chunk in chunks]
    assert groups.count({2}) > 1
    assert all(sum(group in of_chunk for of_chunk in groups) == 1 for group in (1, 3, 4))


def test_many_empty_key_groups_are_one_chunk(tmp_path: Path) -> None:
    files = make(tmp_path, put(numbered([7, 20_000], 2, width=2)))
    files = replace(files, max_parallelism=32768).of_groups(0, 32767)
    state = RocksDbState(files.directory, files.handle, 32768)
    (chunk,) = state.chunks(STATE)
    data, byte_ranges = chunk
    assert key_groups_at(Chunk(data), byte_ranges.key_starts, 2).tolist() == [7, 7, 20_000, 20_000]


@pytest.mark.parametrize("size", [1, 1000, 5000, 1 << 30])
def test_batches_are_whole_key_groups_of_all_states(tmp_path: Path, size: int) -> None:
    entries = numbered([3, 4, 5, 20], 60)
    table = {"block_size": 100}
    options = table_options(table=table)
    files = make(tmp_path, put(entries), options=options).of_groups(2, 99)
    state = RocksDbState(files.directory, files.handle, 128)
    batches = list(state.batches([STATE, "unknown"], size=size))
    assert [group for batch in batches for group in batch] == list(range(2, 100))
    for batch in batches:
        entries = dict(entries_of(state.chunks(STATE, batch, chunk_size=sys.maxsize)))
        assert {key[0] for key in entries} <= {*batch}
        assert len(batch) == 1 or size > 1000 or len(entries) <= 60
    assert list(state.batches([STATE], KeyGroupRange(0, 1))) == []
    assert size < 1 << 30 or len(batches) == 1


def test_only_blocks_of_the_wanted_keys_are_read(tmp_path: Path) -> None:
    def key(group: int, number: int) -> bytes:
        return bytes([group]) + number.to_bytes(4, "big") + b"namespace"

    def written(numbers: range) -> dict[bytes, bytes]:
        return {key(group, n): n.to_bytes(200, "big") for group in (3, 4) for n in numbers}

    files = make(tmp_path / "db", put(written(range(500))), put(written(range(250, 750))))
    keys = {3: tuple(number.to_bytes(4, "big") for number in (5, 300, 1000))}
    one, other = KeyGroupRange(3, 3), KeyGroupRange(4, 4)
    state = RocksDbState(files.directory, files.handle, 128, keys=keys)
    entries = entries_of(state.chunks(STATE, one))
    assert entries == [(key(3, number), number.to_bytes(200, "big")) for number in (5, 300)]
    assert 0 < state.size([STATE], one) < 100_000 < state.size([STATE], other)
    assert len(entries_of(state.chunks(STATE, other))) == 750
    assert len(entries_of(state.chunks(STATE))) == 1500
