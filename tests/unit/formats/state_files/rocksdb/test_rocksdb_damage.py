"""Damaged RocksDB state is an error that names the file, never other entries."""

from __future__ import annotations

import tracemalloc
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.rocksdb_databases import (
    KINDS,
    STATE,
    Files,
    entries_of,
    make,
    numbered,
    put,
    read,
    table_options,
    varint,
)

from savepoint_formats.errors import FormatError, SavepointError, TruncatedError
from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.locations.state_file import StateFile
from savepoint_formats.state_files.rocksdb.sst import BlockIndex, Sst
from savepoint_formats.state_files.rocksdb.sst_scan import ScannedSst, SstScan
from savepoint_formats.state_files.rocksdb.states import RocksDbState

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module", params=["as Flink 1.20", "as Flink 2"])
def small(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A database with a small table."""
    return make(
        tmp_path_factory.mktemp("small"),
        put(numbered([1, 2], 5)),
        options=table_options(**KINDS[request.param]),
    )


def test_every_cut_is_noticed(small: Files) -> None:
    (table,) = small.ssts
    data = table.read_bytes()
    for cut in range(0, len(data), 7):
        table.write_bytes(data[:cut])
        with pytest.raises(TruncatedError):
            read(small)
    table.write_bytes(data)


@pytest.mark.usefixtures("slow")
def test_no_changed_byte_changes_an_entry(small: Files) -> None:
    """A change is an error, or lies where it is of no consequence."""
    (table,) = small.ssts
    data = table.read_bytes()
    errors = 0
    with ExitStack() as restored:
        restored.callback(table.write_bytes, data)
        for at in range(len(data)):
            table.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :])
            state = RocksDbState(small.directory, small.handle, 128)
            try:
                entries = entries_of(state.chunks(STATE))
            except SavepointError:
                errors += 1
            else:
                assert entries == sorted(numbered([1, 2], 5).items())
    assert errors > len(data) * 0.9


@pytest.mark.parametrize("number", [1 << 40, (1 << 62) + 1])
def test_a_footer_that_leads_far_away_is_an_error(small: Files, number: int) -> None:
    (table,) = small.ssts
    data = table.read_bytes()
    handles = varint(number) + varint(number)
    table.write_bytes(data[:-52] + handles.ljust(40, b"\0") + data[-12:])
    with pytest.raises(TruncatedError, match="in a file of"):
        read(small)
    table.write_bytes(data)


def opened(files: Files) -> Sst:
    (path,) = files.ssts
    return Sst.open(StateFile(path.name, path.read_bytes()), path.stat().st_size)


def test_memory_is_not_taken_because_a_table_claims_a_size(small: Files) -> None:
    table = opened(small)
    claims = table.properties | {b"rocksdb.raw.value.size": varint(1 << 62)}
    scanned = ScannedSst(replace(table, properties=claims), table.read_index())
    data, ranges = SstScan((scanned,), 1).read((b"", b"\xff"))
    assert len(data) < 1000
    assert entries_of([(data, ranges)]) == sorted(numbered([1, 2], 5).items())


def test_a_long_property_is_not_kept_with_its_number(small: Files) -> None:
    table = opened(small)
    tracemalloc.start()
    try:
        for number in range(1, 9):
            claims = {b"rocksdb.data.size": varint(number) + bytes(1 << 20)}
            assert replace(table, properties=claims).expansion == 0
            del claims
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 1 << 20


@pytest.mark.parametrize("size", [(1 << 63) - 1, (1 << 63) - 150])
def test_an_index_whose_sums_overflow_is_an_error(small: Files, size: int) -> None:
    """A block that ends before it begins is not hashed, whatever follows it."""
    table = opened(small)
    places = np.array([0, 200, 300]), np.array([5, size, 5])
    index = BlockIndex(table.read_index().separators, *places)
    with pytest.raises(TruncatedError, match="in a file of"):
        table.read_blocks(index, slice(None))


def test_an_error_names_the_file_and_the_byte(small: Files) -> None:
    (table,) = small.ssts
    data = table.read_bytes()
    table.write_bytes(data[:5] + bytes([data[5] ^ 1]) + data[6:])
    with pytest.raises(FormatError, match="a block whose checksum is wrong") as caught:
        read(small)
    table.write_bytes(data)
    assert (caught.value.path, caught.value.offset) == (table.name, 0)


def test_a_key_without_its_key_group_is_an_error_with_its_place(tmp_path: Path) -> None:
    """The key is in a block between others, where no bound of the scan is compared with it."""
    groups = [0x0101, 0x0102, 0x0200, 0x0201]
    entries = numbered(groups, 200, width=2) | {b"\2": b"of no key group"}
    made = make(tmp_path, put(entries), options=table_options(table={"block_size": 64}))
    whole = replace(made.handle, key_groups=KeyGroupRange(0, 999))
    files = replace(made, handle=whole, max_parallelism=1000)
    with pytest.raises(FormatError, match="a damaged block") as caught:
        read(files)
    assert caught.value.path.endswith(files.ssts[0].name)
    assert 0 < caught.value.offset < files.ssts[0].stat().st_size
