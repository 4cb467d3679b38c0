"""Checksums are those of RocksDB, whose tables have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import google_crc32c
import numpy as np
import pytest
import xxhash

from savepoint_formats.state_files.rocksdb.checksums import (
    CRC32C,
    NO_CHECKSUM,
    XXH3,
    XXHASH32,
    XXHASH64,
    ChecksumKind,
    first_damaged,
    masked_crc32c,
)

if TYPE_CHECKING:
    from collections.abc import Callable

WORD = 0xFFFFFFFF

# From RFC 3720, B.4.
CRC32C_CHECKSUMS = [
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(range(31, -1, -1)), 0x113FDB5C),
    (b"123456789", 0xE3069283),
]


@pytest.mark.parametrize(("data", "expected"), CRC32C_CHECKSUMS)
def test_crc32c_is_that_of_the_standard(data: bytes, expected: int) -> None:
    assert masked_crc32c(data) == (expected >> 15 | expected << 17) + 0xA282EAD8 & WORD


def test_the_library_of_crc32c_is_machine_code() -> None:
    """It has a form in Python too, which takes a thousand times as long."""
    assert google_crc32c.implementation == "c"


KINDS: dict[int, Callable[[bytes], int]] = {
    CRC32C: masked_crc32c,
    XXHASH32: xxhash.xxh32_intdigest,
    XXHASH64: lambda data: xxhash.xxh64_intdigest(data) & WORD,
    XXH3: lambda data: xxhash.xxh3_64_intdigest(data[:-1]) & WORD ^ data[-1] * 0x6B9083D9 & WORD,
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_damaged_block_is_found(kind: int) -> None:
    # The last byte that a checksum covers is the type behind the block.
    stored = b"123456789" + KINDS[kind](b"123456789").to_bytes(4, "little")
    data = np.frombuffer(stored + stored + b"\0" + stored[1:], np.uint8)
    starts = np.array([0, 13, 26])
    blocks = data, starts, starts + 8
    whole = data, starts[:2], starts[:2] + 8
    assert first_damaged(*blocks, ChecksumKind(kind), starts) == 2
    assert first_damaged(*whole, ChecksumKind(kind), starts[:2]) == -1
    for other in KINDS.keys() - {kind}:
        assert first_damaged(*blocks, ChecksumKind(other), starts) == 0
    assert first_damaged(*blocks, ChecksumKind(NO_CHECKSUM), starts) == -1
