"""The kernel decompresses blocks as the library does, and takes none that the library refuses."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, permutations

import cramjam
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from savepoint_formats.state_files.rocksdb.sst_blocks import _DECOMPRESS, Compression
from savepoint_formats.state_files.rocksdb.sst_kernel import BLOCK_TRAILER_SIZE, SLACK
from savepoint_formats.state_files.rocksdb.unpacking_kernel import PackedBlocks, unpack_blocks

pytestmark = pytest.mark.usefixtures("both_ways")

MARK = 0xA5

# Patterns of one byte to many, at all distances from what they repeat, and bytes between them.
CONTENTS = st.lists(
    st.one_of(
        st.binary(max_size=70),
        st.tuples(st.binary(min_size=1, max_size=20), st.integers(1, 40)).map(
            lambda pattern: pattern[0] * pattern[1]
        ),
    ),
    max_size=8,
).map(b"".join)


def packed(kind: Compression, content: bytes) -> bytes:
    match kind:
        case Compression.SNAPPY:
            return bytes(cramjam.snappy.compress_raw(content))
        case Compression.LZ4:
            return bytes(cramjam.lz4.compress_block(content, store_size=False))
    return content


@dataclass(frozen=True, slots=True)
class Unpacked:
    """How many blocks were taken, their content, and what lies behind it."""

    taken: int
    contents: list[bytes]
    behind: bytes


def unpacked(blocks: list[tuple[Compression, bytes, int]]) -> Unpacked:
    """Blocks of a compression, their stored bytes and their size; nothing follows the last one."""
    stored = b"".join(data + bytes(BLOCK_TRAILER_SIZE) for _, data, _ in blocks)
    data, kinds = np.frombuffer(stored, np.uint8), np.array([kind for kind, *_ in blocks], np.uint8)
    sizes = np.array([len(data) for _, data, _ in blocks])
    starts = np.cumsum(sizes + BLOCK_TRAILER_SIZE) - sizes - BLOCK_TRAILER_SIZE
    ends, borders = starts + sizes, np.cumsum([0, *(size for *_, size in blocks)])
    target = np.full(borders[-1] + 2 * SLACK, MARK, np.uint8)
    arrays = (kinds, starts, ends, target, borders)
    start = data.ctypes.data
    addresses = [array.ctypes.data for array in arrays]
    fields = [start, start + len(data), *addresses, 0, len(blocks)]
    taken = unpack_blocks(PackedBlocks._make(fields))
    contents = [target[a:b].tobytes() for a, b in pairwise(borders.tolist())]
    return Unpacked(taken, contents[:taken], target[borders[-1] + SLACK :].tobytes())


KINDS = [Compression.NONE, Compression.SNAPPY, Compression.LZ4]


@given(st.lists(st.tuples(st.sampled_from(KINDS), CONTENTS), min_size=1, max_size=4))
def test_what_was_compressed_comes_back(blocks: list[tuple[Compression, bytes]]) -> None:
    result = unpacked([(kind, packed(kind, content), len(content)) for kind, content in blocks])
    assert result.taken == len(blocks)
    assert result.contents == [content for _, content in blocks]
    assert result.behind == bytes([MARK]) * SLACK


@given(
    st.sampled_from([Compression.SNAPPY, Compression.LZ4]),
    CONTENTS,
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), max_size=3),
    st.integers(0, 12),
    st.integers(-3, 3),
)
def test_damage_is_never_taken_for_other_content(
    kind: Compression, content: bytes, changes: list[tuple[int, int]], cut: int, more: int
) -> None:
    """Nor is anything written beyond the slack."""
    data = bytearray(packed(kind, content))
    for place, byte in changes:
        data[place % len(data)] = byte
    stored, size = bytes(data[: max(len(data) - cut, 1)]), max(len(content) + more, 0)
    result = unpacked([(kind, stored, size)])
    assert result.behind == bytes([MARK]) * SLACK
    if result.taken:
        target = bytearray(size)
        assert _DECOMPRESS[kind](memoryview(stored), memoryview(target)) == size
        assert result.contents == [bytes(target)]


def test_the_first_block_of_another_compression_is_left() -> None:
    zlib = (Compression.ZLIB, b"abc", 3)
    assert unpacked([(Compression.NONE, b"a", 1), zlib, zlib]).taken == 1


@pytest.mark.parametrize("stored", [b"\x01", b"\x0f", b"\0\0"])
def test_an_empty_block_of_lz4_has_a_token_without_sizes(stored: bytes) -> None:
    """As the library expects."""
    with pytest.raises(cramjam.DecompressionError):
        _DECOMPRESS[Compression.LZ4](memoryview(stored), memoryview(bytearray()))
    assert unpacked([(Compression.LZ4, stored, 0)]).taken == 0


def test_a_distance_of_snappy_has_one_two_or_four_bytes() -> None:
    """Compressors write no four, since blocks are short."""
    literal, parts = b"\x1cabcdefgh", (b"\x11\x08", b"\x1e\x08\x00", b"\x1f\x08\x00\x00\x00")
    for order in permutations(parts):
        stored = b"\x20" + literal + b"".join(order)
        result = unpacked([(Compression.SNAPPY, stored, 32)])
        assert result.contents == [b"abcdefgh" * 4]
        target = bytearray(32)
        _DECOMPRESS[Compression.SNAPPY](memoryview(stored), memoryview(target))
        assert result.contents == [bytes(target)]
        for cut in range(1, 5):
            assert unpacked([(Compression.SNAPPY, stored[:-cut], 32)]).taken == 0
