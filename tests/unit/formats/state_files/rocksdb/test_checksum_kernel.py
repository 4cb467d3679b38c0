"""Checksums against those of their own libraries."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernel_ways import both_ways_of

from savepoint_formats.state_files.rocksdb.checksum_kernel import (
    CRC32C,
    NO_CHECKSUM,
    XXH3,
    first_damaged,
    masked_crc32c,
    xxh3,
)

# Sizes around those where the algorithm changes, of the bytes below; from the xxHash library.
XXH3_HASHES = [
    (0, 0x2D06800538D394C2),
    (1, 0xC44BDFF4074EECDB),
    (3, 0x3698B80191E625F9),
    (4, 0x2E4AC2F1C52157FC),
    (8, 0x60E1BAA91347A1F2),
    (9, 0x9C88FC32C37B56CB),
    (16, 0xF9FBD0260BA978DF),
    (17, 0xC56F339D36CC73D7),
    (32, 0x7418FD090E5A8159),
    (33, 0xD80A3226002E02F8),
    (64, 0xEF5426B31747DB78),
    (65, 0xB98E2A2698771EC0),
    (96, 0x59D3B91AA4416FB9),
    (97, 0x3FEA7CC420F592C0),
    (128, 0x31CCF8DEC850D035),
    (129, 0xC72AF4C6AC4DEA94),
    (240, 0xE315D53D5129EEDE),
    (241, 0x18773C512B008A63),
    (1024, 0x4986EA1C273817C6),
    (1025, 0x7775793E9AE60F68),
    (2400, 0xA75B9143071A61F8),
]
BYTES = np.array([index * 31 & 0xFF for index in range(2400)], np.uint8)

# From RFC 3720, B.4.
CRC32C_CHECKSUMS = [
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(range(31, -1, -1)), 0x113FDB5C),
    (b"123456789", 0xE3069283),
]


@pytest.mark.parametrize(("size", "expected"), XXH3_HASHES)
@pytest.mark.parametrize("start", [0, 3])
def test_xxh3_is_that_of_xxhash(size: int, expected: int, start: int) -> None:
    data = np.concatenate([np.zeros(start, np.uint8), BYTES])
    for run in both_ways_of(xxh3):
        assert run(data, start, start + size, np.empty(8, np.uint64)) == expected


@pytest.mark.parametrize(("data", "expected"), CRC32C_CHECKSUMS)
def test_crc32c_is_that_of_the_standard(data: bytes, expected: int) -> None:
    masked = (expected >> 15 | expected << 17) + 0xA282EAD8 & 0xFFFFFFFF
    for run in both_ways_of(masked_crc32c):
        assert run(np.frombuffer(data, np.uint8), 0, len(data)) == masked


@pytest.mark.usefixtures("both_ways")
def test_the_first_damaged_block_is_found() -> None:
    block = b"123456789"
    masked = (0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8 & 0xFFFFFFFF
    stored = block + masked.to_bytes(4, "little")
    data = np.frombuffer(stored + stored + b"\0" + stored[1:], np.uint8)
    starts = np.array([0, 13, 26])
    # The last byte that the checksum covers is the type behind the block.
    assert first_damaged(data, starts, starts + 8, CRC32C) == 2
    assert first_damaged(data, starts[:2], starts[:2] + 8, CRC32C) == -1
    assert first_damaged(data, starts, starts + 8, XXH3) == 0
    assert first_damaged(data, starts, starts + 8, NO_CHECKSUM) == -1
