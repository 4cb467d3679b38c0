"""RocksDB tables of all kinds that Flink can be set to are read; others are an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
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

from savepoint_formats.checks.rocksdb_faults import rocksdb_faults
from savepoint_formats.errors import RocksDbError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.state_files.rocksdb.states import RocksDbState

if TYPE_CHECKING:
    from pathlib import Path

MANY = numbered(range(128), 50) | {b"\x05long": b"x" * 100_000, b"\x05" + b"k" * 300: b""}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_all_kinds_are_read(tmp_path: Path, kind: str) -> None:
    files = make(tmp_path, put(MANY), options=table_options(**KINDS[kind]))
    assert read(files) == sorted(MANY.items())
    assert read(files, size=5000) == sorted(MANY.items())
    assert read(files, groups=KeyGroupRange(5, 6)) == [
        (key, value) for key, value in sorted(MANY.items()) if key[0] in (5, 6)
    ]


def test_a_format_that_is_not_known_is_an_error(tmp_path: Path) -> None:
    files = make(tmp_path, put(MANY), options=table_options(format_version=6))
    with pytest.raises(RocksDbError, match=r"\.sst at byte \d+: .* format version 6; a canonical"):
        read(files)


def test_a_compression_that_is_not_known_is_an_error(tmp_path: Path) -> None:
    files = make(tmp_path, put({b"\1key": b"1"}), options=plain_tables())
    data = bytearray(files.ssts[0].read_bytes())
    restarts = bytes(4) + (1).to_bytes(4, "little")
    data[data.index(restarts) + len(restarts)] = 0x50
    files.ssts[0].write_bytes(data)
    with pytest.raises(RocksDbError, match="a block of compression 80"):
        read(files)


def test_an_entry_of_a_type_that_is_not_known_is_an_error(tmp_path: Path) -> None:
    """The bytes in front of it are read first."""
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
    state = RocksDbState(files.directory, files.handle, 128)
    chunks = state.chunks(STATE, chunk_size=500)
    with pytest.raises(RocksDbError, match=f"{files.ssts[1].name}.* an entry of type 127"):
        groups.extend(key[0] for chunk in chunks for key, _ in entries_of([chunk]))
    assert groups[-1] in (6, 7)


def test_verification_names_a_table_of_a_format_that_is_not_known(tmp_path: Path) -> None:
    files = make(tmp_path, put(MANY), options=table_options(format_version=6))
    (table,) = files.handle.shared
    file, size = files.directory.file(table.stream), table.stream.size
    (fault,) = rocksdb_faults(file, table.name, size)
    assert "format version 6" in fault.problem
    assert fault.lost_bytes == size
