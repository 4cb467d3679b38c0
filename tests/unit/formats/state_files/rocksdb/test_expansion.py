"""Few bytes that say that they are many: refused before memory is taken, where they can't be."""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable

import cramjam
import numpy as np
import pytest
from support.rocksdb_databases import varint

from savepoint_formats.bytes.snappy import decompress
from savepoint_formats.errors import FormatError
from savepoint_formats.state_files.rocksdb.sst_blocks import Blocks, Compression, StoredBlocks

Compress = Callable[[bytes], bytes]

MIB = 1 << 20


def raw_zlib(data: bytes) -> bytes:
    """Without its header and its checksum."""
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


COMPRESS: dict[Compression, Compress] = {
    Compression.ZLIB: lambda data: varint(len(data)) + raw_zlib(data),
    Compression.BZIP2: lambda data: varint(len(data)) + bz2.compress(data),
    Compression.SNAPPY: lambda data: bytes(cramjam.snappy.compress_raw(data)),
    Compression.LZ4: lambda data: (
        varint(len(data)) + bytes(cramjam.lz4.compress_block(data, store_size=False))
    ),
    Compression.ZSTANDARD: lambda data: (
        varint(len(data)) + bytes(cramjam.zstd.compress(data, level=19))
    ),
}


OLD_COMPRESS: dict[Compression, Compress] = COMPRESS | {
    Compression.ZLIB: raw_zlib,
    Compression.BZIP2: bz2.compress,
    Compression.LZ4: lambda data: (
        len(data).to_bytes(8, "little") + bytes(cramjam.lz4.compress_block(data, store_size=False))
    ),
}
"""Before format 2: LZ4 has its size in front as eight bytes, zlib and bzip2 have none."""


def stored(
    kind: Compression, content: bytes, count: int = 1, format_version: int = 5
) -> StoredBlocks:
    """Blocks that all have the same content."""
    data = np.frombuffer(content + bytes([kind]) + bytes(4), np.uint8)
    return StoredBlocks(
        "000012.sst",
        np.zeros(count, np.int64),
        data,
        np.zeros(count, np.int64),
        np.full(count, len(content), np.int64),
        format_version,
    )


@pytest.mark.parametrize("kind", COMPRESS, ids=str)
@pytest.mark.parametrize("size", [1, 4 << 10, MIB, 16 * MIB])
def test_whatever_was_compressed_is_taken(kind: Compression, size: int) -> None:
    blocks = Blocks.of(stored(kind, COMPRESS[kind](bytes(size))))
    assert len(blocks.data) == size
    assert not blocks.data.any()


@pytest.mark.parametrize("kind", COMPRESS, ids=str)
@pytest.mark.parametrize("size", [1, 4 << 10, MIB])
def test_whatever_an_old_table_compressed_is_taken(kind: Compression, size: int) -> None:
    blocks = Blocks.of(stored(kind, OLD_COMPRESS[kind](bytes(size)), format_version=1))
    assert len(blocks.data) == size
    assert not blocks.data.any()


@pytest.mark.parametrize("size", [100 * MIB, (1 << 31) + 1, (1 << 64) - 1])
def test_what_can_not_be_so_much_is_refused_in_an_old_table(size: int) -> None:
    lie = size.to_bytes(8, "little") + OLD_COMPRESS[Compression.LZ4](bytes(1000))[8:]
    with pytest.raises(FormatError, match=f"{len(lie)} bytes that claim to be a block of "):
        Blocks.of(stored(Compression.LZ4, lie, format_version=1))


@pytest.mark.parametrize("kind", [Compression.ZLIB, Compression.BZIP2, Compression.LZ4], ids=str)
def test_each_cut_of_a_block_of_an_old_table_is_noticed(kind: Compression) -> None:
    content = OLD_COMPRESS[kind](bytes(range(256)) * 4)
    for size in range(len(content)):
        with pytest.raises(FormatError, match=r"a (compressed )?block"):
            Blocks.of(stored(kind, content[:size], format_version=1))


@pytest.mark.parametrize("kind", COMPRESS, ids=str)
@pytest.mark.parametrize("size", [100 * MIB, (1 << 31) - 1, (1 << 31) + 1])
def test_what_can_not_be_so_much_is_refused(kind: Compression, size: int) -> None:
    content = COMPRESS[kind](bytes(1000))
    lie = varint(size) + content[2:]
    with pytest.raises(FormatError, match=f"{len(lie)} bytes that claim to be a block of {size}$"):
        Blocks.of(stored(kind, lie))


@pytest.mark.parametrize("kind", COMPRESS, ids=str)
def test_a_block_of_another_size_than_it_says_is_damaged(kind: Compression) -> None:
    content = COMPRESS[kind](bytes(1000))
    for size in (999, 1001):
        with pytest.raises(FormatError, match=r"a block (of \d+ bytes, expected|that is damaged)"):
            Blocks.of(stored(kind, varint(size) + content[2:]))


def test_more_than_the_machine_has_is_an_error_of_the_file() -> None:
    lie = varint(1 << 31) + bytes(1 << 16)
    with pytest.raises(FormatError, match="this machine has no memory for"):
        Blocks.of(stored(Compression.ZSTANDARD, lie, count=1 << 16))


def test_a_frame_of_snappy_has_64_kib_at_most() -> None:
    block = bytes(cramjam.snappy.compress_raw(bytes(80_000)))
    chunk = b"\0" + (len(block) + 4).to_bytes(3, "little") + bytes(4) + block
    with pytest.raises(FormatError, match="damaged snappy data"):
        decompress(chunk, "file", 0)
    assert len(decompress(bytes(cramjam.snappy.compress(bytes(MIB))), "file", 0)) == MIB
