"""Keyed functions of values: digests by HMAC-SHA256, and permutations of numbers.

A permutation is a Feistel network over the digits of a number, in the manner of NIST's FF1, with
HMAC-SHA256 as its round function. Different numbers stay different, which a short digest can't
promise.
"""

from __future__ import annotations

import hashlib
import hmac

_ROUNDS = 8


def digest(secret: bytes, kind: str, data: bytes) -> bytes:
    """The HMAC of data; another ``kind`` gives other bytes."""
    return hmac.digest(secret, kind.encode() + b"\0" + data, "sha256")


def digest_of_size(secret: bytes, data: bytes, size: int) -> bytes:
    """``size`` bytes derived from the HMAC of data."""
    return hashlib.shake_256(digest(secret, "bytes", data)).digest(size)


def permuted(secret: bytes, number: int, radix: int, width: int) -> int:
    """Another number of ``width`` digits to the base ``radix``; no two numbers get the same one."""
    limits = tuple(int(radix**size) for size in (width // 2, width - width // 2))
    left, right = divmod(number, limits[1])
    for place in range(_ROUNDS):
        message = f"{radix} {width} {place} {right}".encode()
        step = int.from_bytes(digest(secret, "number", message))
        left, right = right, (left + step) % limits[place % 2]
    return left * limits[1] + right


def permuted_digits(secret: bytes, digits: str) -> str:
    """Other decimal digits, as many as before."""
    if not digits:
        return ""
    return str(permuted(secret, int(digits), 10, len(digits))).zfill(len(digits))


def permuted_integer(secret: bytes, number: int, bits: int) -> int:
    """An integer of the same sign; ``bits`` is the number of bits of its type."""
    if number < 0:
        return -1 - permuted(secret, -1 - number, 2, bits - 1)
    return permuted(secret, number, 2, bits - 1)


def permuted_decimal(secret: bytes, number: int, bits: int) -> int:
    """An integer of the same sign and as many decimal digits."""
    size = abs(number)
    digits = str(size)
    limit = 1 << (bits - 1)
    while True:
        # Follows the cycle of the permutation until the number fits the type.
        digits = permuted_digits(secret, digits)
        if (digits[0] != "0" or len(digits) == 1) and int(digits) < limit:
            return -int(digits) if number < 0 else int(digits)
