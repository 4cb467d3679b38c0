"""RocksDB tables of all kinds: some are read directly, RocksDB is asked about others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from rocksdict import DataBlockIndexType
from support.rocksdb_databases import (
    KINDS,
    STATE,
    entries_of,
    make,
    numbered,
    plain_tables,
    put,
    read,
    table_options,
)

from savepoint_formats.errors import RocksDbError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.state_files.rocksdb.states import RocksDbState

if TYPE_CHECKING:
    from pathlib import Path

MANY = numbered(range(128), 50) | {b"\x05long": b"x" * 100_000, b"\x05" + b"k" * 300: b""}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_all_kinds_are_read_directly(tmp_path: Path, kind: str) -> None:
    files = make(tmp_path, put(MANY), options=table_options(**KINDS[kind]))
    assert read(files) == sorted(MANY.items())
    assert read(files, size=5000) == sorted(MANY.items())
    assert read(files, groups=KeyGroupRange(5, 6)) == [
        (key, value) for key, value in sorted(MANY.items()) if key[0] in (5, 6)
    ]


UNKNOWN_KINDS: dict[str, dict[str, Any]] = {
    "format version 6": {"format_version": 6},
    "a hash index": {"table": {"data_block_index_type": DataBlockIndexType.binary_and_hash()}},
}


@pytest.mark.parametrize("kind", UNKNOWN_KINDS)
def test_rocksdb_is_asked_where_a_table_is_not_known(tmp_path: Path, kind: str) -> None:
    entries = numbered(range(128), 50)
    files = make(tmp_path, put(entries), options=table_options(**UNKNOWN_KINDS[kind]))
    with RocksDbState(files.directory, files.handle, 128) as state:
        assert entries_of(state.chunks(STATE)) == sorted(entries.items())
        (reason,) = state.fallback_reasons
    assert kind in reason


def test_rocksdb_is_asked_about_a_compression_that_is_not_known(tmp_path: Path) -> None:
    """It knows none either: the byte was changed here."""
    options = plain_tables()
    files = make(tmp_path, put({b"\1key": b"1"}), options=options)
    data = bytearray(files.ssts[0].read_bytes())
    restarts = bytes(4) + (1).to_bytes(4, "little")
    data[data.index(restarts) + len(restarts)] = 0x50
    files.ssts[0].write_bytes(data)
    with RocksDbState(files.directory, files.handle, 128) as state:
        with pytest.raises(RocksDbError, match="RocksDB says"):
            list(state.chunks(STATE))
        assert "a block of compression 80" in state.fallback_reasons[0]


def test_rocksdb_goes_on_where_the_direct_way_ends(tmp_path: Path) -> None:
    """The first table is read directly; RocksDB is asked from the second one on."""
    entries = numbered(range(10), 100)
    files = make(
        tmp_path,
        put({key: value for key, value in entries.items() if key[0] < 5}),
        put({key: value for key, value in entries.items() if key[0] >= 5}),
        options=plain_tables(),
    )
    data = bytearray(files.ssts[1].read_bytes())
    data[data.index(numbered([7], 1).popitem()[0]) + 10] = 0x7F
    files.ssts[1].write_bytes(data)
    groups: list[int] = []
    with RocksDbState(files.directory, files.handle, 128) as state:
        chunks = state.chunks(STATE, chunk_size=500)
        with pytest.raises(RocksDbError, match="RocksDB says"):
            groups.extend(chunk.key_groups.end for chunk in chunks)
        assert "an entry of type 127" in state.fallback_reasons[0]
    assert groups[-1] in (6, 7)
