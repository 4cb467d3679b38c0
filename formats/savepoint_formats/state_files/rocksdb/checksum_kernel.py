"""The checksum XXH3 of blocks, compiled: a call of a library takes longer than a block of 4 KiB.

Only blocks of more than ``MOST_SHORT`` bytes: shorter ones are hashed in other ways, and are rare.

xxHash: ``XXH3_hashLong_64b_default``, ``XXH3_accumulate_512_scalar``.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.code.machine_code import entry, part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_native_long,
    store_int,
    wrapped,
)

MOST_SHORT = 240
SECRET_SIZE = 192
TYPE_FACTOR = 0x6B9083D9
"""Factor of the byte behind a block, its compression, in the checksum. RocksDB: ``kRandomPrime``."""

_STRIPE = 64
_BLOCK = 1024  # as many stripes as the secret has places for
_LAST_SECRET = SECRET_SIZE - _STRIPE
_WORD = (1 << 32) - 1

_PRIME_1, _PRIME_2, _PRIME_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_LONG_1, _LONG_2 = 0x9E3779B185EBCA87 - (1 << 64), 0xC2B2AE3D27D4EB4F - (1 << 64)
_LONG_3, _LONG_4, _LONG_5 = 0x165667B19E3779F9, 0x85EBCA77C2B2AE63 - (1 << 64), 0x27D4EB2F165667C5
_AVALANCHE = 0x165667919E3779F9


class HashedBlocks(NamedTuple):
    """Blocks to hash; all but the number are addresses."""

    data: int
    starts: int  # i64 per block, positions in the data
    ends: int
    secret: int  # ``SECRET_SIZE`` bytes
    sums: int  # u32 per block, to fill where it is long
    total: int


@entry
def hash_long_blocks(job: HashedBlocks) -> int:
    """Computes the checksum of each long block; returns how many there are."""
    count = 0
    for block in range(job.total):
        start = load_native_long(job.starts + 8 * block)
        end = load_native_long(job.ends + 8 * block)
        if end - start > MOST_SHORT:
            number = hash_long(job.data + start, end - start, job.secret)
            store_int(job.sums + 4 * block, number ^ load_byte(job.data + end) * TYPE_FACTOR)
            count += 1
    return count


@part
def hash_long(data: int, size: int, secret: int) -> int:
    """XXH3 of 64 bits of more than ``MOST_SHORT`` bytes."""
    a, b, c, d = _PRIME_3, _LONG_1, _LONG_2, _LONG_3
    e, f, g, h = _LONG_4, _PRIME_2, _LONG_5, _PRIME_1
    for place in range(0, size, _STRIPE):
        # The last stripe ends with the data, and may overlap the one before.
        is_last = size - place <= _STRIPE
        stripe = data + size - _STRIPE if is_last else data + place
        key = secret + (_LAST_SECRET - 7 if is_last else (place & _BLOCK - 1) >> 3)
        a, b = accumulated(a, b, stripe, key)
        c, d = accumulated(c, d, stripe + 16, key + 16)
        e, f = accumulated(e, f, stripe + 32, key + 32)
        g, h = accumulated(g, h, stripe + 48, key + 48)
        if place & _BLOCK - 1 == _BLOCK - _STRIPE and not is_last:
            key = secret + _LAST_SECRET
            a, b = scrambled(a, key), scrambled(b, key + 8)
            c, d = scrambled(c, key + 16), scrambled(d, key + 24)
            e, f = scrambled(e, key + 32), scrambled(f, key + 40)
            g, h = scrambled(g, key + 48), scrambled(h, key + 56)
    total = wrapped(size * _LONG_1) + folded(a, b, secret + 11) + folded(c, d, secret + 27)
    total = wrapped(total + folded(e, f, secret + 43) + folded(g, h, secret + 59))
    total = wrapped((total ^ unsigned_shift(total, 37)) * _AVALANCHE)
    return total ^ unsigned_shift(total, 32)


@part
def accumulated(left: int, right: int, data: int, key: int) -> tuple[int, int]:
    """Two lanes with 16 more bytes."""
    first, second = load_native_long(data), load_native_long(data + 8)
    mixed, other = first ^ load_native_long(key), second ^ load_native_long(key + 8)
    left = wrapped(left + second + (mixed & _WORD) * (mixed >> 32 & _WORD))
    return left, wrapped(right + first + (other & _WORD) * (other >> 32 & _WORD))


@part
def scrambled(lane: int, key: int) -> int:
    """A lane after all places of the secret were used."""
    return wrapped((lane ^ unsigned_shift(lane, 47) ^ load_native_long(key)) * _PRIME_1)


@part
def folded(left: int, right: int, key: int) -> int:
    """Both halves of the product of two lanes, by exclusive or."""
    left, right = left ^ load_native_long(key), right ^ load_native_long(key + 8)
    low, high = left & _WORD, left >> 32 & _WORD
    other_low, other_high = right & _WORD, right >> 32 & _WORD
    lows, cross = wrapped(low * other_low), wrapped(high * other_low)
    middle = wrapped(low * other_high) + unsigned_shift(lows, 32) + (cross & _WORD)
    middle = wrapped(middle)
    upper = high * other_high + unsigned_shift(cross, 32) + unsigned_shift(middle, 32)
    return wrapped(upper) ^ wrapped(middle << 32) ^ lows & _WORD


@part
def unsigned_shift(number: int, bits: int) -> int:
    """A number without a sign, shifted to the right."""
    return number >> bits & (1 << 64 - bits) - 1
