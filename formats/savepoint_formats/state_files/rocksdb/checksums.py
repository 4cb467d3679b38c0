"""Checksums of RocksDB: of the blocks of a table, and of the records of a manifest.

Behind each block are a byte, its compression, and a checksum of both, a u32:

| type | name     | how the compression goes into it                                |
|------|----------|-----------------------------------------------------------------|
| 0    | none     |                                                                 |
| 1    | CRC-32C  | it is the last byte; the sum is rotated right by 15, plus a constant |
| 2    | xxHash32 | it is the last byte                                             |
| 3    | xxHash64 | it is the last byte; the lower half of the hash                 |
| 4    | XXH3     | mixed into the lower half of the hash of the block              |

Tables of format 6 add the place of what is checked, so that a block elsewhere is noticed.

RocksDB: ``ComputeBuiltinChecksum``, ``ChecksumModifierForContext``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import google_crc32c
import numpy as np
import xxhash

from savepoint_formats.state_files.rocksdb.checksum_kernel import (
    MOST_SHORT,
    TYPE_FACTOR,
    HashedBlocks,
    hash_long_blocks,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

NO_CHECKSUM = 0
CRC32C = 1
XXHASH32 = 2
XXHASH64 = 3
XXH3 = 4

CHECKSUM_TYPES = range(XXH3 + 1)

_WORD = 0xFFFFFFFF
_CRC_MASK = 0xA282EAD8

# xxHash: ``XXH3_kSecret``.
_SECRET = np.frombuffer(
    bytes.fromhex(
        "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
        "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
        "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
        "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
        "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
        "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
    ),
    np.uint8,
)


def masked_crc32c(data: memoryview | bytes) -> int:
    """CRC-32C of some bytes, as RocksDB stores it."""
    crc: int = google_crc32c.value(bytes(data))
    return (crc >> 15 | crc << 17) + _CRC_MASK & _WORD


def _xxh3(data: memoryview) -> int:
    return xxhash.xxh3_64_intdigest(data[:-1]) & _WORD ^ data[-1] * TYPE_FACTOR & _WORD


CHECKSUMS: dict[int, Callable[[memoryview], int]] = {
    CRC32C: masked_crc32c,
    XXHASH32: xxhash.xxh32_intdigest,
    XXHASH64: lambda data: xxhash.xxh64_intdigest(data) & _WORD,
    XXH3: _xxh3,
}


@dataclass(frozen=True, slots=True)
class ChecksumKind:
    """How a table checks its blocks; ``context`` is a number of its own, 0 before format 6."""

    number: int
    context: int = 0

    def of(self, data: memoryview, offset: int) -> int:
        """Checksum of what begins at ``offset`` of the file."""
        return CHECKSUMS[self.number](data) + self.of_place(offset) & _WORD

    def of_place(self, offset: int) -> int:
        """What the place adds to a checksum."""
        return self.context and self.context ^ (offset + (offset >> 32) & _WORD)


def first_damaged(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    kind: ChecksumKind,
    offsets: NDArray[np.int64],
) -> int:
    """Index of the first block whose checksum is wrong; -1 if all are right.

    ``offsets`` are places in the file, ``starts`` and ``ends`` those of contents in ``data``:
    compression and checksum of each block follow.
    """
    checksum = CHECKSUMS.get(kind.number)
    if checksum is None:
        return -1
    computed, is_pending = np.empty(len(starts), np.uint32), np.ones(len(starts), np.bool_)
    if kind.number == XXH3 and not hash_long_blocks.is_interpreted:
        begins, stops = (np.ascontiguousarray(each, np.int64) for each in (starts, ends))
        addresses = [each.ctypes.data for each in (data, begins, stops, _SECRET, computed)]
        hash_long_blocks(HashedBlocks._make([*addresses, len(starts)]))
        is_pending = ends - starts <= MOST_SHORT
    source = data.data
    for index in np.flatnonzero(is_pending).tolist():
        computed[index] = checksum(source[starts[index] : ends[index] + 1])
    if kind.context:
        computed += np.array([kind.of_place(offset) for offset in offsets.tolist()], "u4")
    stored = data[ends[:, None] + np.arange(1, 5)].view("<u4")[:, 0]
    wrong = np.flatnonzero(computed != stored)
    return int(wrong[0]) if len(wrong) else -1
