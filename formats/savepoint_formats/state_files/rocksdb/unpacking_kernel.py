"""Decompresses blocks of Snappy and LZ4, compiled.

A library takes most of a microsecond per call, as long as a block of 4 KiB takes here. A block that
is not as expected is left to the library, which judges it.

Copies are of whole words, so they write up to ``SLACK`` bytes beyond a block's end: what the next block
overwrites, or nobody reads. All blocks are followed by ``BLOCK_TRAILER_SIZE`` bytes that may be read.

RocksDB: ``Snappy_Uncompress``, ``LZ4_Uncompress``. Formats: ``snappy/format_description.txt``,
``lz4/doc/lz4_Block_format.md``.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.code.machine_code import entry, part
from savepoint_formats.program.kernel.code.memory import (
    copy,
    load_byte,
    load_native_long,
    load_native_unsigned_int,
    load_native_unsigned_short,
    store_long,
)
from savepoint_formats.state_files.rocksdb.sst_kernel import SNAPPY, UNCOMPRESSED, read_varint

LZ4 = 4
LZ4_HC = 5

_WORD = 8
_WORDS = 16
_LEAST_LONG = 60  # Snappy: a literal of more bytes has its size behind the tag
_LONG = 15  # LZ4: a size goes on in the next bytes
_LEAST_MATCH = 4
# No match begins or ends nearer to the end of a block of LZ4.
_LEAST_OUTPUT, _LEAST_INPUT, _LAST_LITERALS = 12, 8, 5


class PackedBlocks(NamedTuple):
    """Blocks to decompress; all but the numbers are addresses."""

    data: int
    data_end: int  # nothing behind it may be read
    kinds: int  # u8 per block: its compression
    starts: int  # i64 per block: its content, positions in the data
    ends: int
    target: int  # the blocks become neighbours here; ``SLACK`` more bytes may be written
    borders: int  # i64 per block, and one more: positions in the target
    first: int  # the first block to decompress
    total: int  # number of blocks


@entry
def unpack_blocks(job: PackedBlocks) -> int:
    """Decompresses blocks up to one that is not taken; returns its number, or that of all."""
    for block in range(job.first, job.total):
        kind = load_byte(job.kinds + block)
        source = job.data + load_native_long(job.starts + 8 * block)
        end = job.data + load_native_long(job.ends + 8 * block)
        target = job.target + load_native_long(job.borders + 8 * block)
        limit = job.target + load_native_long(job.borders + 8 * block + 8)
        if kind == SNAPPY:
            if not is_snappy_unpacked(source, end, job.data_end, target, limit):
                return block
        elif LZ4 <= kind <= LZ4_HC:
            if not is_lz4_unpacked(source, end, job.data_end, target, limit):
                return block
        elif kind == UNCOMPRESSED and end - source == limit - target:
            copy(target, source, end - source)
        else:
            return block
    return job.total


@part
def is_snappy_unpacked(source: int, end: int, readable: int, target: int, limit: int) -> bool:
    """Decompresses a block of Snappy, with its size; returns whether it fills its place."""
    size, source = read_varint(0, source, end)
    if source < 0 or size != limit - target:
        return False
    at = target
    while source < end:
        tag = load_byte(source)
        source += 1
        if tag & 3 == 0:
            size = (tag >> 2) + 1
            if size > _LEAST_LONG:
                count = size - _LEAST_LONG
                size = (load_native_unsigned_int(source) & (1 << 8 * count) - 1) + 1
                source += count
            if size > end - source or size > limit - at:
                return False
            copy_literal(at, source, size, readable)
            source += size
        else:
            # No branches: the kind of the next copy is unpredictable.
            is_short = -int(tag & 3 == 1)
            behind = load_native_unsigned_short(source)
            size = (tag >> 2 & (7 | ~is_short)) + 1 - 3 * is_short
            offset = behind & (255 | ~is_short) | tag >> 5 << 8 & is_short
            if tag & 3 == 3:
                offset = load_native_unsigned_int(source)
                source += 1
            source += tag & 3
            if source > end or not 0 < offset <= at - target or size > limit - at:
                return False
            copy_match(at, offset, size)
        at += size
    return at == limit


@part
def is_lz4_unpacked(source: int, end: int, readable: int, target: int, limit: int) -> bool:
    """Decompresses a block of LZ4, without its size; returns whether it fills its place."""
    at = target
    if target == limit:
        return end - source == 1 and load_byte(source) == 0
    while source < end:
        token = load_byte(source)
        size, source = lz4_size(token >> 4, source + 1, end)
        if size > end - source or size > limit - at:
            return False
        copy_literal(at, source, size, readable)
        at += size
        source += size
        if source == end:
            return at == limit  # the last sequence has no match
        if limit - at < _LEAST_OUTPUT or end - source < _LEAST_INPUT:
            return False
        offset = load_native_unsigned_short(source)
        size, source = lz4_size(token & _LONG, source + 2, end)
        size += _LEAST_MATCH
        if source > end or not 0 < offset <= at - target or size > limit - at - _LAST_LITERALS:
            return False
        copy_match(at, offset, size)
        at += size
    return False


@part
def lz4_size(size: int, source: int, end: int) -> tuple[int, int]:
    """A size that begins in a token, and the end of the bytes in which it goes on."""
    if size == _LONG:
        byte = 255
        while byte == 255 and source < end:
            byte = load_byte(source)
            size += byte
            source += 1
    return size, source


@part
def copy_literal(target: int, source: int, size: int, readable: int) -> None:
    """Copies bytes of the input; if they are few, bytes behind them too."""
    if size <= _WORDS and source + _WORDS <= readable:
        store_long(target, load_native_long(source))
        store_long(target + _WORD, load_native_long(source + _WORD))
    else:
        copy(target, source, size)


@part
def copy_match(target: int, offset: int, size: int) -> None:
    """Repeats output from ``offset`` bytes before, and perhaps bytes behind it."""
    source = target - offset
    end = target + size
    # A pattern shorter than a word doubles until it has one.
    while target - source < _WORD and target < end:
        store_long(target, load_native_long(source))
        target += target - source
    store_long(target, load_native_long(source))
    store_long(target + _WORD, load_native_long(source + _WORD))
    for place in range(_WORDS, end - target, _WORD):
        store_long(target + place, load_native_long(source + place))
