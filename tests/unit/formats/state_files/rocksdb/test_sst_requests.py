"""Tables in a store are read in few large pieces, some megabytes of each table at a time."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from support.rocksdb_databases import STATE, entries_of, make, plain_tables, put

from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.state_files.rocksdb.states import RocksDbState

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from support.s3_server import S3Server

VALUE = np.random.default_rng(0).bytes(40_000)


def test_all_of_two_tables_takes_a_request_each_once_they_are_open(
    tmp_path: Path, s3_server: S3Server, caplog: pytest.LogCaptureFixture
) -> None:
    tables = [
        {
            bytes([group]) + bytes([number, table]): VALUE
            for group in range(8)
            for number in range(9)
        }
        for table in range(2)
    ]
    files = make(tmp_path / "db", *map(put, tables), options=plain_tables())
    bucket = s3_server.bucket("sst-requests")
    for file in (tmp_path / "db").iterdir():
        if file.is_file():
            s3_server.put(bucket, f"sp/{file.name}", file.read_bytes())
    files = replace(files, directory=SnapshotDirectory.of(s3_server.uri(bucket, "sp")))
    state = RocksDbState(files.directory, files.handle, 128)
    sizes = state.key_group_sizes([STATE], files.handle.key_groups)
    caplog.clear()
    with caplog.at_level(logging.INFO, "werkzeug"):
        chunks = list(state.chunks(STATE, chunk_size=int(sizes.sum()) // 20))
    first = requests_of_tables(caplog)
    batches = list(state.batches([STATE], size=int(sizes.sum()) // 20))
    caplog.clear()
    with caplog.at_level(logging.INFO, "werkzeug"):
        parts = [chunk for part in batches for chunk in state.chunks(STATE, part)]
    assert len(chunks) > 8
    assert len(parts) >= 8
    assert first == requests_of_tables(caplog) == 2
    assert entries_of(chunks) == entries_of(parts) == sorted((tables[0] | tables[1]).items())


def requests_of_tables(caplog: pytest.LogCaptureFixture) -> int:
    return sum(".sst " in record.getMessage() for record in caplog.records)
