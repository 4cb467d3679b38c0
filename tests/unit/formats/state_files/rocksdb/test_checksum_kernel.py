"""The kernel's XXH3 is that of its library, for blocks of any length that it takes."""

from __future__ import annotations

import numpy as np
import pytest
import xxhash

from savepoint_formats.state_files.rocksdb.checksum_kernel import (
    MOST_SHORT,
    HashedBlocks,
    hash_long_blocks,
)
from savepoint_formats.state_files.rocksdb.checksums import _SECRET

pytestmark = pytest.mark.usefixtures("both_ways")

WORD = 0xFFFFFFFF

# Around the border of short blocks, and where a stripe, or the secret, ends.
SIZES = [0, 1, 240, 241, 256, 257, 1023, 1024, 1025, 1088, 1089, 2047, 2048, 2049, 5000]


def test_a_long_block_has_the_checksum_of_the_library() -> None:
    data = np.random.default_rng(1).integers(0, 256, sum(SIZES) + 5, np.uint8)
    ends = np.cumsum(SIZES)
    starts = ends - SIZES
    sums = np.zeros(len(SIZES), np.uint32)
    addresses = [array.ctypes.data for array in (data, starts, ends, _SECRET, sums)]
    long = [size > MOST_SHORT for size in SIZES]
    job = HashedBlocks._make([*addresses, len(SIZES)])
    assert hash_long_blocks(job) == sum(long)
    expected = [
        xxhash.xxh3_64_intdigest(data[start:end].tobytes()) & WORD
        ^ int(data[end]) * 0x6B9083D9 & WORD
        for start, end in zip(starts, ends, strict=True)
    ]
    assert sums.tolist() == [
        number if is_long else 0 for number, is_long in zip(expected, long, strict=True)
    ]
