"""Snappy, as RocksDB writes blocks with it, compiled by numba.

After the size of the content, a varint, elements follow. The lower two bits of the first byte of
an element are its kind:

| kind | upper six bits           | bytes that follow | meaning                                    |
|------|--------------------------|-------------------|--------------------------------------------|
| 0    | size - 1, up to 59       | the bytes         | a literal                                  |
| 0    | 59 + n                   | n of size - 1, LE | a longer literal, its bytes behind         |
| 1    | offset >> 8 (3), size - 4 | the offset's rest | a copy of what is ``offset`` bytes before |
| 2    | size - 1                 | u16 LE offset     | the same                                   |
| 3    | size - 1                 | u32 LE offset     | the same                                   |

Functions neither allocate nor raise.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.machine_code import part
from savepoint_formats.program.kernel.memory import (
    copy,
    load_byte,
    load_native_long,
    load_native_unsigned_int,
    store_long,
)

SLACK = 40
"""Number of bytes behind compressed bytes that may be read, and behind the content, written."""

_WORD_SIZE = 8
_AT_ONCE = 4 * _WORD_SIZE
_SHORT_LITERAL = 60


@part
def decompress(position: int, end: int, target: int, target_end: int) -> bool:
    """Decompresses the elements between two addresses; whether they fill the target exactly."""
    at = target
    while position < end:
        tag = load_byte(position)
        trailer = load_native_unsigned_int(position + 1)
        kind, size = tag & 3, (tag >> 2) + 1
        position += 1
        if kind == 0:
            if size > _SHORT_LITERAL:
                position += size - _SHORT_LITERAL
                size = (trailer & (1 << 8 * (size - _SHORT_LITERAL)) - 1) + 1
            source = position
            position += size
            if position > end or size > target_end - at:
                return False
            if size > _AT_ONCE:
                copy(at, source, size)
                at += size
                continue
        else:
            if kind == 1:
                size = (tag >> 2 & 7) + 4
                offset = tag >> 5 << 8 | trailer & 0xFF
            elif kind == 2:
                offset = trailer & 0xFFFF
            else:
                offset = trailer
            position += kind if kind < 3 else 4
            if position > end or size > target_end - at or not 0 < offset <= at - target:
                return False
            source = at - offset
            if offset < _WORD_SIZE or size > _AT_ONCE:
                repeat(source, at, size)
                at += size
                continue
        store_long(at, load_native_long(source))
        store_long(at + 8, load_native_long(source + 8))
        if size > 2 * _WORD_SIZE:
            store_long(at + 16, load_native_long(source + 16))
            store_long(at + 24, load_native_long(source + 24))
        at += size
    return at == target_end


@part
def repeat(source: int, target: int, size: int) -> None:
    """Copies bytes to where some of them may lie themselves, word by word."""
    end = target + size
    distance = target - source
    if distance < _WORD_SIZE:
        # Bytes that were just written in smaller units are slow to load: they are loaded once.
        word = load_native_long(source) & (1 << 8 * distance) - 1
        word |= word << 8 * distance
        if distance < 4:
            word |= word << 16 * distance
        if distance < 2:
            word |= word << 32 * distance
        step = _WORD_SIZE - _WORD_SIZE % distance
        while target < end:
            store_long(target, word)
            target += step
        return
    while target < end:
        store_long(target, load_native_long(source))
        source += _WORD_SIZE
        target += _WORD_SIZE
