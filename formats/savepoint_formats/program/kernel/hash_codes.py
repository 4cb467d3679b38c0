"""Hash codes of Java over bytes: of texts, of binary rows, of lists.

They are computed in 64 bits, and the lower 32 are Java's ``int``. Sums and products don't depend on
higher bits. Numbers are cut to 32 bits before they are shifted to the right.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.code.machine_code import entry, part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_native_int,
    load_native_long,
    load_native_unsigned_int,
    load_signed_byte,
    store_int,
    wrapped,
)
from savepoint_formats.program.kernel.status import DONE, REFUSED

_WORD = 0xFFFFFFFF
_NOT_ASCII = -0x7F7F7F7F7F7F7F80  # the highest bit of each of eight bytes

_31_2, _31_3, _31_4 = 31**2, 31**3, 31**4
_31_5, _31_6, _31_7, _31_8 = 31**5, 31**6, 31**7, 31**8


class HashJob(NamedTuple):
    """Items to hash; all but the numbers are addresses."""

    data: int  # bytes of all items; for lists i32 per element
    size: int  # number of bytes, or of elements
    offsets: int  # i64 per item and one more
    skip: int  # bytes in front of each item that are not hashed
    start: int  # hash code of an empty item
    total: int  # number of items
    hashes: int  # i32 per item, to fill


@entry
def hash_texts(job: HashJob) -> tuple[int, int]:
    """The 31-chain of the UTF-16 units of texts in UTF-8.

    Returns the status and its item: REFUSED if the item is no text within the data.
    """
    for item in range(job.total):
        position, end = _range(job, item)
        if position == REFUSED:
            return REFUSED, item
        state = job.start
        while position < end:
            while end - position >= 8:
                eight = load_native_long(position)
                if eight & _NOT_ASCII:
                    break
                state = wrapped(_chain_ascii(state, eight))
                position += 8
            if position < end:
                position, state = _chain_character(position, end, wrapped(state))
                if position == REFUSED:
                    return REFUSED, item
        store_int(job.hashes + 4 * item, state)
    return DONE, job.total


@part
def _range(job: HashJob, item: int) -> tuple[int, int]:
    """The addresses where an item begins and ends; REFUSED if it is not within the data."""
    start = load_native_long(job.offsets + 8 * item)
    end = load_native_long(job.offsets + 8 * item + 8)
    if not 0 <= start <= start + job.skip <= end <= job.size:
        return REFUSED, REFUSED
    return job.data + start + job.skip, job.data + end


@part
def _chain_ascii(state: int, eight: int) -> int:
    """The chain after eight more units, each a byte. No product waits for another."""
    return (
        state * _31_8
        + (eight & 0xFF) * _31_7
        + (eight >> 8 & 0xFF) * _31_6
        + (eight >> 16 & 0xFF) * _31_5
        + (eight >> 24 & 0xFF) * _31_4
        + (eight >> 32 & 0xFF) * _31_3
        + (eight >> 40 & 0xFF) * _31_2
        + (eight >> 48 & 0xFF) * 31
        + (eight >> 56 & 0xFF)
    )


@part
def _chain_character(position: int, end: int, state: int) -> tuple[int, int]:
    """The position behind a character, and the chain after its one or two units."""
    lead = load_byte(position)
    if lead < 0x80:
        return position + 1, state * 31 + lead
    size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if not 0xC0 <= lead < 0xF8 or end - position < size:
        return REFUSED, state
    point = lead & (0xFF >> size + 1)
    for index in range(1, size):
        point = point << 6 | load_byte(position + index) & 0x3F
    if point < 0x10000:
        return position + size, state * 31 + point
    point -= 0x10000
    high, low = 0xD800 + (point >> 10), 0xDC00 + (point & 0x3FF)
    return position + size, (state * 31 + high) * 31 + low


@entry
def hash_bytes(job: HashJob) -> tuple[int, int]:
    """MurmurHash3 of 32 bits over the bytes of items, as binary rows have it.

    Returns the status and its item: REFUSED if the item is not within the data.
    """
    for item in range(job.total):
        position, end = _range(job, item)
        if position == REFUSED:
            return REFUSED, item
        size, state = end - position, job.start
        while end - position >= 4:
            state = mixed_word(state, load_native_unsigned_int(position))
            position += 4
        while position < end:
            state = mixed_word(state, load_signed_byte(position) & _WORD)
            position += 1
        store_int(job.hashes + 4 * item, finished(state ^ size))
    return DONE, job.total


@part
def mixed_word(state: int, word: int) -> int:
    """A round of the hash."""
    word = word * 0xCC9E2D51 & _WORD
    word = (word << 15 | word >> 17) & _WORD
    state ^= word * 0x1B873593 & _WORD
    state = (state << 13 | state >> 19) & _WORD
    return state * 5 + 0xE6546B64 & _WORD


@part
def finished(state: int) -> int:
    """The last step of the hash."""
    state = (state ^ state >> 16) * 0x85EBCA6B & _WORD
    state = (state ^ state >> 13) * 0xC2B2AE35 & _WORD
    return state ^ state >> 16


@entry
def hash_lists(job: HashJob) -> tuple[int, int]:
    """The 31-chain of the hash codes of elements.

    Returns the status and its item: REFUSED if the item is not within the data.
    """
    for item in range(job.total):
        position = load_native_long(job.offsets + 8 * item)
        end = load_native_long(job.offsets + 8 * item + 8)
        if not 0 <= position <= end <= job.size:
            return REFUSED, item
        state = job.start
        while position < end:
            state = wrapped(state * 31 + load_native_int(job.data + 4 * position))
            position += 1
        store_int(job.hashes + 4 * item, state)
    return DONE, job.total
