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
_TYPE_FACTOR = 0x6B9083D9


def masked_crc32c(data: memoryview | bytes) -> int:
    """CRC-32C of some bytes, as RocksDB stores it."""
    crc: int = google_crc32c.value(bytes(data))
    return (crc >> 15 | crc << 17) + _CRC_MASK & _WORD


def _xxh3(data: memoryview) -> int:
    return xxhash.xxh3_64_intdigest(data[:-1]) & _WORD ^ data[-1] * _TYPE_FACTOR & _WORD


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
    offset: int = 0,
) -> int:
    """Index of the first block whose checksum is wrong; -1 if all are right.

    ``data`` begins at ``offset`` of the file. ``ends`` are those of contents: compression and
    checksum of each block follow.
    """
    checksum = CHECKSUMS.get(kind.number)
    if checksum is None:
        return -1
    source = data.data
    places = zip(starts.tolist(), (ends + 1).tolist(), strict=True)
    computed = np.array([checksum(source[start:end]) for start, end in places], np.uint32)
    if kind.context:
        computed += np.array([kind.of_place(offset + start) for start in starts.tolist()], "u4")
    stored = data[ends[:, None] + np.arange(1, 5)].view("<u4")[:, 0]
    wrong = np.flatnonzero(computed != stored)
    return int(wrong[0]) if len(wrong) else -1
