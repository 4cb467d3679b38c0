"""Whether the checksums of the files of RocksDB are right: of every block, and of every record.

A manifest is a log: blocks of 32 KiB, each full of records, of which none crosses a border:

| bytes  | field    | meaning                                                              |
|--------|----------|----------------------------------------------------------------------|
| u32 LE | checksum | masked CRC-32C of what follows the size                              |
| u16 LE | size     | of the data                                                          |
| u8     | type     | whole, first, middle or last part; from 5 on a u32 log number follows |
| …      | data     | a version edit, or a part of one                                     |

What is left of a block is zeros where no head has room.

RocksDB: ``log_format.h``, ``log_reader.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.checks.faults import Check, Fault
from savepoint_formats.errors import FormatError, SavepointError, TruncatedError
from savepoint_formats.state_files.rocksdb.checksum_kernel import masked_crc32c
from savepoint_formats.state_files.rocksdb.sst import BlockHandle, Sst
from savepoint_formats.state_files.rocksdb.sst_blocks import (
    Blocks,
    StoredBlocks,
    UnsupportedSstError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from savepoint_formats.locations.file_io import StateFile
    from savepoint_formats.state_files.rocksdb.sst import BlockIndex

_TABLE = ".sst"
_MANIFEST = "MANIFEST"
_READ_SIZE = 16 << 20
_LOG_BLOCK_SIZE = 32 << 10
_RECORD_HEAD = 7
_TYPE = 6
_LOG_NUMBER_SIZE = 4
_FIRST_RECYCLED, _END_OF_TYPES = 5, 9


def rocksdb_faults(file: StateFile, name: str, size: int) -> Iterator[Fault]:
    """What the checksums of a file say.

    Args:
        file: The file.
        name: Its name in the directory of RocksDB.
        size: Its bytes, as its handle says.
    """
    if name.endswith(_TABLE):
        for error, lost in table_errors(file, size):
            cost = f"entries of a block of {lost:,} bytes" if lost else ""
            yield Fault.of(Check.CHECKSUMS, error, file=file.path, cost=cost, lost_bytes=lost)
    elif name.startswith(_MANIFEST):
        try:
            check_log(file)
        except SavepointError as error:
            cost = "all keyed state of the subtask: RocksDB does not open"
            yield Fault.of(Check.CHECKSUMS, error, file=file.path, cost=cost)


def table_errors(file: StateFile, size: int) -> Iterator[tuple[SavepointError, int]]:
    """What is wrong with the blocks of a table, and the bytes of each that is; of all kinds."""
    try:
        table = Sst.open(file, size)
        index = table.read_index()
    except UnsupportedSstError:
        return  # RocksDB itself reads it, and looks at the checksums as it does
    except SavepointError as error:
        yield error, size
        return
    yield from _meta_errors(table)
    first = 0
    for last in _borders(index):
        yield from _block_errors(table, index, first, last)
        first = last


def _borders(index: BlockIndex) -> Iterator[int]:
    """Where to stop reading, so that some megabytes are read at a time."""
    read = 0
    for number, size in enumerate(index.sizes.tolist(), 1):
        read += size
        if read >= _READ_SIZE or number == len(index.sizes):
            yield number
            read = 0


def _block_errors(
    table: Sst, index: BlockIndex, first: int, last: int
) -> Iterator[tuple[SavepointError, int]]:
    """Halves what has a damaged block, until each of these is alone."""
    try:
        Blocks.of([table.read_blocks(index, first, last)])
    except UnsupportedSstError:
        return
    except SavepointError as error:
        if last - first == 1:
            yield error, int(index.sizes[first])
            return
        middle = (first + last) // 2
        yield from _block_errors(table, index, first, middle)
        yield from _block_errors(table, index, middle, last)


def _meta_errors(table: Sst) -> Iterator[tuple[SavepointError, int]]:
    """Of the blocks that say something about the table; opening it read but some of them."""
    metaindex = Blocks.of([_stored(table, table.footer.metaindex)])
    for name, content in metaindex.plain_entries():
        if name == b"rocksdb.properties":
            continue
        handle, end = BlockHandle.read(np.frombuffer(content, np.uint8), 0)
        if end < 0 or not handle.size:
            continue
        try:
            _stored(table, handle)
        except SavepointError as error:
            yield error, 0


def _stored(table: Sst, handle: BlockHandle) -> StoredBlocks:
    place = np.array([handle.offset]), np.array([handle.size])
    return StoredBlocks.read(table.table, table.footer.checksum_type, *place)


def check_log(file: StateFile) -> None:
    """Reads the records of a manifest.

    Raises:
        FormatError: A record is cut, or its checksum is wrong.
    """
    data = np.frombuffer(file.read(), np.uint8)
    position = 0
    while position < len(data):
        left = _LOG_BLOCK_SIZE - position % _LOG_BLOCK_SIZE
        if left < _RECORD_HEAD:
            position += left
            continue
        position = _next_record(data, position, file.path)


def _next_record(data: NDArray[np.uint8], position: int, path: str) -> int:
    head = data[position : position + _RECORD_HEAD].tobytes()
    if len(head) < _RECORD_HEAD:
        raise TruncatedError("a record that is cut", path, position)
    size, kind = int.from_bytes(head[4:6], "little"), head[_TYPE]
    start = position + _TYPE
    end = position + _RECORD_HEAD + size
    if kind >= _FIRST_RECYCLED:
        end += _LOG_NUMBER_SIZE
    if not 0 < kind < _END_OF_TYPES or end > len(data):
        raise FormatError(f"a record of type {kind} and {size} bytes", path, position)
    if int(masked_crc32c(data, start, end)).to_bytes(4, "little") != head[:4]:
        raise FormatError("a record whose checksum is wrong", path, position)
    return end
