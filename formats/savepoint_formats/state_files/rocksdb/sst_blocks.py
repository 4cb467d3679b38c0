"""Blocks of an SST file: reads, checks and decompresses some into one buffer.

| bytes  | field       | meaning                                               |
|--------|-------------|-------------------------------------------------------|
| …      | content     | as many bytes as the block's handle says              |
| u8     | compression | 0 none, 1 Snappy, 2 zlib, 3 bzip2, 4 and 5 LZ4,       |
|        |             | 7 Zstandard                                           |
| u32 LE | checksum    | of content and compression                            |

Compressed content begins with its size as a varint; that of Snappy is part of its format. zlib's
content has neither zlib's header nor its checksum. Tables of formats 0 and 1 have no size in
front of zlib and bzip2, and a u64 LE in front of LZ4.

RocksDB: ``BlockBasedTableBuilder::WriteMaybeCompressedBlock``, ``UncompressBlockData``,
``GetCompressFormatForVersion``.
"""

from __future__ import annotations

import bz2
import zlib
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import cramjam
import numpy as np

from savepoint_formats.errors import FormatError, RocksDbError, TruncatedError
from savepoint_formats.state_files.rocksdb import sst_kernel
from savepoint_formats.state_files.rocksdb.checksums import first_damaged
from savepoint_formats.state_files.rocksdb.footer import LEAST_WITH_SIZES
from savepoint_formats.state_files.rocksdb.sst_kernel import BLOCK_TRAILER_SIZE, SLACK
from savepoint_formats.state_files.rocksdb.unpacking_kernel import PackedBlocks, unpack_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.state_files.rocksdb.footer import Footer

# Blocks have some KiB; only a single large value makes one larger.
_MAX_CONTENT_SIZE = 1 << 31

# Enough for footer, metaindex and properties of most tables, and for small indexes.
_TAIL_SIZE = 1 << 15

# A store gives more at once, because a request takes as long as some megabytes. An index has about
# a hundredth of its table. A small table is read as a whole.
_INDEX_PART = 64
_MOST_AT_ONCE = 1 << 20


# Bytes between blocks that are read with them, because a read of its own would take longer.
_GAP = 64 << 10


def tail_size(size: int) -> int:
    """Number of bytes at the end of a table that one request to a store reads."""
    if size <= _MOST_AT_ONCE:
        return size
    return min(max(size // _INDEX_PART, _TAIL_SIZE), _MOST_AT_ONCE)


class Compression(IntEnum):
    """Byte behind a block. RocksDB: ``CompressionType``."""

    NONE = 0
    SNAPPY = 1
    ZLIB = 2
    BZIP2 = 3
    LZ4 = 4
    LZ4_HC = 5
    ZSTANDARD = 7


# Byte of a compression -> most bytes that one compressed byte can become. Three bytes of Snappy
# copy 64; two bits of zlib repeat 258 bytes; bzip2 turns 46 MB of zeros into 40 bytes; LZ4 counts
# lengths in bytes of 255; four bytes of Zstandard repeat one byte up to 128 KiB.
_MOST_OF_A_BYTE = np.ones(256, np.int64)
_MOST_OF_A_BYTE[Compression.SNAPPY] = 22
_MOST_OF_A_BYTE[Compression.ZLIB] = 1032
_MOST_OF_A_BYTE[Compression.BZIP2] = 1 << 21
_MOST_OF_A_BYTE[[Compression.LZ4, Compression.LZ4_HC]] = 256
_MOST_OF_A_BYTE[Compression.ZSTANDARD] = 1 << 15

# Compressions that have no varint in front before format 2.
_SIZED_LATER = np.zeros(256, np.bool_)
_SIZED_LATER[[Compression.ZLIB, Compression.BZIP2, Compression.LZ4, Compression.LZ4_HC]] = True
_LZ4_SIZE = 8

_IS_KNOWN = np.zeros(256, np.bool_)
_IS_KNOWN[list(Compression)] = True


@dataclass(frozen=True, slots=True)
class TableBytes:
    """Bytes of a table; its last ones are in memory, to ask a store less often."""

    file: StateFile
    size: int
    tail: bytes

    @classmethod
    def open(cls, file: StateFile, size: int) -> Self:
        """Opens a file; raises ``TruncatedError`` if it has less than ``size`` bytes."""
        start = max(size - (_TAIL_SIZE if file.local_path else tail_size(size)), 0)
        tail = file.read(start, size)
        if len(tail) < size - start:
            missing = size - start - len(tail)
            message = f"a file without its last {missing} bytes, expected {size}"
            raise TruncatedError(message, file.path, start + len(tail))
        return cls(file, size, tail)

    @property
    def path(self) -> str:
        """Name of the file in errors."""
        return self.file.path

    def read_ahead(self, start: int, end: int, size: int | None) -> Self:
        """Prepares reads of these bytes in order; a store is asked for ``size`` bytes at a time.

        Without a size, it is asked for all of them right now.
        """
        end = min(end + BLOCK_TRAILER_SIZE, self.size - len(self.tail))
        if start >= end:
            return self
        if size is None:
            return replace(self, file=self.file.read_soon(start, end))
        # The first rows come after a short read.
        first = min(start + size // 4, end)
        places = [start, *range(first, end, size), end]
        return replace(self, file=self.file.read_ahead(pairwise(places)))

    def read(self, start: int, end: int) -> bytes:
        """Raises ``TruncatedError`` if some of the bytes are missing."""
        if not 0 <= start <= end <= self.size:
            message = f"a block up to byte {end}, in a file of {self.size} bytes"
            raise TruncatedError(message, self.path, start)
        at_hand = self.size - len(self.tail)
        if start >= at_hand:
            return self.tail[start - at_hand : end - at_hand]
        data = self.file.read(start, min(end, at_hand))
        if len(data) < min(end, at_hand) - start:
            raise TruncatedError(f"{len(data)} bytes of {end - start}", self.path, start)
        return data + self.tail[: end - at_hand] if end > at_hand else data


@dataclass(frozen=True, slots=True, eq=False)
class StoredBlocks:
    """Blocks as they are in the file, at ``offsets``, which grow.

    ``starts`` and ``ends`` are those of contents in ``data``; more bytes follow each of them.
    """

    path: str
    offsets: NDArray[np.int64]
    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    format_version: int

    @classmethod
    def read(
        cls, table: TableBytes, footer: Footer, offsets: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> Self:
        """Reads the blocks at these offsets; close ones at once.

        Raises ``FormatError`` if they overlap or lie behind the file, or a checksum is wrong.
        """
        offset = int(offsets[0])
        # The sum of greater numbers could be negative, and seem to lie before the next block.
        if max(offsets.max(), sizes.max()) > table.size:
            message = f"blocks up to byte {offsets.max()}, of up to {sizes.max()} bytes, "
            message += f"in a file of {table.size} bytes"
            raise TruncatedError(message, table.path, offset)
        stops = offsets + sizes + BLOCK_TRAILER_SIZE
        gaps = offsets[1:] - stops[:-1]
        if (gaps < 0).any() or (sizes < 0).any():
            raise FormatError("an index whose blocks overlap", table.path, offset)
        cuts = np.flatnonzero(gaps > _GAP) + 1
        firsts, lasts = offsets[np.append(0, cuts)], stops[np.append(cuts, 0) - 1]
        parts = [table.read(*part) for part in zip(firsts.tolist(), lasts.tolist(), strict=True)]
        data = np.frombuffer(parts[0] if len(parts) == 1 else b"".join(parts), np.uint8)
        skipped = np.zeros_like(offsets)
        skipped[cuts] = gaps[cuts - 1]
        starts = offsets - offset - skipped.cumsum()
        blocks = cls(table.path, offsets, data, starts, starts + sizes, footer.format_version)
        damaged = first_damaged(data, starts, blocks.ends, footer.checksum, offsets)
        if damaged >= 0:
            raise blocks.error(damaged, "a block whose checksum is wrong")
        return blocks

    def __len__(self) -> int:
        return len(self.starts)

    def error(self, index: int, message: str, kind: type[FormatError] = FormatError) -> FormatError:
        return kind(message, self.path, int(self.offsets[index]))

    def compressions(self) -> NDArray[np.uint8]:
        """Compression of each block; raises ``RocksDbError`` for an unknown one."""
        kinds = self.data[self.ends]
        unknown = np.flatnonzero(~_IS_KNOWN[kinds])
        if len(unknown):
            message = f"a block of compression {kinds[unknown[0]]}"
            raise self.error(int(unknown[0]), message, RocksDbError)
        return kinds

    def content_sizes(
        self, kinds: NDArray[np.uint8]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Uncompressed size of each block, and where its compressed bytes begin."""
        sizes, starts = self.ends - self.starts, self.starts.copy()
        old = _SIZED_LATER[kinds] if self.format_version < LEAST_WITH_SIZES else np.False_
        with_varint = np.where(old, np.uint8(Compression.NONE), kinds)
        arrays = (self.data, with_varint, starts, np.ascontiguousarray(self.ends, np.int64), sizes)
        addresses = [array.ctypes.data for array in arrays]
        job = sst_kernel.ContentSizes._make([*addresses, len(sizes)])
        damaged = sst_kernel.read_content_sizes(job)
        if damaged >= 0:
            raise self.error(damaged, "a compressed block without its size")
        for index in np.flatnonzero(old).tolist():
            sizes[index], skipped = self._old_size(index, int(kinds[index]))
            starts[index] += skipped
        stored = self.ends - self.starts
        too_big = np.flatnonzero(
            (sizes > _MAX_CONTENT_SIZE) | (sizes > stored * _MOST_OF_A_BYTE[kinds])
        )
        if len(too_big):
            index = int(too_big[0])
            message = f"{stored[index]} bytes that claim to be a block of {sizes[index]}"
            raise self.error(index, message)
        return sizes, starts

    def _old_size(self, index: int, kind: int) -> tuple[int, int]:
        """Uncompressed size of a block of format 0 or 1, and the bytes in front of its content."""
        content = self.data[self.starts[index] : self.ends[index]].data
        most = min(_MAX_CONTENT_SIZE, int(_MOST_OF_A_BYTE[kind]) * len(content)) + 1
        if kind in _STREAMS:
            try:
                return len(_inflated(kind, content, most)), 0
            except (zlib.error, OSError) as error:
                raise self.error(index, f"a block that is damaged: {error}") from error
        if len(content) < _LZ4_SIZE:
            raise self.error(index, "a compressed block without its size")
        return min(int.from_bytes(content[:_LZ4_SIZE], "little"), most), _LZ4_SIZE


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Uncompressed blocks in one buffer, with ``SLACK`` bytes of memory behind it.

    Block i is from ``borders[i]`` to ``borders[i + 1]``. Errors name places in ``stored``.
    """

    data: NDArray[np.uint8]
    borders: NDArray[np.int64]
    stored: StoredBlocks

    @classmethod
    def of(cls, stored: StoredBlocks) -> Self:
        """Decompresses blocks."""
        kinds = stored.compressions()
        sizes, starts = stored.content_sizes(kinds)
        borders = np.append(0, sizes).cumsum()
        try:
            # The kernel reads whole words, beyond the last byte.
            data = np.empty(int(borders[-1]) + SLACK, np.uint8)[:-SLACK]
        except MemoryError as error:
            message = f"blocks of {borders[-1]} bytes, which this machine has no memory for"
            raise stored.error(0, message) from error
        _decompress(stored, kinds, starts, data, borders)
        return cls(data, borders, stored)

    def plain_entries(self) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values of the only block, one by one; for blocks that describe a table."""
        data, damage = self.data, self.stored.error(0, "a damaged block")
        address = data.ctypes.data
        status, end = sst_kernel.entries_end(address, 0, len(data))
        if status != sst_kernel.OK:
            raise damage
        key, position = b"", 0
        while position < end:
            shared, unshared, size, position = sst_kernel.read_entry_sizes(address, position, end)
            if position < 0 or shared > len(key) or unshared + size > end - position:
                raise damage
            value = position + unshared
            key = key[:shared] + data[position:value].tobytes()
            position = value + size
            yield key, data[value:position].tobytes()


def _decompress(
    blocks: StoredBlocks,
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int64],
    target: NDArray[np.uint8],
    borders: NDArray[np.int64],
) -> None:
    """Writes the content of each block between its borders in ``target``."""
    ends = np.ascontiguousarray(blocks.ends, np.int64)
    arrays = (blocks.data, kinds, starts, ends, target, borders)
    addresses = [array.ctypes.data for array in arrays]
    end = addresses[0] + len(blocks.data)
    # Slices of a memoryview cost half of those of an array.
    source, content, index = blocks.data.data, target.data, 0
    while index < len(blocks):
        if not unpack_blocks.is_interpreted:
            fields = [addresses[0], end, *addresses[1:], index, len(blocks)]
            index = unpack_blocks(PackedBlocks._make(fields))
            if index == len(blocks):
                break
        packed = source[starts[index] : blocks.ends[index]]
        at, to = borders[index : index + 2].tolist()
        try:
            written = _DECOMPRESS[int(kinds[index])](packed, content[at:to])
        except (cramjam.DecompressionError, zlib.error, OSError) as error:
            raise blocks.error(index, f"a block that is damaged: {error}") from error
        if written != to - at:
            raise blocks.error(index, f"a block of {written} bytes, expected {to - at}")
        index += 1


def _decompress_lz4(source: memoryview, target: memoryview) -> int:
    # Without a length, it takes the first four bytes as the length.
    size: int = cramjam.lz4.decompress_block_into(source, target, output_len=len(target))
    return size


_STREAMS: dict[int, Callable[[], Any]] = {
    Compression.ZLIB: lambda: zlib.decompressobj(-zlib.MAX_WBITS),
    Compression.BZIP2: bz2.BZ2Decompressor,
}


def _inflated(kind: int, source: memoryview, most: int) -> bytes:
    """Content of a stream of zlib or bzip2, up to ``most`` bytes of it."""
    stream = _STREAMS[kind]()
    content: bytes = stream.decompress(source, most)
    if len(content) < most and not stream.eof:
        raise zlib.error("the stream has no end")
    return content


def _inflate_into(kind: int) -> Callable[[memoryview, memoryview], int]:
    def inflate(source: memoryview, target: memoryview) -> int:
        # One byte too many is enough to notice a wrong size.
        return _filled(_inflated(kind, source, len(target) + 1), target)

    return inflate


def _filled(content: bytes | memoryview, target: memoryview) -> int:
    target[: len(content)] = content[: len(target)]
    return len(content)


_DECOMPRESS: dict[int, Callable[..., int]] = {
    Compression.NONE: _filled,
    Compression.SNAPPY: cramjam.snappy.decompress_raw_into,
    Compression.ZLIB: _inflate_into(Compression.ZLIB),
    Compression.BZIP2: _inflate_into(Compression.BZIP2),
    Compression.LZ4: _decompress_lz4,
    Compression.LZ4_HC: _decompress_lz4,
    Compression.ZSTANDARD: cramjam.zstd.decompress_into,
}
