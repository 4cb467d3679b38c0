"""Work of reading RocksDB's tables: calls per block, and bytes, whatever the machine's speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rocksdict import ChecksumType, DBCompressionType
from support.counted_calls import calls_in
from support.rocksdb_databases import STATE, make, numbered, put, table_options

from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.locations.state_file import StateFile
from savepoint_formats.state_files.rocksdb.states import DEFAULT_CHUNK_SIZE, RocksDbState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.rocksdb_databases import Files

GROUPS = range(128)
COMPRESSIONS = {
    "snappy": DBCompressionType.snappy,
    "lz4": DBCompressionType.lz4,
    "none": DBCompressionType.none,
}


def files_of(folder: Path, compression: str, count: int) -> Files:
    table = {"block_size": 4096, "checksum_type": ChecksumType.xxh3()}
    options = table_options(table=table, compression_type=COMPRESSIONS[compression]())
    return make(folder, put(numbered(GROUPS, count)), options=options)


def reading(
    files: Files, key_groups: KeyGroupRange | None = None, chunk_size: int = DEFAULT_CHUNK_SIZE
) -> Callable[[], int]:
    def read() -> int:
        state = RocksDbState(files.directory, files.handle, 128)
        chunks = state.chunks(STATE, key_groups, chunk_size=chunk_size)
        return sum(len(ranges) for _, ranges in chunks)

    return read


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_no_call_is_made_per_block(compression: str, tmp_path: Path) -> None:
    """Sixteen times the blocks take the same calls, but for those of a search in the index."""
    few, many = (
        sum(calls_in(reading(files_of(tmp_path / str(count), compression, count))).values())
        for count in (20, 320)
    )
    assert many < few + 100


def test_only_blocks_of_the_wanted_key_groups_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, sizes = files_of(tmp_path / "db", "none", 200), list[int]()
    read = StateFile.read

    def counted(self: StateFile, *place: int) -> bytes:
        data = read(self, *place)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(StateFile, "read", counted)
    assert reading(files)() == len(GROUPS) * 200
    whole = sum(sizes)
    sizes.clear()
    assert reading(files, KeyGroupRange(40, 43))() == 4 * 200
    # Four of 128 key groups, a block at either end, and the end of the file with its index.
    assert sum(sizes) < whole // 32 + 2 * 4096 + (1 << 16)


def test_a_plan_looks_at_the_separators_of_large_key_groups_alone(tmp_path: Path) -> None:
    files = files_of(tmp_path, "none", 320)
    separators = {}
    for chunk_size in (1 << 16, 1 << 10):
        calls = calls_in(reading(files, None, chunk_size))
        assert calls["sst_scan._living"] > 10
        separators[chunk_size] = calls["sst_scan._sized_separators"]
        assert reading(files, None, chunk_size)() == len(GROUPS) * 320
    assert separators[1 << 16] == 0
    assert separators[1 << 10] > len(GROUPS)


def test_a_small_key_group_in_front_of_a_large_value_is_one_chunk(tmp_path: Path) -> None:
    """The value's block begins with keys of the small group, but counts for the value's group."""
    entries = numbered([5], 200) | {b"\6large": bytes(1 << 17)}
    table = {"block_size": 1024, "checksum_type": ChecksumType.xxh3()}
    options = table_options(table=table, compression_type=DBCompressionType.none())
    files = make(tmp_path, put(entries), options=options)
    state = RocksDbState(files.directory, files.handle, 128)
    chunks = state.chunks(STATE, KeyGroupRange(5, 6), chunk_size=1 << 15)
    assert [len(ranges) for _, ranges in chunks] == [200, 1]
