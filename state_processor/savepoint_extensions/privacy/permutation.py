"""Keyed functions of values: digests by HMAC-SHA256, and permutations of numbers.

A permutation is a Feistel network over the digits of a number, in the manner of NIST's FF1, with
HMAC-SHA256 as its round function. Different numbers stay different, which a short digest can't
promise. A network needs two halves of some digits, so few numbers are sorted by their digests.

An integer stays among those that need the same type: BYTE, SHORT, INT or LONG. So a number gets the
same result in a column of any of these types.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from hashlib import _Hash

_BLOCK_SIZE = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))
"""Bytes of a key as the two hashes of HMAC begin with them; RFC 2104."""

_ROUNDS = 8
_FEW = 256
_SIGNED_BITS = (7, 15, 31, 63)
"""Bits behind the sign of Java's types of integers."""


def digest(secret: bytes, kind: str, data: bytes) -> bytes:
    """The HMAC of data; another ``kind`` gives other bytes."""
    return _finished(_begun(secret, kind), data)


def digests(secret: bytes, kind: str, messages: Iterable[bytes]) -> Iterator[bytes]:
    """The HMAC of each of the messages."""
    begun = _begun(secret, kind)
    return (_finished(begun, message) for message in messages)


def _finished(begun: tuple[_Hash, _Hash], message: bytes) -> bytes:
    """The HMAC of a message; copies of hashes that have the key take half as long as a new HMAC."""
    inner, outer = begun
    first = inner.copy()
    first.update(message)
    second = outer.copy()
    second.update(first.digest())
    return second.digest()


@lru_cache(maxsize=64)
def _begun(secret: bytes, kind: str) -> tuple[_Hash, _Hash]:
    """The two hashes of HMAC-SHA256 before a message comes."""
    key = secret if len(secret) <= _BLOCK_SIZE else hashlib.sha256(secret).digest()
    key = key.ljust(_BLOCK_SIZE, b"\0")
    inner = hashlib.sha256(key.translate(_INNER))
    inner.update(kind.encode() + b"\0")
    return inner, hashlib.sha256(key.translate(_OUTER))


def digest_of_size(secret: bytes, data: bytes, size: int) -> bytes:
    """``size`` bytes derived from the HMAC of data."""
    return hashlib.shake_256(digest(secret, "bytes", data)).digest(size)


def permuted(secret: bytes, number: int, radix: int, width: int) -> int:
    """Another number of ``width`` digits to the base ``radix``; no two numbers get the same one."""
    if radix**width <= _FEW:
        return _sorted_by_digest(secret, radix**width)[number]
    limits = tuple(int(radix**size) for size in (width // 2, width - width // 2))
    left, right = divmod(number, limits[1])
    begun = _begun(secret, "number")
    for place in range(_ROUNDS):
        message = f"{radix} {width} {place} {right}".encode()
        step = int.from_bytes(_finished(begun, message))
        left, right = right, (left + step) % limits[place % 2]
    return left * limits[1] + right


def permuted_digits(secret: bytes, digits: str) -> str:
    """Other decimal digits, as many as before."""
    if not digits:
        return ""
    return str(permuted(secret, int(digits), 10, len(digits))).zfill(len(digits))


@lru_cache(maxsize=64)
def _sorted_by_digest(secret: bytes, count: int) -> tuple[int, ...]:
    digests = {
        number: digest(secret, "few", f"{count} {number}".encode()) for number in range(count)
    }
    return tuple(sorted(digests, key=digests.__getitem__))


def permuted_integer(secret: bytes, number: int) -> int:
    """An integer of the same sign, that needs the same type."""
    if number < 0:
        return -1 - permuted_integer(secret, -1 - number)
    least, bits = _place(number)
    while True:
        # Follows the cycle of the permutation back to numbers that need this type.
        number = permuted(secret, number, 2, bits)
        if number >= least:
            return number


def permuted_decimal(secret: bytes, number: int) -> int:
    """An integer of the same sign and as many decimal digits, that needs the same type."""
    size = abs(number)
    # Negative numbers count from -1: the least number of a type is -1 less its greatest.
    least, bits = _place(size - (number < 0))
    digits = str(size)
    while True:
        digits = permuted_digits(secret, digits)
        new = -int(digits) if number < 0 else int(digits)
        is_as_long = digits[0] != "0" or len(digits) == 1
        if is_as_long and least <= int(digits) - (number < 0) < 1 << bits:
            return new


def _place(number: int) -> tuple[int, int]:
    """The least number that needs the same type as this one, and the bits of that type."""
    bits = next((bits for bits in _SIGNED_BITS if number < 1 << bits), 64)
    place = (*_SIGNED_BITS, 64).index(bits)
    return (1 << _SIGNED_BITS[place - 1] if place else 0), bits
