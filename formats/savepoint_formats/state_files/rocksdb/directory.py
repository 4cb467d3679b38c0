"""The directory of a RocksDB instance, laid out anew and opened by RocksDB itself.

The slow path: for tables that ``sst`` does not know, and to compare with. The files are linked or
copied into a temporary directory, so that nothing is ever written beside the savepoint's own.

The shipped OPTIONS file is left out: it names directories of the machine that wrote it, knows
no column family that came after it, and has classes that only Flink has. All that a reader needs
of it is the merge operator, which Flink never changes. Without one, RocksDB ends at the first
list of more than one operand, and bindings take that for the end of the data.

Flink: ``RocksDBOperationUtils.createColumnFamilyOptions``.
"""

from __future__ import annotations

import os
import posixpath
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self, cast

import numpy as np
from rocksdict import AccessType, Options, Rdict, ReadOptions

from savepoint_formats.entries.entry_chunk import EntryChunk, key_group_of, key_group_prefix
from savepoint_formats.errors import FormatError, RocksDbError, SavepointError
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.metadata.references import FileKind
from savepoint_formats.state_files.recognition import expect_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import IncrementalHandle

_OPTIONS = """\
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

_COPY_SIZE = 1 << 24


class RocksDbDirectory:
    """The files of a handle under their local names, and RocksDB reading them.

    Use it in a ``with`` statement, or close it: it has open files and a temporary directory.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._column_families: dict[str, Rdict] = {}
        self._resources = ExitStack()

    @classmethod
    def open(cls, directory: SnapshotDirectory, handle: IncrementalHandle) -> Self:
        """Lays out the files of ``handle``, and opens them read-only.

        Raises:
            StateFileNotFoundError: One of them is gone.
            FormatError: One has a name that leads out of the directory.
            RocksDbError: RocksDB refuses them.
        """
        with ExitStack() as resources:
            root = Path(resources.enter_context(TemporaryDirectory(prefix="savepoint-rocksdb-")))
            database = root / "db"
            database.mkdir()
            for file in handle.shared + handle.private:
                if not file.name.startswith("OPTIONS"):
                    _lay_out(directory.file(file.stream), file.name, database)
            opened = cls(database, directory.uri)
            opened._open(resources, root / "options")
            opened._resources = resources.pop_all()
        return opened

    def _open(self, resources: ExitStack, options_path: Path) -> None:
        options_path.mkdir()
        (options_path / "CURRENT").touch()
        (options_path / "OPTIONS-000001").write_text(_OPTIONS)
        with _rocksdb_errors(self._name):
            _, by_name = Options.load_latest(str(options_path))
            options = by_name["default"]
            names = Rdict.list_cf(str(self._path), options)
            families = dict.fromkeys(names, options)
            access = AccessType.read_only(error_if_log_file_exist=False)
            database = Rdict(str(self._path), options, families, access)
            resources.callback(database.close)
            for name in names:
                self._column_families[name] = database.get_column_family(name)
                resources.callback(self._column_families[name].close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the files, and removes what was laid out."""
        self._column_families.clear()
        self._resources.close()

    def chunks(
        self,
        state: str,
        lower: bytes,
        end_group: int,
        prefix_size: int,
        limit: int,
        upper: bytes | None = None,
    ) -> Iterator[EntryChunk]:
        """The entries of a state from the key ``lower`` on, to the end of a key group.

        Args:
            state: Its name; nobody has to have written entries of it yet.
            lower: A key-group prefix, or a key.
            end_group: The last key group.
            prefix_size: The bytes of the key-group prefix.
            limit: How many bytes a chunk has, about.
            upper: The least key that is too great, if not all of the last key group is wanted.

        Raises:
            RocksDbError: RocksDB finds the files damaged.
        """
        pending = _PendingChunk(key_group_of(lower, prefix_size), prefix_size)
        end = key_group_prefix(end_group + 1, prefix_size) if upper is None else upper
        for key, value in self._entries(state, lower, end):
            pending.append(key, value)
            if pending.size >= limit:
                yield pending.cut()
        yield pending.last(end_group)

    def _entries(self, state: str, lower: bytes, upper: bytes) -> Iterator[tuple[bytes, bytes]]:
        if state not in self._column_families:
            return
        family = self._column_families[state]
        options = ReadOptions()
        options.set_iterate_upper_bound(upper)
        name = f"{self._name}, state {state!r}"
        with _rocksdb_errors(name):
            # In raw mode, keys and values are bytes.
            items = family.items(from_key=lower, read_opt=options)
            entries = cast("Iterator[tuple[bytes, bytes]]", items)
        key = lower
        for key, value in entries:
            yield key, value
        # The iterator ends at the end as well as at damage; only another one tells which.
        with _rocksdb_errors(name):
            check = family.iter(options)
            check.seek(key + b"\0" if key != lower else key)
            check.status()
            if check.valid() and check.key() != key:
                raise RocksDbError(f"{name}: the entries end too early, at {key.hex()}")


class _PendingChunk:
    """Entries that are not handed out yet."""

    def __init__(self, start_group: int, prefix_size: int) -> None:
        self.size = 0
        self._start_group = start_group
        self._prefix_size = prefix_size
        self._parts: list[bytes] = []
        self._last_prefix = b""
        # Where in the list of parts the last key group begins.
        self._border = 0

    def append(self, key: bytes, value: bytes) -> None:
        prefix = key[: self._prefix_size]
        if prefix != self._last_prefix:
            self._border, self._last_prefix = len(self._parts), prefix
        self._parts += (key, value)
        self.size += len(key) + len(value)

    def cut(self) -> EntryChunk:
        """All complete key groups; if there are none, what there is of the only one."""
        group = key_group_of(self._last_prefix, self._prefix_size)
        is_continued = self._border == 0
        ready = self._parts[: self._border] or self._parts
        self._parts = [] if is_continued else self._parts[self._border :]
        chunk = self._chunk(ready, group if is_continued else group - 1, is_continued)
        self.size = sum(map(len, self._parts))
        self._border = 0
        self._start_group = group
        return chunk

    def last(self, end_group: int) -> EntryChunk:
        """All that is left, and the key groups without entries behind it."""
        return self._chunk(self._parts, end_group, is_continued=False)

    def _chunk(self, parts: Sequence[bytes], end_group: int, is_continued: bool) -> EntryChunk:
        ends = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
        starts = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
        key_groups = KeyGroupRange(self._start_group, end_group)
        return EntryChunk(
            np.frombuffer(b"".join(parts), np.uint8),
            starts[0::2],
            ends[0::2],
            starts[1::2],
            ends[1::2],
            key_groups,
            self._prefix_size,
            is_continued,
        )


def _lay_out(file: StateFile, name: str, directory: Path) -> None:
    """Puts a file into a directory: as a link where that is possible, else as a copy."""
    if posixpath.basename(name) != name or name in {"", ".", ".."}:
        raise FormatError(f"a RocksDB file of the name {name!r}", file.path, 0)
    expect_kind(file, FileKind.ROCKSDB, name)
    location = file.location
    is_whole = file.start == 0 and file.size is None
    if location and is_whole and location.is_local:
        os.symlink(location.path, directory / name)
        return
    with (directory / name).open("wb") as target:
        start = 0
        while data := file.read(start, start + _COPY_SIZE):
            target.write(data)
            start += len(data)


@contextmanager
def _rocksdb_errors(name: str) -> Iterator[None]:
    """Makes errors of RocksDB ours."""
    try:
        yield
    except SavepointError:
        raise
    except Exception as error:
        # The binding raises nothing narrower.
        if type(error) is not Exception:
            raise
        raise RocksDbError(f"{name}: RocksDB says: {error}") from error
