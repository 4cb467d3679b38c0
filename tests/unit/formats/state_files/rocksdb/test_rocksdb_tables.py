"""RocksDB tables of all kinds that Flink can be set to are read; others are an error."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rocksdict import DBCompressionType
from support.rocksdb_databases import (
    CRC32C,
    KINDS,
    STATE,
    Files,
    entries_of,
    make,
    numbered,
    plain_tables,
    put,
    read,
    table_options,
)

from savepoint_formats.checks.faults import Severity
from savepoint_formats.checks.rocksdb_faults import rocksdb_faults
from savepoint_formats.errors import FormatError, RocksDbError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.locations.state_file import StateFile
from savepoint_formats.state_files.rocksdb.footer import FOOTER_SIZE
from savepoint_formats.state_files.rocksdb.sst import Sst
from savepoint_formats.state_files.rocksdb.sst_blocks import Blocks
from savepoint_formats.state_files.rocksdb.sst_merge import Room, living_entries
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


@pytest.mark.parametrize("kind", ["as Flink 2", "of format 6", "of format 6 with CRC-32C"])
def test_blocks_far_apart_are_read_without_those_between_them(tmp_path: Path, kind: str) -> None:
    many = {bytes([key]) * 8: Random(key).randbytes(20_000) for key in range(30)}
    path = make(tmp_path, put(many), options=table_options(**KINDS[kind])).ssts[0]
    content = path.read_bytes()
    sst = Sst.open(StateFile(path.name, content), len(content))
    index = sst.read_index()
    chosen = np.array([2, 3, 20])
    assert index.offsets[20] - index.offsets[3] > 1 << 17
    blocks = sst.read_blocks(index, chosen)
    assert len(blocks.data) < 1 << 17
    own = [entry for entry in many.items() if entry[0][0] in chosen]
    data, ranges = living_entries([Blocks.of(blocks)], (b"", b"\xff"), Room(1), 1)
    assert entries_of([(data, ranges)]) == own
    at = int(index.offsets[20])
    damaged = StateFile(path.name, content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    with pytest.raises(FormatError, match="a block whose checksum is wrong") as caught:
        Sst.open(damaged, len(content)).read_blocks(index, chosen)
    assert caught.value.offset == at


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "compression_type" in KINDS[kind]])
def test_blocks_are_compressed_as_a_test_asks(tmp_path: Path, kind: str) -> None:
    """A RocksDB that lacks a compression stores blocks as they are, without an error."""
    files = make(tmp_path, put(MANY), options=table_options(**KINDS[kind]))
    stored = set[int]()
    for path in files.ssts:
        sst = Sst.open(StateFile(path.name, path.read_bytes()), path.stat().st_size)
        index = sst.read_index()
        stored.update(sst.read_blocks(index, slice(None)).compressions().tolist())
    names = {"LZ4": 4, "LZ4 HC": 5, "Zstandard": 7, "bzip2": 3}
    assert stored == {names.get(kind.partition("with ")[2], 0)}


@pytest.mark.parametrize("version", [0, 1, 2, 5, 6])
def test_tables_are_of_the_format_that_a_test_asks_for(tmp_path: Path, version: int) -> None:
    """Some settings make RocksDB take another one."""
    files = make(tmp_path, put(MANY), options=table_options(format_version=version, **CRC32C))
    (table,) = files.ssts
    tail = table.read_bytes()[-12:]
    assert tail[4:].hex() == ("f7cff485b741e288" if version else "57fb808b247547db")
    assert not version or tail[:4] == version.to_bytes(4, "little")


def of_format_7(folder: Path) -> Files:
    files = make(folder, put(MANY), options=table_options(format_version=6))
    (path,) = files.ssts
    data = bytearray(path.read_bytes())
    data[-12] = 7
    path.write_bytes(data)
    return files


def test_a_format_that_is_not_known_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RocksDbError, match=r"\.sst at byte \d+: .* format version 7; a canonical"):
        read(of_format_7(tmp_path))


def test_each_damaged_byte_of_a_footer_of_format_6_is_noticed(tmp_path: Path) -> None:
    files = make(tmp_path, put({b"\1key": b"1"}), options=table_options(format_version=6))
    (path,) = files.ssts
    data = path.read_bytes()
    for at in range(-FOOTER_SIZE, -12):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        path.write_bytes(damaged)
        with pytest.raises((FormatError, RocksDbError), match=r"footer|checksum type"):
            read(files)


def test_a_block_of_format_6_at_another_place_is_damaged(tmp_path: Path) -> None:
    """Its checksum says where it belongs; whole blocks of equal size were swapped."""
    files = make(
        tmp_path,
        put({b"\1a": b"1", b"\1b": b"2"}),
        options=table_options(
            format_version=6, compression_type=DBCompressionType.none(), table={"block_size": 1}
        ),
    )
    (path,) = files.ssts
    assert len(read(files)) == 2
    data = path.read_bytes()
    size = data.index(b"\1b") - data.index(b"\1a")
    path.write_bytes(data[size : 2 * size] + data[:size] + data[2 * size :])
    with pytest.raises(FormatError, match="at byte 0: a block whose checksum is wrong"):
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
    files = of_format_7(tmp_path)
    (table,) = files.handle.shared
    file, size = files.directory.file(table.stream), table.stream.size
    (fault,) = rocksdb_faults(file, table.name, size)
    assert "format version 7" in fault.problem
    assert fault.severity is Severity.NOT_READ
