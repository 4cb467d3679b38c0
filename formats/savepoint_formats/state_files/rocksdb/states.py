"""Keyed state in the files of RocksDB: native savepoints and incremental checkpoints.

Each state is a column family of its name; timers are states too. A key is key-group prefix, key,
namespace and, in map state, user key. Tables are read in place, block by block, several times as
fast as RocksDB's own iterator called from Python.

A manifest lists the state, the least and the greatest key of each table. So a read of a few key
groups opens few of many tables. Manifests are small: most lie in `_metadata`.

Flink: ``RocksIncrementalSnapshotStrategy``, ``RocksNativeFullSnapshotStrategy``.
RocksDB: ``VersionSet``, ``FileMetaData``.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.entries.entry_ranges import key_behind, key_group_bounds, key_group_prefix
from savepoint_formats.errors import FormatError, SavepointError
from savepoint_formats.key_groups import WHOLE, KeyGroupRange, prefix_size
from savepoint_formats.state_files.rocksdb.manifest import live_tables
from savepoint_formats.state_files.rocksdb.sst import Sst
from savepoint_formats.state_files.rocksdb.sst_blocks import tail_size
from savepoint_formats.state_files.rocksdb.sst_scan import ScannedSst, SstScan, key_groups_of_size

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.key_groups import GroupSplit
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import IncrementalHandle, LocalFile
    from savepoint_formats.state_files.rocksdb.manifest import ListedTable
    from savepoint_formats.state_files.rocksdb.sst_merge import Room
    from savepoint_formats.state_files.rocksdb.sst_scan import Bounds, Living

DEFAULT_CHUNK_SIZE = 1 << 24
"""Bytes of keys and values; the cost per chunk is small then."""

_AHEAD = 64 << 20
"""Approximate bytes of a store's tables in memory during a read of a whole handle."""

_SST_SUFFIX = ".sst"
_MANIFEST = "MANIFEST-"
_FILE_NAME = re.compile(r"CURRENT|IDENTITY|(MANIFEST|OPTIONS)-\d+|\d+\.(sst|blob|log)")
DEFAULT_FAMILY = "default"
"""The column family that every database has; Flink puts nothing into it."""

_AT_ONCE = 16
"""Number of tables of a store that are opened at once: each waits for a request."""


class SstFiles:
    """Tables of a handle, each opened once.

    ``names`` are the states of the header, if it is known; other tables are refused.
    """

    def __init__(
        self, directory: SnapshotDirectory, handle: IncrementalHandle, names: Collection[str] | None
    ) -> None:
        self._directory = directory
        self._files = handle.shared + handle.private
        self._names = names
        self._opened: dict[str, Sst] = {}

    def open(self, states: Collection[str], bounds: Bounds | None) -> tuple[Sst, ...]:
        """Tables that may have entries of some states within the bounds; without bounds all tables.

        Raises ``RocksDbError`` for a table with a feature that is not read here.
        """
        return self.opened(list(self.wanted(states, bounds)))

    def wanted(
        self, states: Collection[str], bounds: Bounds | None
    ) -> dict[LocalFile, ListedTable | None]:
        """Files of these tables, as the manifest lists them; opens none of them."""
        return {
            file: self._listed.get(_number(file.name))
            for file in self._sst_files
            if bounds is None or self._may_have(file.name, states, bounds)
        }

    def opened(self, wanted: Sequence[LocalFile]) -> tuple[Sst, ...]:
        """The tables in these files."""
        pending = [file for file in wanted if file.name not in self._opened]
        if len(pending) > 1 and not self._directory.is_local:
            with ThreadPoolExecutor(_AT_ONCE) as threads:
                opened = list(threads.map(self._open, pending))
        else:
            opened = [self._open(file) for file in pending]
        self._opened |= {file.name: table for file, table in zip(pending, opened, strict=True)}
        return tuple(self._opened[file.name] for file in wanted)

    def _open(self, file: LocalFile) -> Sst:
        size = file.stream.size
        table = Sst.open(self._directory.file(file.stream, tail=tail_size(size)), size)
        if self._names is not None and table.column_family not in (*self._names, DEFAULT_FAMILY):
            message = f"entries of state {table.column_family!r}, expected one of "
            message += ", ".join(map(repr, self._names))
            raise FormatError(message, table.table.path, -1)
        return self._with_own_deletions(file.name, table) if table.range_deletions else table

    def _with_own_deletions(self, name: str, table: Sst) -> Sst:
        """The table with its range deletions cut to its own keys.

        Each table that a deleted range crosses notes the whole range. Beyond a table's own keys,
        its note may be older than what the sequence numbers of the remaining entries say.
        """
        listed = self._listed.get(_number(name))
        if listed is None:
            return replace(table, reach_is_known=False)
        deletions = (
            replace(
                deletion,
                start=max(deletion.start, listed.smallest),
                end=min(deletion.end, listed.end),
            )
            for deletion in table.range_deletions
        )
        own = tuple(deletion for deletion in deletions if deletion.start < deletion.end)
        return replace(table, range_deletions=own)

    def _may_have(self, name: str, states: Collection[str], bounds: Bounds) -> bool:
        """Whether a table may have keys of these states; unlisted tables may."""
        listed = self._listed.get(_number(name))
        return listed is None or (listed.state in states and listed.may_have(*bounds))

    @cached_property
    def _sst_files(self) -> tuple[LocalFile, ...]:
        for file in self._files:
            if not _FILE_NAME.fullmatch(file.name):
                message = f"a file named {file.name!r}, as RocksDB names none"
                raise FormatError(message, self._directory.file(file.stream).path, -1)
        return tuple(file for file in self._files if file.name.endswith(_SST_SUFFIX))

    @cached_property
    def _listed(self) -> dict[int, ListedTable]:
        """Tables of the manifest; empty if it can't be read, so that all tables are opened."""
        manifests = [file for file in self._files if file.name.startswith(_MANIFEST)]
        try:
            streams = [file.stream for file in manifests]
            files = [self._directory.file(stream, head=stream.size) for stream in streams]
            return (live_tables(files[0]) if len(files) == 1 else None) or {}
        except SavepointError:
            return {}


def _number(name: str) -> int:
    return int(name.removesuffix(_SST_SUFFIX))


class RocksDbState:
    """Keyed state of a subtask, in the files of an incremental handle.

    ``names`` are the states of the header, if it is known; tables of other states are refused.
    ``keys`` are the serialized keys that are wanted of a key group that is read alone.
    """

    def __init__(
        self,
        directory: SnapshotDirectory,
        handle: IncrementalHandle,
        max_parallelism: int,
        names: Collection[str] | None = None,
        keys: Mapping[int, tuple[bytes, ...]] | None = None,
    ) -> None:
        self._keys = keys or {}
        self._directory = directory
        self._handle = handle
        self._prefix_size = prefix_size(max_parallelism)
        self._tables = SstFiles(directory, handle, names)
        self._scanned: dict[Sst, ScannedSst] = {}
        self._sizes: dict[tuple[str, ...], tuple[KeyGroupRange, NDArray[np.float64]]] = {}

    def chunks(
        self,
        state: str,
        key_groups: KeyGroupRange | None = None,
        *,
        chunk_size: int = DEFAULT_CHUNK_SIZE,
        room: Room | None = None,
        group_split: GroupSplit = WHOLE,
    ) -> Iterator[Living]:
        """Entries of a state, sorted by their key bytes, in chunks of about ``chunk_size`` bytes.

        A state without a column family has no entries. Entries lie in ``room`` as far as it
        suffices. Raises ``RocksDbError`` for a feature that is not read here.
        """
        wanted = self._own(key_groups)
        if not wanted:
            return
        scan = self._scan(state, wanted)
        # No key is the beginning of another one, so that ranges of keys do not overlap.
        ranges = self._ranges_of_keys(wanted) or list(scan.plan(wanted, chunk_size))
        ranges = [ranges[number] for number in group_split.of_numbers(len(ranges))]
        if len(ranges) > 1 and not self._directory.is_local:
            scan = scan.read_ahead((ranges[0][0], ranges[-1][1]), _AHEAD)
        for bounds in ranges:
            yield scan.read(bounds, room)

    def batches(
        self,
        states: Iterable[str],
        key_groups: KeyGroupRange | None = None,
        *,
        size: int = DEFAULT_CHUNK_SIZE,
    ) -> Iterator[KeyGroupRange]:
        """Ranges of key groups that have about ``size`` bytes of these states together.

        A key group is never divided, so that all states of a key can be read at once:
        ``chunk_size=sys.maxsize`` makes one chunk of each state of such a range.
        """
        wanted = self._own(key_groups)
        if not wanted:
            return
        states = tuple(states)
        ends = np.cumsum(self._key_group_sizes(states, wanted))
        self._sizes[states] = wanted, np.diff(ends, prepend=0)
        self._read_ahead(states, wanted, is_one_batch=bool(ends[-1] <= size))
        yield from key_groups_of_size(wanted, ends, size)

    def size(self, states: Iterable[str], key_groups: KeyGroupRange) -> int:
        """Estimates the bytes of keys and values of these states in these key groups."""
        return int(self.key_group_sizes(states, key_groups).sum())

    def key_group_sizes(
        self, states: Iterable[str], key_groups: KeyGroupRange
    ) -> NDArray[np.int64]:
        """Estimates the bytes of keys and values of these states in each key group."""
        return self._key_group_sizes(tuple(states), key_groups).astype(np.int64)

    def _key_group_sizes(
        self, states: tuple[str, ...], key_groups: KeyGroupRange
    ) -> NDArray[np.float64]:
        if states in self._sizes:
            known, sizes = self._sizes[states]
            if known.intersection(key_groups) == key_groups:
                first = key_groups.start - known.start
                return sizes[first : first + len(key_groups)]
        sizes = np.zeros(len(key_groups))
        self._tables.open(states, self._bounds(key_groups))
        ranges = self._ranges_of_keys(key_groups)
        for state in states:
            scan = self._scan(state, key_groups)
            sizes += scan.size(ranges) if ranges else scan.key_group_sizes(key_groups)
        return sizes

    def _own(self, key_groups: KeyGroupRange | None) -> KeyGroupRange:
        own = self._handle.key_groups
        return own if key_groups is None else own.intersection(key_groups)

    def _ranges_of_keys(self, key_groups: KeyGroupRange) -> list[Bounds]:
        """Ranges of the wanted keys of a key group; empty if all of its keys are wanted."""
        if len(key_groups) > 1:
            return []
        prefix = key_group_prefix(key_groups.start, self._prefix_size)
        keys = (prefix + key for key in self._keys.get(key_groups.start, ()))
        return [(key, key_behind(key)) for key in keys]

    def _bounds(self, key_groups: KeyGroupRange) -> Bounds | None:
        """Bounds of the wanted keys; None for all keys of the handle."""
        if ranges := self._ranges_of_keys(key_groups):
            return ranges[0][0], ranges[-1][1]
        if key_groups == self._handle.key_groups:
            return None
        return key_group_bounds(key_groups, self._prefix_size)

    def _read_ahead(
        self, states: Iterable[str], key_groups: KeyGroupRange, *, is_one_batch: bool
    ) -> None:
        """Asks a store for the blocks of these states: for one batch at once, else in order."""
        bounds = self._bounds(key_groups)
        if self._directory.is_local or (is_one_batch and bounds is None):
            return
        tables = self._tables_of(states, key_groups)
        scan = SstScan(tuple(map(self._scanned_of, tables)), self._prefix_size)
        size = None if is_one_batch else _AHEAD
        ahead = scan.read_ahead(bounds or key_group_bounds(key_groups, self._prefix_size), size)
        self._scanned |= dict(zip(tables, ahead.tables, strict=True))

    def _tables_of(self, states: Iterable[str], key_groups: KeyGroupRange) -> tuple[Sst, ...]:
        states = frozenset(states)
        tables = self._tables.open(states, self._bounds(key_groups))
        return tuple(table for table in tables if table.column_family in states)

    def _scanned_of(self, table: Sst) -> ScannedSst:
        if table not in self._scanned:
            self._scanned[table] = ScannedSst(table, table.read_index())
        return self._scanned[table]

    def _scan(self, state: str, key_groups: KeyGroupRange) -> SstScan:
        tables = self._tables_of([state], key_groups)
        return SstScan(tuple(map(self._scanned_of, tables)), self._prefix_size)
