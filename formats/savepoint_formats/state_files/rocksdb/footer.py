"""The end of an SST file, and the places of blocks in it.

RocksDB: ``Footer``, ``BlockHandle``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from savepoint_formats.errors import FormatError, RocksDbError
from savepoint_formats.state_files.rocksdb import sst_kernel
from savepoint_formats.state_files.rocksdb.checksums import (
    CHECKSUM_TYPES,
    CRC32C,
    NO_CHECKSUM,
    ChecksumKind,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOOTER_SIZE = 53
MAGIC = bytes.fromhex("f7cff485b741e288")
OLD_MAGIC = bytes.fromhex("57fb808b247547db")

FORMAT_VERSIONS = range(1, 7)

_NO_VERSION = 100
"""No release will have this format version soon."""

LEAST_WITH_SIZES = 2
"""First format that has a size in front of all compressed contents."""

_OLD_SIZE = 48
_LEAST_WITHOUT_INDEX = 6
_EXTENDED_MAGIC = bytes.fromhex("3e007a00")
_UNUSED = 24
_CHECKSUM = slice(5, 9)


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
    | u32 LE | format_version | 1 to 5                                              |
    | u64 LE | magic          | ``F7 CF F4 85 B7 41 E2 88``                         |

    Format 0 has 48 bytes. It lacks checksum type, which is 1, and version; its magic is
    ``57 FB 80 8B 24 75 47 DB``. Format 6 has other bytes from 1 to 41:

    | bytes  | field          | meaning                                             |
    |--------|----------------|-----------------------------------------------------|
    | 4      | magic          | ``3E 00 7A 00``                                     |
    | u32 LE | checksum       | of the footer, with zeros here                      |
    | u32 LE | context        | goes into all checksums, together with their place  |
    | u32 LE | metaindex size | its block ends where the footer begins              |
    | 24     | zeros          |                                                     |

    There, the metaindex names the index.
    """

    checksum: ChecksumKind
    metaindex: BlockHandle
    index: BlockHandle | None
    format_version: int

    @classmethod
    def read(cls, data: bytes, path: str, offset: int) -> Self:
        """Reads the footer in the last 53 bytes, which begin at ``offset``.

        Raises ``FormatError`` if the bytes are no footer.
        """
        magic = data[45:]
        if magic == OLD_MAGIC:
            start = FOOTER_SIZE - _OLD_SIZE
            return cls(ChecksumKind(CRC32C), *_handles(data[start:45], path, offset + start), 0)
        if magic != MAGIC:
            raise FormatError(f"no SST file: it ends with {magic.hex()}", path, offset)
        version = int.from_bytes(data[41:45], "little")
        if version not in FORMAT_VERSIONS:
            error = RocksDbError if version < _NO_VERSION else FormatError
            raise error(f"an SST file of format version {version}", path, offset)
        if data[0] not in CHECKSUM_TYPES:
            raise RocksDbError(f"an SST file with checksum type {data[0]}", path, offset)
        if version < _LEAST_WITHOUT_INDEX:
            return cls(ChecksumKind(data[0]), *_handles(data[1:41], path, offset), version)
        context, size = (int.from_bytes(data[at : at + 4], "little") for at in (9, 13))
        kind = ChecksumKind(data[0], context)
        _check(data, kind, path, offset)
        metaindex = BlockHandle(offset - sst_kernel.BLOCK_TRAILER_SIZE - size, size)
        return cls(kind, metaindex, None, version)


def _handles(data: bytes, path: str, offset: int) -> tuple[BlockHandle, BlockHandle]:
    """Places of metaindex and index."""
    handles = np.frombuffer(data, np.uint8)
    metaindex, position = BlockHandle.read(handles, 0)
    index, end = BlockHandle.read(handles, max(position, 0))
    if position < 0 or end < 0:
        raise FormatError("a footer without block handles", path, offset)
    return metaindex, index


def _check(data: bytes, kind: ChecksumKind, path: str, offset: int) -> None:
    """Raises ``FormatError`` if a footer of format 6 is damaged."""
    if data[1:5] != _EXTENDED_MAGIC or any(data[41 - _UNUSED : 41]):
        raise FormatError("a damaged footer", path, offset)
    if kind.number == NO_CHECKSUM:
        return
    zeroed = bytearray(data)
    stored = int.from_bytes(zeroed[_CHECKSUM], "little")
    zeroed[_CHECKSUM] = bytes(4)
    if kind.of(memoryview(zeroed), offset) != stored:
        raise FormatError("a footer whose checksum is wrong", path, offset)
