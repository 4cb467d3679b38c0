"""The end of an SST file, and the places of blocks in it.

RocksDB: ``Footer``, ``BlockHandle``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from savepoint_formats.errors import FormatError, RocksDbError
from savepoint_formats.state_files.rocksdb import sst_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOOTER_SIZE = 53
MAGIC = bytes.fromhex("f7cff485b741e288")
OLD_MAGIC = bytes.fromhex("57fb808b247547db")

FORMAT_VERSIONS = range(2, 6)


@dataclass(frozen=True, slots=True)
class BlockHandle:
    """Place of a block: varint offset, varint size; the size excludes the five bytes behind it."""

    offset: int
    size: int

    @classmethod
    def read(cls, data: NDArray[np.uint8], position: int) -> tuple[Self, int]:
        """Handle at ``position``, and its end; -1 if there is none."""
        address = data.ctypes.data
        offset, position = sst_kernel.read_varint(address, position, len(data))
        size, position = sst_kernel.read_varint(address, max(position, 0), len(data))
        return cls(offset, size), position


@dataclass(frozen=True, slots=True)
class Footer:
    """The last 53 bytes.

    | bytes  | field          | meaning                                             |
    |--------|----------------|-----------------------------------------------------|
    | u8     | checksum_type  | 0 none, 1 CRC-32C, 2 and 3 xxHash, 4 XXH3           |
    | …      | metaindex      | block handle                                        |
    | …      | index          | block handle; zeros up to byte 41 follow            |
    | u32 LE | format_version | 2 to 5; 6 and later have another footer             |
    | u64 LE | magic          | ``88 E2 41 B7 85 F4 CF F7``                         |
    """

    checksum_type: int
    metaindex: BlockHandle
    index: BlockHandle
    format_version: int

    @classmethod
    def read(cls, data: bytes, path: str, offset: int) -> Self:
        """Raises ``FormatError`` if the bytes are no footer."""
        magic = data[45:]
        if magic == OLD_MAGIC:
            raise RocksDbError("an SST file of format version 0", path, offset)
        if magic != MAGIC:
            raise FormatError(f"no SST file: it ends with {magic.hex()}", path, offset)
        version = int.from_bytes(data[41:45], "little")
        if version not in FORMAT_VERSIONS:
            raise RocksDbError(f"an SST file of format version {version}", path, offset)
        handles = np.frombuffer(data, np.uint8, 41)
        metaindex, position = BlockHandle.read(handles, 1)
        index, end = BlockHandle.read(handles, max(position, 0))
        if position < 0 or end < 0:
            raise FormatError("a footer without block handles", path, offset)
        return cls(data[0], metaindex, index, version)
