"""Ids of operators, which ``_metadata`` stores instead of uids.

An id is the 128-bit MurmurHash3 (x64 variant, seed 0) of the uid's UTF-8 bytes. The id of an operator
without a uid depends on the job graph.

Flink: ``StreamGraphHasherV2``, ``OperatorID``.
"""

from __future__ import annotations

import struct
from typing import ClassVar, Self

_WORD = 0xFFFFFFFFFFFFFFFF
_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F


class OperatorId(bytes):
    """16 bytes; the text is the hexadecimal form that Flink prints and ``setUidHash`` takes."""

    __slots__ = ()

    SIZE: ClassVar[int] = 16

    def __new__(cls, data: bytes) -> Self:
        if len(data) != cls.SIZE:
            raise ValueError(f"an operator id of {len(data)} bytes, expected {cls.SIZE}")
        return super().__new__(cls, data)

    @classmethod
    def from_uid(cls, uid: str) -> Self:
        """The id of a uid. Raises ``TypeError`` if it isn't a text, ``ValueError`` if it is empty."""
        if not isinstance(uid, str):
            raise TypeError(f"a uid is {uid!r}, expected a text such as 'summarize'")
        if not uid:
            raise ValueError("a uid is empty, expected a text such as 'summarize'")
        return cls(murmur3_128(uid.encode("utf-8")))

    @classmethod
    def from_hex(cls, text: str) -> Self:
        """The id of 32 hexadecimal digits."""
        try:
            return cls(bytes.fromhex(text))
        except ValueError as error:
            raise ValueError(f"{text!r} is not an operator id, expected 32 hex digits") from error

    def __str__(self) -> str:
        return self.hex()

    def __repr__(self) -> str:
        return f"OperatorId.from_hex({self.hex()!r})"


def murmur3_128(data: bytes) -> bytes:
    """MurmurHash3 of 128 bits, x64 variant, seed 0; both halves little endian."""
    h1 = h2 = 0
    block_end = len(data) & ~15
    for k1, k2 in struct.iter_unpack("<QQ", data[:block_end]):
        h1 ^= _mix_low(k1)
        h1 = ((_rotate(h1, 27) + h2) * 5 + 0x52DCE729) & _WORD
        h2 ^= _mix_high(k2)
        h2 = ((_rotate(h2, 31) + h1) * 5 + 0x38495AB5) & _WORD
    tail = data[block_end:].ljust(16, b"\0")
    # An absent tail is a tail of zeros: both mix to 0.
    h1 ^= _mix_low(int.from_bytes(tail[:8], "little")) ^ len(data)
    h2 ^= _mix_high(int.from_bytes(tail[8:], "little")) ^ len(data)
    h1 = (h1 + h2) & _WORD
    h2 = (h2 + h1) & _WORD
    h1, h2 = _finish(h1), _finish(h2)
    h1 = (h1 + h2) & _WORD
    h2 = (h2 + h1) & _WORD
    return struct.pack("<QQ", h1, h2)


def _mix_low(k: int) -> int:
    return _rotate(k * _C1 & _WORD, 31) * _C2 & _WORD


def _mix_high(k: int) -> int:
    return _rotate(k * _C2 & _WORD, 33) * _C1 & _WORD


def _finish(h: int) -> int:
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & _WORD
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & _WORD
    return h ^ h >> 33


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) & _WORD
