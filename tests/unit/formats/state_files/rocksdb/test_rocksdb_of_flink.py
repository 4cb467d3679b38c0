"""RocksDB state that Flink wrote is what RocksDB itself reads."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rocksdict import Rdict
from support.rocksdb_databases import (
    SMALL,
    Entries,
    Files,
    Reader,
    both,
    entries_of,
    read,
    read_by_rocksdb,
    varint,
)
from support.slow_cases import nightly_unless, stands_for_others

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.key_groups.ranges import prefix_size
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import (
    ChangelogHandle,
    CheckpointMetadata,
    IncrementalHandle,
    OperatorState,
)
from savepoint_formats.state_files.rocksdb.states import RocksDbState

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[5]
SAMPLES = ROOT / "sample_savepoints"
SAVEPOINTS = ROOT.parent / "shared" / "corpus" / "savepoints"


def snapshots() -> Iterator[Path]:
    for folder in (*sorted(SAMPLES.glob("*-rocksdb-*")), *sorted(SAVEPOINTS.glob("*rocksdb-*"))):
        yield from (metadata.parent for metadata in folder.glob("**/_metadata"))


def incremental_files(snapshot: Path) -> Iterator[Files]:
    directory = SnapshotDirectory.of(str(snapshot))
    metadata = CheckpointMetadata.read(DataInputView(directory.read_metadata()))
    for operator in metadata.operators:
        for handle in incremental_handles(operator):
            yield Files(directory, handle, operator.max_parallelism)


def incremental_handles(operator: OperatorState) -> Iterator[IncrementalHandle]:
    for subtask in operator.subtasks:
        state = subtask.managed_keyed_state
        handles = state.base if isinstance(state, ChangelogHandle) else [state]
        yield from (handle for handle in handles if isinstance(handle, IncrementalHandle))


def column_families(files: Files, folder: Path) -> list[str]:
    """As RocksDB lists them."""
    for file in files.handle.private:
        (folder / file.name).write_bytes(files.directory.file(file.stream).read())
    return Rdict.list_cf(str(folder))


SNAPSHOTS = [path for path in snapshots() if any(incremental_files(path))]


@pytest.mark.skipif(not SNAPSHOTS, reason="no savepoints of RocksDB here")
@pytest.mark.parametrize(
    "snapshot",
    nightly_unless(lambda path: stands_for_others(path.name), SNAPSHOTS),
    ids=lambda path: path.parent.name + "/" + path.name,
)
def test_what_flink_wrote_is_read_as_rocksdb_reads_it(snapshot: Path, tmp_path: Path) -> None:
    for index, files in enumerate(incremental_files(snapshot)):
        folder = tmp_path / str(index)
        folder.mkdir()
        state = RocksDbState(files.directory, files.handle, files.max_parallelism)
        for name in column_families(files, folder):
            expected = read_by_rocksdb(files, name)
            for size in (1, SMALL, 1 << 20):
                assert entries_of(state.chunks(name, chunk_size=size)) == expected


def string_value(text: str) -> bytes:
    """As StringValue.writeString: the units of UTF-16 and their count plus 1, as varints."""
    data = text.encode("utf-16-be")
    units = [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]
    return b"".join(map(varint, (len(units) + 1, *units)))


LISTS = [
    folder
    for folder in sorted(SAMPLES.glob("states-*-rocksdb-*"))
    if "canonical" not in folder.name and (folder / "expected.json").exists()
]


@pytest.mark.skipif(not LISTS, reason="no samples here")
@pytest.mark.parametrize("sample", LISTS, ids=lambda path: path.name)
@pytest.mark.parametrize("state", ["memos", "recent_memos"])
@both
def test_list_state_is_what_the_job_put_in(sample: Path, state: str, reader: Reader) -> None:
    expected = json.loads((sample / "expected.json").read_text())
    rows = expected["operators"]["stateful"]["keyed_state"]
    wanted = {string_value(row["key"]) + b"\0": len(row[state]) for row in rows if row.get(state)}
    prefix = prefix_size(expected["max_parallelism"])
    found: Entries = {}
    for files in incremental_files(sample / expected["snapshot"]):
        found |= {key[prefix:]: value for key, value in reader(files, state)}
    assert found.keys() == wanted.keys()
    if state == "memos":
        by_key = {string_value(row["key"]) + b"\0": row["memos"] for row in rows}
        assert found == {key: b",".join(map(string_value, by_key[key])) for key in wanted}


@pytest.mark.skipif(not SNAPSHOTS, reason="no savepoints of RocksDB here")
def test_reading_writes_nothing_beside_the_savepoint_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = SNAPSHOTS[0].parent
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    for files in incremental_files(SNAPSHOTS[0]):
        read(files)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    assert list(tmp_path.iterdir()) == []
