"""Tables of a handle, and the choice of those that a read of some keys needs.

A manifest says of each table its state, and its least and its greatest key. So a read of a few
key groups opens few tables of many. Manifests are small: most lie in `_metadata`.

RocksDB: ``VersionSet``, ``FileMetaData``.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from savepoint_formats.errors import FormatError, SavepointError
from savepoint_formats.state_files.rocksdb.manifest import live_tables
from savepoint_formats.state_files.rocksdb.sst import Sst
from savepoint_formats.state_files.rocksdb.sst_blocks import tail_size

if TYPE_CHECKING:
    from collections.abc import Collection

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import IncrementalHandle, LocalFile
    from savepoint_formats.state_files.rocksdb.manifest import ListedTable
    from savepoint_formats.state_files.rocksdb.sst_scan import Bounds

_SST_SUFFIX = ".sst"
_MANIFEST = "MANIFEST-"
_FILE_NAME = re.compile(r"CURRENT|IDENTITY|(MANIFEST|OPTIONS)-\d+|\d+\.(sst|blob|log)")
_DEFAULT = "default"
"""The column family that every database has; Flink puts nothing into it."""

_AT_ONCE = 16
"""How many tables of a store are opened at once: each takes a request, and a wait."""


class SstFiles:
    """Tables of a handle, each opened once.

    ``names`` are the states of the header, if it is known; other tables are refused.
    """

    def __init__(
        self,
        directory: SnapshotDirectory,
        handle: IncrementalHandle,
        names: Collection[str] | None,
    ) -> None:
        self._directory = directory
        self._files = handle.shared + handle.private
        self._names = names
        self._opened: dict[str, Sst] = {}

    def open(self, states: Collection[str], bounds: Bounds | None) -> tuple[Sst, ...]:
        """Tables that may have entries of some states within the bounds; without bounds all tables.

        Raises ``RocksDbError`` for a table with a feature that is not read here.
        """
        wanted = [
            file
            for file in self._sst_files
            if bounds is None or self._may_have(file.name, states, bounds)
        ]
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
        if self._names is not None and table.column_family not in (*self._names, _DEFAULT):
            message = f"entries of state {table.column_family!r}, expected one of "
            message += ", ".join(map(repr, self._names))
            raise FormatError(message, table.table.path, -1)
        return self._with_own_deletions(file.name, table) if table.range_deletions else table

    def _with_own_deletions(self, name: str, table: Sst) -> Sst:
        """The table with its range deletions cut to its own keys.

        Each table that a deleted range crosses notes the whole range. Beyond a table's own keys, its
        note may be older than what the sequence numbers of the remaining entries say.
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
                message = f"a file of the name {file.name!r}, which RocksDB gives to none"
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
