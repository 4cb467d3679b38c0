"""Faults of RocksDB files: checksums, and files that are missing or left over."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.checks.faults import Check, Fault
from savepoint_formats.errors import FormatError, SavepointError
from savepoint_formats.printable import printable
from savepoint_formats.state_files.rocksdb.footer import BlockHandle
from savepoint_formats.state_files.rocksdb.manifest import live_tables
from savepoint_formats.state_files.rocksdb.sst import Sst, stored_block
from savepoint_formats.state_files.rocksdb.sst_blocks import Blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import IncrementalHandle
    from savepoint_formats.state_files.rocksdb.sst import BlockIndex

_TABLE = ".sst"
_TABLE_NAME = re.compile(r"\d+\.sst")
_MANIFEST = "MANIFEST"
_CURRENT = "CURRENT"
_LONGEST_NAME = 100
_READ_SIZE = 16 << 20
_NOT_OPENED = "all keyed state of the subtask: RocksDB does not open"


def rocksdb_faults(file: StateFile, name: str, size: int) -> Iterator[Fault]:
    """Faults of checksums; ``name`` is from RocksDB's directory, ``size`` from the handle."""
    if name.endswith(_TABLE):
        for error, lost in table_errors(file, size):
            cost = f"entries of a block of {lost:,} bytes" if lost else ""
            yield Fault.of(Check.CHECKSUMS, error, file=file.path, cost=cost, lost_bytes=lost)
    elif name.startswith(_MANIFEST):
        try:
            live_tables(file)
        except SavepointError as error:
            yield Fault.of(Check.CHECKSUMS, error, file=file.path, cost=_NOT_OPENED)


def table_errors(file: StateFile, size: int) -> Iterator[tuple[SavepointError, int]]:
    """Errors of blocks of a table, and the size of each bad block."""
    try:
        table = Sst.open(file, size)
        index = table.read_index()
    except SavepointError as error:
        yield error, size
        return
    yield from _meta_errors(table)
    # Each read has some megabytes.
    parts = np.cumsum(index.sizes) // _READ_SIZE
    lasts = np.flatnonzero(np.diff(parts, append=np.iinfo(np.int64).max)) + 1
    for first, last in pairwise([0, *lasts.tolist()]):
        yield from _block_errors(table, index, first, last)


def _block_errors(
    table: Sst, index: BlockIndex, first: int, last: int
) -> Iterator[tuple[SavepointError, int]]:
    """Halves a range with a damaged block, until each damaged block is alone."""
    try:
        Blocks.of(table.read_blocks(index, slice(first, last)))
    except SavepointError as error:
        if last - first == 1:
            yield error, int(index.sizes[first])
            return
        middle = (first + last) // 2
        yield from _block_errors(table, index, first, middle)
        yield from _block_errors(table, index, middle, last)


def _meta_errors(table: Sst) -> Iterator[tuple[SavepointError, int]]:
    """Errors of blocks with facts about the table; opening it reads only some of them."""
    metaindex = Blocks.of(stored_block(table.table, table.footer, table.footer.metaindex))
    for name, content in metaindex.plain_entries():
        if name == b"rocksdb.properties":
            continue
        handle, end = BlockHandle.read(np.frombuffer(content, np.uint8), 0)
        if end < 0 or not handle.size:
            continue
        try:
            stored_block(table.table, table.footer, handle)
        except SavepointError as error:
            yield error, 0


def directory_faults(directory: SnapshotDirectory, handle: IncrementalHandle) -> Iterator[Fault]:
    """Files that RocksDB misses or ignores; ``rocksdb_faults`` finds damaged ones."""
    files = {file.name: directory.file(file.stream) for file in (*handle.shared, *handle.private)}
    manifest = None
    if (current := files.get(_CURRENT)) is None:
        yield _lacking(f"the handle has no {_CURRENT}, by which RocksDB finds its manifest", "")
    elif (name := _name_in(current)) is not None:
        manifest = files.get(name)
        if manifest is None:
            message = f"{_CURRENT} names {name!r}, which the handle does not have"
            yield _lacking(message, current.path)
    live = None if manifest is None else _live_tables(manifest)
    if manifest is not None and live is not None:
        yield from _foreign_tables(files, manifest, live)


def _name_in(current: StateFile) -> str | None:
    """The file that ``CURRENT`` names; None if it can't be read."""
    try:
        name = bytes(current.head(_LONGEST_NAME))
    except SavepointError:
        return None
    return printable(name.decode("utf-8", "replace").rstrip("\n"))


def _lacking(message: str, path: str) -> Fault:
    return Fault.of(Check.FILES, FormatError(message, path, -1), cost=_NOT_OPENED)


def _foreign_tables(
    files: dict[str, StateFile], manifest: StateFile, live: frozenset[int]
) -> Iterator[Fault]:
    """Tables that only a handle or only its manifest has."""
    tables = {int(name[: -len(_TABLE)]): name for name in files if _TABLE_NAME.fullmatch(name)}
    for number in sorted(live - tables.keys()):
        message = f"the manifest lists {number:06}{_TABLE}, which the handle does not have"
        yield _lacking(message, manifest.path)
    for number in sorted(tables.keys() - live):
        name = tables[number]
        message = f"the handle has {name}, which the manifest does not list"
        cost = "entries that Flink does not see because RocksDB skips them; they are shown here"
        yield Fault.of(Check.FILES, FormatError(message, files[name].path, -1), cost=cost)


def _live_tables(manifest: StateFile) -> frozenset[int] | None:
    try:
        tables = live_tables(manifest)
    except SavepointError:
        return None
    return None if tables is None else frozenset(tables)
