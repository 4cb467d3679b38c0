"""RocksDB databases made here, whose entries are known, and the two ways to read one."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    ChecksumType,
    DataBlockIndexType,
    DBCompressionType,
    Options,
    Rdict,
    ReadOptions,
)

from savepoint_formats.entries.entry_ranges import key_group_prefix
from savepoint_formats.key_groups.ranges import KeyGroupRange, prefix_size
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import (
    EmptySegment,
    IncrementalHandle,
    KeyedHandleType,
    LocalFile,
    RelativeFile,
)
from savepoint_formats.state_files.rocksdb.states import RocksDbState

if TYPE_CHECKING:
    from savepoint_formats.state_files.rocksdb.sst_scan import Living

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


def entries_of(chunks: Iterable[Living]) -> list[tuple[bytes, bytes]]:
    return [
        (data[key_start:key_end].tobytes(), data[start:end].tobytes())
        for data, ranges in chunks
        for key_start, key_end, start, end in np.stack(ranges.arrays(), axis=1).tolist()
    ]


def read(
    files: Files, state: str = STATE, groups: KeyGroupRange | None = None, size: int = 1 << 20
) -> list[tuple[bytes, bytes]]:
    opened = RocksDbState(files.directory, files.handle, files.max_parallelism)
    return entries_of(opened.chunks(state, groups, chunk_size=size))


def read_by_rocksdb(
    files: Files, state: str = STATE, groups: KeyGroupRange | None = None, size: int = 0
) -> list[tuple[bytes, bytes]]:
    """The entries that RocksDB itself finds; ``size`` is of no matter to it."""
    wanted = groups or files.handle.key_groups
    prefix = prefix_size(files.max_parallelism)
    bounds = ReadOptions()
    bounds.set_iterate_upper_bound(key_group_prefix(wanted.end + 1, prefix))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "db")
        path.mkdir()
        for file in files.handle.shared + files.handle.private:
            if not file.name.startswith("OPTIONS"):
                (path / file.name).write_bytes(files.directory.file(file.stream).read())
        options = options_of_flink(Path(folder, "options"))
        names = Rdict.list_cf(str(path), options)
        if state not in names:
            return []
        database = Rdict(str(path), options, dict.fromkeys(names, options), AccessType.read_only())
        family = database.get_column_family(state)
        # In raw mode, keys and values are bytes.
        entries = list(
            family.items(from_key=key_group_prefix(wanted.start, prefix), read_opt=bounds)
        )
        family.close()
        database.close()
    return cast("list[tuple[bytes, bytes]]", entries)


def options_of_flink(folder: Path) -> Options:
    """Options with Flink's merge operator, without which RocksDB ends in silence at the first list."""
    folder.mkdir()
    (folder / "CURRENT").touch()
    (folder / "OPTIONS-000001").write_text(OPTIONS)
    _, by_name = Options.load_latest(str(folder))
    return by_name["default"]


OPTIONS = """\
[Version]
  rocksdb_version=8.10.0
  options_file_version=1.1

[DBOptions]
  max_open_files=512

[CFOptions "default"]
  comparator=leveldb.BytewiseComparator
  merge_operator={id=StringAppendTESTOperator;delimiter=,;}

[TableOptions/BlockBasedTable "default"]
  no_block_cache=true
"""

both = pytest.mark.parametrize("reader", [read, read_by_rocksdb], ids=["directly", "by RocksDB"])
Reader = Callable[..., list[tuple[bytes, bytes]]]


def varint(number: int) -> bytes:
    if number < 0x80:
        return bytes([number])
    return bytes([number & 0x7F | 0x80]) + varint(number >> 7)


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


def plain_tables() -> Options:
    """Tables whose keys can be found and whose bytes can be changed."""
    table = {"block_restart_interval": 1, "checksum_type": ChecksumType.no_checksum()}
    return table_options(table=table, compression_type=DBCompressionType.none())


CRC32C = {"table": {"checksum_type": ChecksumType.crc32c()}}
TWO_LEVELS = {
    "table": {
        "index_type": BlockBasedIndexType.two_level_index_search(),
        "metadata_block_size": 64,
    }
}

# Before format 2, other compressions than Snappy were stored in another way.
OLD: dict[str, dict[str, Any]] = {
    "": {},
    " with LZ4": {"compression_type": DBCompressionType.lz4()},
    " with bzip2": {"compression_type": DBCompressionType.bz2()},
    " with Zstandard": {"compression_type": DBCompressionType.zstd()},
}

# Without zlib, which this RocksDB lacks and stores as uncompressed blocks; a real Flink writes it in
# tests/flink/test_compressed_tables.py.
KINDS: dict[str, dict[str, Any]] = {
    "as Flink 2": {"table": {"checksum_type": ChecksumType.xxh3()}},
    "as Flink 1.20": CRC32C,
    "without checksums": {"table": {"checksum_type": ChecksumType.no_checksum()}},
    "uncompressed": {"compression_type": DBCompressionType.none()},
    "with LZ4": {"compression_type": DBCompressionType.lz4()},
    "with LZ4 HC": {"compression_type": DBCompressionType.lz4hc()},
    "with Zstandard": {"compression_type": DBCompressionType.zstd()},
    "with bzip2": {"compression_type": DBCompressionType.bz2()},
    "with xxHash": {"table": {"checksum_type": ChecksumType.xxhash()}},
    "with xxHash of 64 bits": {"table": {"checksum_type": ChecksumType.xxhash64()}},
    "with a hash index in blocks": {
        "table": {"data_block_index_type": DataBlockIndexType.binary_and_hash()}
    },
    **{f"of format 0{name}": {"format_version": 0, **CRC32C, **how} for name, how in OLD.items()},
    **{f"of format 1{name}": {"format_version": 1, **how} for name, how in OLD.items()},
    "of format 2": {"format_version": 2},
    "of format 3": {"format_version": 3},
    "of format 4": {"format_version": 4},
    "of format 6": {"format_version": 6},
    "of format 6 with CRC-32C": {"format_version": 6, **CRC32C},
    "of format 6 without checksums": {
        "format_version": 6,
        "table": {"checksum_type": ChecksumType.no_checksum()},
    },
    "of format 6 with a two-level index": {"format_version": 6, **TWO_LEVELS},
    "with a compact index": {"table": {"index_block_restart_interval": 8}},
    "with a two-level index": TWO_LEVELS,
    "with a filter": {"table": {"bloom_filter": (10.0, False)}},
    "with large blocks": {"table": {"block_size": 1 << 20}},
    "with restarts everywhere": {"table": {"block_restart_interval": 1}},
}
