"""RocksDB state: what Flink wrote, and databases made here, whose entries are known."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import fs
from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    BottommostLevelCompaction,
    ChecksumType,
    CompactOptions,
    DataBlockIndexType,
    DBCompressionType,
    Options,
    Rdict,
)

from savepoint_formats.data_view import DataInputView
from savepoint_formats.errors import (
    FormatError,
    SavepointError,
    StateFileNotFoundError,
    TruncatedError,
)
from savepoint_formats.file_io import Location, SnapshotDirectory
from savepoint_formats.key_groups import KeyGroupRange, prefix_size
from savepoint_formats.metadata import (
    ChangelogHandle,
    CheckpointMetadata,
    EmptySegment,
    IncrementalHandle,
    KeyedHandleType,
    LocalFile,
    OperatorState,
    RelativeFile,
    SegmentStream,
)
from savepoint_formats.state_files.entry_chunk import EntryChunk, key_group_prefix
from savepoint_formats.state_files.rocksdb import RocksDbState
from savepoint_formats.state_files.rocksdb_directory import RocksDbDirectory, RocksDbError

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "sample_savepoints"
SAVEPOINTS = ROOT.parent / "shared" / "corpus" / "savepoints"

Entries = dict[bytes, bytes]
STATE = "a/stàte"
SMALL = 50
"""A chunk size of a few entries."""


@dataclass(frozen=True)
class Files:
    """A handle and where its files are."""

    directory: SnapshotDirectory
    handle: IncrementalHandle
    max_parallelism: int = 128

    def of_groups(self, start: int, end: int) -> Files:
        return replace(self, handle=replace(self.handle, key_groups=KeyGroupRange(start, end)))

    @property
    def ssts(self) -> list[Path]:
        """The table files, the oldest first."""
        folder = Path(self.directory.location.path)
        return [folder / file.name for file in self.handle.shared]


def entries_of(chunks: Iterable[EntryChunk]) -> list[tuple[bytes, bytes]]:
    return [entry for chunk in chunks for entry in chunk.entries()]


def read(
    files: Files, state: str = STATE, groups: KeyGroupRange | None = None, size: int = 1 << 20
) -> list[tuple[bytes, bytes]]:
    with RocksDbState(files.directory, files.handle, files.max_parallelism) as opened:
        entries = entries_of(opened.chunks(state, groups, chunk_size=size))
        assert opened.fallback_reasons == []
    return entries


def read_by_rocksdb(
    files: Files, state: str = STATE, groups: KeyGroupRange | None = None, size: int = 1 << 20
) -> list[tuple[bytes, bytes]]:
    wanted = groups or files.handle.key_groups
    prefix = prefix_size(files.max_parallelism)
    lower = key_group_prefix(wanted.start, prefix)
    with RocksDbDirectory.open(files.directory, files.handle) as opened:
        return entries_of(opened.chunks(state, lower, wanted.end, prefix, size))


both = pytest.mark.parametrize("reader", [read, read_by_rocksdb], ids=["directly", "by RocksDB"])
Reader = Callable[..., list[tuple[bytes, bytes]]]


# What Flink wrote.


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
@pytest.mark.parametrize("snapshot", SNAPSHOTS, ids=lambda path: path.parent.name + "/" + path.name)
def test_what_flink_wrote_is_read_as_rocksdb_reads_it(snapshot: Path, tmp_path: Path) -> None:
    for index, files in enumerate(incremental_files(snapshot)):
        folder = tmp_path / str(index)
        folder.mkdir()
        groups, prefix = files.handle.key_groups, prefix_size(files.max_parallelism)
        lower = key_group_prefix(groups.start, prefix)
        with (
            RocksDbState(files.directory, files.handle, files.max_parallelism) as state,
            RocksDbDirectory.open(files.directory, files.handle) as rocksdb,
        ):
            for name in column_families(files, folder):
                expected = entries_of(rocksdb.chunks(name, lower, groups.end, prefix, SMALL))
                for size in (1, SMALL, 1 << 20):
                    assert entries_of(state.chunks(name, chunk_size=size)) == expected
            assert state.fallback_reasons == []


def string_value(text: str) -> bytes:
    """As StringValue.writeString: the units of UTF-16 and their count plus 1, as varints."""
    data = text.encode("utf-16-be")
    units = [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]
    return b"".join(map(varint, (len(units) + 1, *units)))


def varint(number: int) -> bytes:
    if number < 0x80:
        return bytes([number])
    return bytes([number & 0x7F | 0x80]) + varint(number >> 7)


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


@pytest.mark.skipif(not LISTS, reason="no samples here")
def test_without_a_merge_operator_rocksdb_would_hide_lists(tmp_path: Path) -> None:
    """Why the OPTIONS matter: the binding ends in silence where it should fail."""
    expected = json.loads((LISTS[-1] / "expected.json").read_text())
    files = next(
        files
        for files in incremental_files(LISTS[-1] / expected["snapshot"])
        if read(files, "memos")
    )
    for file in files.handle.shared + files.handle.private:
        (tmp_path / file.name).write_bytes(files.directory.file(file.stream).read())
    options = Options(raw_mode=True)
    families = dict.fromkeys(Rdict.list_cf(str(tmp_path)), options)
    database = Rdict(str(tmp_path), options, families, AccessType.read_only())
    assert list(database.get_column_family("memos").items()) == []
    database.close()
    assert read_by_rocksdb(files, "memos") == read(files, "memos")


@pytest.mark.skipif(not SNAPSHOTS, reason="no savepoints of RocksDB here")
def test_reading_writes_nothing_beside_the_savepoint_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = SNAPSHOTS[0].parent
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    for files in incremental_files(SNAPSHOTS[0]):
        with RocksDbDirectory.open(files.directory, files.handle):
            assert any(path.is_symlink() for path in tmp_path.rglob("*"))
        read(files)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    assert list(tmp_path.iterdir()) == []


# Databases made here.


def table_options(**settings: Any) -> Options:
    """Options of a database whose tables are like those of Flink, but for some settings."""
    table = BlockBasedOptions()
    table.set_format_version(settings.pop("format_version", 5))
    for name, value in settings.pop("table", {}).items():
        getattr(table, f"set_{name}")(*value if isinstance(value, tuple) else (value,))
    options = Options(raw_mode=True)
    options.set_disable_auto_compactions(True)
    for name, value in settings.items():
        getattr(options, f"set_{name}")(value)
    options.set_block_based_table_factory(table)
    return options


def make(folder: Path, *writes: Callable[[Rdict], None], options: Options | None = None) -> Files:
    """A database with a table file of what each function writes to the state."""
    options = options or table_options()
    database = Rdict(str(folder), options)
    state = database.create_column_family(STATE, options)
    for write in writes:
        write(state)
        state.flush()
    state.close()
    database.close()
    return files_of(folder)


def files_of(folder: Path) -> Files:
    manifest = (folder / "CURRENT").read_text().strip()
    return Files(
        SnapshotDirectory.of(str(snapshot_folder(folder))),
        IncrementalHandle(
            KeyedHandleType.INCREMENTAL,
            checkpoint_id=1,
            backend_id="",
            key_groups=KeyGroupRange(0, 127),
            checkpointed_size=0,
            meta=EmptySegment(),
            shared=tuple(map(local_file, sorted(folder.glob("*.sst")))),
            private=(local_file(folder / "CURRENT"), local_file(folder / manifest)),
            handle_id="",
        ),
    )


def snapshot_folder(folder: Path) -> Path:
    (folder / "_metadata").touch()
    return folder


def local_file(path: Path) -> LocalFile:
    return LocalFile(path.name, RelativeFile(path.name, path.stat().st_size))


def put(entries: Entries) -> Callable[[Rdict], None]:
    def write(state: Rdict) -> None:
        for key, value in entries.items():
            state[key] = value

    return write


def delete(*keys: bytes) -> Callable[[Rdict], None]:
    def write(state: Rdict) -> None:
        for key in keys:
            del state[key]

    return write


def numbered(groups: Iterable[int], count: int, width: int = 1) -> Entries:
    """Some entries of each key group; the numbers make long common beginnings of keys."""
    return {
        group.to_bytes(width, "big") + number.to_bytes(8, "big") + b"\0": b"value %d" % number
        for group in groups
        for number in range(count)
    }


@both
def test_newer_tables_hide_older_ones(tmp_path: Path, reader: Reader) -> None:
    first, second = numbered(range(5), 10), {b"\1new": b"1", b"\1old": b"2"}
    third = {b"\1old": b"3", **dict.fromkeys(list(first)[::3], b"changed")}
    gone = [*list(first)[::7], b"\1new", b"\1never"]
    files = make(tmp_path, put(first), put(second), put(third), delete(*gone))
    expected = {key: value for key, value in (first | second | third).items() if key not in gone}
    for size in (1, SMALL, 1 << 20):
        assert reader(files, size=size) == sorted(expected.items())


@both
def test_a_key_comes_back_after_its_deletion(tmp_path: Path, reader: Reader) -> None:
    files = make(tmp_path, put({b"\1a": b"1"}), delete(b"\1a"), put({b"\1a": b"2"}))
    assert reader(files) == [(b"\1a", b"2")]


@both
def test_levels_are_merged(tmp_path: Path, reader: Reader) -> None:
    old, new = numbered(range(100), 30), dict.fromkeys(numbered(range(50), 5), b"new")
    compact = CompactOptions()
    compact.set_bottommost_level_compaction(BottommostLevelCompaction.force())
    files = make(
        tmp_path,
        put(old),
        lambda state: state.compact_range(None, None, compact),
        put(new),
        options=table_options(target_file_size_base=4096),
    )
    assert len(files.ssts) > 3
    assert reader(files, size=1000) == sorted((old | new).items())


def turn_into_operands(table: Path, keys: Iterable[bytes]) -> None:
    """Makes merge operands of puts: the type is the first byte of what follows a key."""
    data = bytearray(table.read_bytes())
    for key in keys:
        at = data.index(key + b"\1") + len(key)
        data[at] = 2
    table.write_bytes(data)


def plain_tables() -> Options:
    """Tables whose keys can be found and whose bytes can be changed."""
    table = {"block_restart_interval": 1, "checksum_type": ChecksumType.no_checksum()}
    return table_options(table=table, compression_type=DBCompressionType.none())


@both
def test_merge_operands_of_several_tables_are_joined_by_commas(
    tmp_path: Path, reader: Reader
) -> None:
    first = {b"\1base": b"0", b"\1deleted": b"0", b"\2over": b"0", b"\2same": b"0"}
    second = {b"\1base": b"1", b"\2none": b"1", b"\2over": b"1"}
    third = {b"\1base": b"", b"\1deleted": b"2", b"\2none": b"2,2"}
    fourth = {b"\2over": b"3"}
    files = make(
        tmp_path,
        put(first),
        put(second),
        delete(b"\1deleted"),
        put(third),
        put(fourth),
        options=plain_tables(),
    )
    turn_into_operands(files.ssts[1], second)
    turn_into_operands(files.ssts[3], third)
    assert reader(files) == [
        (b"\1base", b"0,1,"),
        (b"\1deleted", b"2"),
        (b"\2none", b"1,2,2"),
        (b"\2over", b"3"),
        (b"\2same", b"0"),
    ]


KEYS = [bytes([group]) + b"key-%d\0" % number for group in (3, 4, 9) for number in range(4)]
BATCHES = st.lists(
    st.dictionaries(
        st.sampled_from(KEYS),
        st.tuples(st.sampled_from(["put", "merge", "delete"]), st.binary(max_size=5)),
        min_size=1,
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(BATCHES, st.sampled_from([1, SMALL, 1 << 20]))
def test_any_history_ends_as_in_rocksdb(
    batches: list[dict[bytes, tuple[str, bytes]]], size: int
) -> None:
    def write(batch: dict[bytes, tuple[str, bytes]]) -> Callable[[Rdict], None]:
        def write(state: Rdict) -> None:
            for key, (verb, value) in batch.items():
                if verb == "delete":
                    del state[key]
                else:
                    state[key] = value

        return write

    model: Entries = {}
    for batch in batches:
        for key, (verb, value) in batch.items():
            if verb == "delete":
                model.pop(key, None)
            elif verb == "merge" and key in model:
                model[key] += b"," + value
            else:
                model[key] = value
    with tempfile.TemporaryDirectory() as folder:
        files = make(Path(folder), *map(write, batches), options=plain_tables())
        for table, batch in zip(files.ssts, batches, strict=True):
            turn_into_operands(table, [key for key in batch if batch[key][0] == "merge"])
        assert read(files, size=size) == sorted(model.items())
        assert read_by_rocksdb(files, size=size) == sorted(model.items())


# Tables of all kinds.

KINDS: dict[str, dict[str, Any]] = {
    "as Flink 2": {"table": {"checksum_type": ChecksumType.xxh3()}},
    "as Flink 1.20": {"table": {"checksum_type": ChecksumType.crc32c()}},
    "without checksums": {"table": {"checksum_type": ChecksumType.no_checksum()}},
    "uncompressed": {"compression_type": DBCompressionType.none()},
    "with LZ4": {"compression_type": DBCompressionType.lz4()},
    "with LZ4 HC": {"compression_type": DBCompressionType.lz4hc()},
    "with Zstandard": {"compression_type": DBCompressionType.zstd()},
    "of format 2": {"format_version": 2},
    "of format 3": {"format_version": 3},
    "of format 4": {"format_version": 4},
    "with a compact index": {"table": {"index_block_restart_interval": 8}},
    "with a two-level index": {
        "table": {
            "index_type": BlockBasedIndexType.two_level_index_search(),
            "metadata_block_size": 64,
        }
    },
    "with a filter": {"table": {"bloom_filter": (10.0, False)}},
    "with large blocks": {"table": {"block_size": 1 << 20}},
    "with restarts everywhere": {"table": {"block_restart_interval": 1}},
}
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
    "checksum type 2": {"table": {"checksum_type": ChecksumType.xxhash()}},
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


# Key groups.


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


def test_rocksdb_is_asked_where_a_range_of_own_keys_was_deleted(tmp_path: Path) -> None:
    entries = numbered(range(10), 20)
    files = make(
        tmp_path,
        put(entries),
        lambda state: state.delete_range(b"\2", b"\5"),
        put({b"\3again": b"1"}),
    )
    expected = {key: value for key, value in entries.items() if not 2 <= key[0] < 5}
    with RocksDbState(files.directory, files.handle, 128) as state:
        found = entries_of(state.chunks(STATE))
        assert found == sorted((expected | {b"\3again": b"1"}).items())
        assert "deletion of the keys 02 to 05" in state.fallback_reasons[0]
    assert read(files, groups=KeyGroupRange(6, 9)) == [e for e in found if e[0][0] >= 6]


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
@pytest.mark.parametrize("is_direct", [True, False])
def test_chunks_cover_the_key_groups_without_a_gap(
    tmp_path: Path, size: int, is_direct: bool
) -> None:
    entries = numbered([3, 4, 300, 301], 40, width=2)
    version = 5 if is_direct else 6
    files = make(tmp_path, put(entries), options=table_options(format_version=version))
    files = replace(files, max_parallelism=1000).of_groups(2, 900)
    with RocksDbState(files.directory, files.handle, 1000) as state:
        chunks = list(state.chunks(STATE, chunk_size=size))
        assert bool(state.fallback_reasons) != is_direct
    next_group = 2
    for chunk in chunks:
        assert chunk.key_groups.start == next_group
        assert {int.from_bytes(key[:2], "big") for key, _ in chunk.entries()} <= set(
            chunk.key_groups
        )
        next_group = chunk.key_groups.end + (not chunk.is_continued)
        assert not chunk.is_continued or len(chunk) > 0
    assert next_group == 901


def test_a_key_group_is_split_only_if_it_is_too_big_for_a_chunk(tmp_path: Path) -> None:
    entries = numbered([1], 10) | numbered([2], 2000) | numbered([3, 4], 10)
    options = table_options(table={"block_size": 128})
    files = make(tmp_path, put(entries), options=options)
    with RocksDbState(files.directory, files.handle, 128) as state:
        chunks = list(state.chunks(STATE, chunk_size=10_000))
    split = [chunk.key_groups for chunk in chunks if chunk.is_continued]
    assert split
    assert set(split) == {KeyGroupRange(2, 2)}


def test_key_group_borders_divide_a_chunk(tmp_path: Path) -> None:
    files = make(tmp_path, put(numbered([0, 2, 3], 7))).of_groups(0, 5)
    with RocksDbState(files.directory, files.handle, 128) as state:
        (chunk,) = state.chunks(STATE)
    assert chunk.key_group_borders().tolist() == [0, 7, 7, 14, 21, 21, 21]
    assert len(chunk) == 21


def test_many_empty_key_groups_are_one_chunk(tmp_path: Path) -> None:
    files = make(tmp_path, put(numbered([7, 20_000], 2, width=2)))
    files = replace(files, max_parallelism=32768).of_groups(0, 32767)
    with RocksDbState(files.directory, files.handle, 32768) as state:
        (chunk,) = state.chunks(STATE)
    assert chunk.key_groups == KeyGroupRange(0, 32767)
    assert np.flatnonzero(np.diff(chunk.key_group_borders())).tolist() == [7, 20_000]


@pytest.mark.parametrize("version", [5, 6])
@pytest.mark.parametrize("size", [1, 1000, 5000, 1 << 30])
def test_batches_are_whole_key_groups_of_all_states(
    tmp_path: Path, version: int, size: int
) -> None:
    entries = numbered([3, 4, 5, 20], 60)
    table = {"block_size": 100}
    options = table_options(format_version=version, table=table)
    files = make(tmp_path, put(entries), options=options).of_groups(2, 99)
    with RocksDbState(files.directory, files.handle, 128) as state:
        batches = list(state.batches([STATE, "unknown"], size=size))
        assert [group for batch in batches for group in batch] == list(range(2, 100))
        for batch in batches:
            (chunk,) = state.chunks(STATE, batch, chunk_size=sys.maxsize)
            assert chunk.key_groups == batch
            assert len(batch) == 1 or size > 1000 or version == 6 or len(chunk) <= 60
        assert list(state.batches([STATE], KeyGroupRange(0, 1))) == []
    assert size < 1 << 30 or len(batches) == 1


@both
def test_a_state_without_a_column_family_is_empty(tmp_path: Path, reader: Reader) -> None:
    assert reader(make(tmp_path, put({b"\1a": b"1"})), "unknown") == []


@both
def test_a_state_without_entries_is_empty(tmp_path: Path, reader: Reader) -> None:
    files = make(tmp_path)
    assert files.ssts == []
    assert reader(files) == []
    assert reader(files, "default") == []


# Where the files are.


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
    files = make(tmp_path, put(numbered(range(9), 50)), options=table_options(format_version=6))
    before = os.listdir("/proc/self/fd")
    with RocksDbState(files.directory, files.handle, 128) as state:
        scan = state.chunks(STATE, chunk_size=SMALL)
        next(scan)
        assert len(os.listdir("/proc/self/fd")) > len(before)
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
    with pytest.raises(FormatError, match="a RocksDB file of the name"):
        RocksDbDirectory.open(files.directory, replace(files.handle, shared=(evil,)))


# Damage.


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


def test_no_changed_byte_changes_an_entry(small: Files) -> None:
    """A change is an error, or lies where it is of no consequence."""
    (table,) = small.ssts
    data = table.read_bytes()
    errors = 0
    with ExitStack() as restored:
        restored.callback(table.write_bytes, data)
        for at in range(len(data)):
            table.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :])
            with RocksDbState(small.directory, small.handle, 128) as state:
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


def test_an_error_names_the_file_and_the_byte(small: Files) -> None:
    (table,) = small.ssts
    data = table.read_bytes()
    table.write_bytes(data[:5] + bytes([data[5] ^ 1]) + data[6:])
    with pytest.raises(FormatError, match="a block whose checksum is wrong") as caught:
        read(small)
    table.write_bytes(data)
    assert (caught.value.path, caught.value.offset) == (table.name, 0)


def test_damage_that_rocksdb_finds_is_an_error_and_not_the_end(tmp_path: Path) -> None:
    """The binding's iterator ends there as if there was nothing more."""
    entries = numbered(range(128), 50)
    files = make(tmp_path, put(entries), options=table_options(format_version=6))
    data = bytearray(files.ssts[0].read_bytes())
    data[len(data) // 2] ^= 1
    files.ssts[0].write_bytes(data)
    with pytest.raises(RocksDbError, match=r"state 'a/stàte': RocksDB says: Corruption"):
        read_by_rocksdb(files)


def test_what_rocksdb_refuses_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = make(tmp_path / "db", put({b"\1a": b"1"}))
    (tmp_path / "db" / "CURRENT").write_text("MANIFEST-999999\n")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(RocksDbError, match="RocksDB says"):
        RocksDbDirectory.open(files.directory, files.handle)
    assert [path.name for path in tmp_path.iterdir()] == ["db"]
