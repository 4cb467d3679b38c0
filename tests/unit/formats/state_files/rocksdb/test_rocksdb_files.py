"""The files of RocksDB state: where they may lie, and what is left open of them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import fs
from support.rocksdb_databases import SMALL, STATE, Reader, both, make, numbered, put, read

from savepoint_formats.errors import FormatError, StateFileNotFoundError
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.locations.location import Location
from savepoint_formats.metadata import LocalFile, SegmentStream
from savepoint_formats.state_files.rocksdb.states import RocksDbState


@both
def test_segments_of_a_merged_file_are_read(tmp_path: Path, reader: Reader) -> None:
    entries = numbered(range(20), 50)
    files = make(tmp_path, put(entries), put({b"\1more": b"1"}))
    merged, shared = bytearray(b"other"), []
    for table in files.ssts:
        data = table.read_bytes()
        stream = SegmentStream(len(merged), len(data), 1, f"file:{tmp_path}/merged", "")
        shared.append(LocalFile(table.name, stream))
        merged += data + b"between"
        table.unlink()
    (tmp_path / "merged").write_bytes(merged)
    files = replace(files, handle=replace(files.handle, shared=tuple(shared)))
    assert reader(files) == sorted((entries | {b"\1more": b"1"}).items())


@both
def test_files_of_another_file_system_are_read(tmp_path: Path, reader: Reader) -> None:
    entries = numbered(range(20), 50)
    files = make(tmp_path, put(entries))
    elsewhere = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    directory = SnapshotDirectory(Location(elsewhere, ""), "elsewhere")
    assert reader(replace(files, directory=directory)) == sorted(entries.items())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are not listed here")
def test_an_abandoned_scan_leaves_no_file_open(tmp_path: Path) -> None:
    files = make(tmp_path, put(numbered(range(9), 50)))
    before = os.listdir("/proc/self/fd")
    state = RocksDbState(files.directory, files.handle, 128)
    scan = state.chunks(STATE, chunk_size=SMALL)
    next(scan)
    del scan
    assert os.listdir("/proc/self/fd") == before


@both
def test_a_missing_file_is_an_error(tmp_path: Path, reader: Reader) -> None:
    files = make(tmp_path, put({b"\1a": b"1"}))
    files.ssts[0].unlink()
    with pytest.raises(StateFileNotFoundError, match=files.ssts[0].name):
        reader(files)


@pytest.mark.parametrize("name", ["../escaped.sst", "/etc/escaped", "..", ""])
def test_a_name_that_leads_elsewhere_is_an_error(tmp_path: Path, name: str) -> None:
    files = make(tmp_path, put({b"\1a": b"1"}))
    evil = LocalFile(name, files.handle.shared[0].stream)
    with pytest.raises(FormatError, match=r"a file named .*, as RocksDB names none"):
        read(replace(files, handle=replace(files.handle, shared=(evil,))))
