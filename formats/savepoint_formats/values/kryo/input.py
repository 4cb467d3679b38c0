"""Kryo's numbers and texts, in both versions.

| name         | bytes                                                                            |
|--------------|----------------------------------------------------------------------------------|
| varint       | 7 bits per byte, lowest first, highest bit = more; at most 5                     |
| varlong      | likewise, at most 9 bytes; the ninth has 8 bits                                  |
| zigzag       | either of them, with the sign in the lowest bit                                  |
| flagged      | flag in the highest bit of the first byte, "more" in the next, then 6 bits       |
| text         | all ASCII: characters, highest bit in the last; else a flagged number, flag set: |
|              | UTF-16 units + 1 (0 is null), then 1 to 3 bytes of UTF-8 per unit                |
| fixed number | big endian in 2.24, little endian in 5.6                                         |

Kryo: ``Input``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataInputView

_MORE = 0x80
_MORE_FLAGGED = 0x40
_LAST_ASCII = 0x80
_FIXED_SIZES = {"h": 2, "H": 2, "i": 4, "q": 8, "f": 4, "d": 8}


class KryoInput:
    """Reads numbers and texts from a view."""

    __slots__ = ("_order", "view")

    def __init__(self, view: DataInputView, *, is_little_endian: bool) -> None:
        self.view = view
        self._order = "<" if is_little_endian else ">"

    def read_varint(self) -> int:
        """An unsigned number of 32 bits."""
        return self.view.read_varint()

    def read_int(self) -> int:
        """An i32 in zigzag."""
        return _unzigzag(self.view.read_varint())

    def read_signed_varint(self) -> int:
        """An i32 whose bits are those of an unsigned varint."""
        number = self.view.read_varint()
        return number - (1 << 32) if number >> 31 else number

    def read_varlong(self) -> int:
        """An i64 whose bits are those of an unsigned varlong."""
        number = self._read_unsigned_long()
        return number - (1 << 64) if number >> 63 else number

    def read_long(self) -> int:
        """An i64 in zigzag."""
        return _unzigzag(self._read_unsigned_long())

    def _read_unsigned_long(self) -> int:
        number = 0
        for shift in range(0, 56, 7):
            byte = self.view.read_unsigned_byte()
            number |= (byte & ~_MORE) << shift
            if byte < _MORE:
                return number
        return number | self.view.read_unsigned_byte() << 56

    def read_flagged(self) -> tuple[bool, int]:
        """A flag and an unsigned number."""
        first = self.view.read_unsigned_byte()
        number = first & 0x3F
        if first & _MORE_FLAGGED:
            number |= self.view.read_varint() << 6
        return first & 0x80 != 0, number

    def read_count(self, more: int = 1) -> int | None:
        """A varint of a count + 1, 0 for null; each element has at least ``more`` bytes."""
        number = self.read_varint()
        return self.check_count(number - 1, more) if number else None

    def check_count(self, count: int, size: int = 1) -> int:
        """The count, if the remaining bytes can hold that many elements of this size."""
        if count * size > self.view.remaining:
            left = self.view.remaining
            raise self.view.error(f"a count of {count} elements, with {left} bytes left")
        return count

    def read_fixed(self, code: str) -> int | float:
        """A number of ``struct``'s format ``code``."""
        (number,) = struct.unpack(self._order + code, self.view.read_bytes(_FIXED_SIZES[code]))
        return number  # type: ignore[no-any-return]

    def read_fixed_array(self, code: str, count: int) -> list[int | float]:
        """Several numbers of the format."""
        data = self.view.read_bytes(_FIXED_SIZES[code] * count)
        return list(struct.unpack(f"{self._order}{count}{code}", data))

    def read_text(self) -> str | None:
        """A text or null."""
        first = self.view.buffer[self.view.position] if self.view.remaining else 0
        if first & 0x80:
            _, count = self.read_flagged()
            return self._read_units(count - 1) if count else None
        return self._read_ascii()

    def _read_ascii(self) -> str:
        view = self.view
        start = view.position
        while view.read_unsigned_byte() < _LAST_ASCII:
            pass
        return bytes(byte & 0x7F for byte in view.buffer[start : view.position]).decode("ascii")

    def _read_units(self, count: int) -> str:
        self.check_count(count)
        units = [self._read_unit() for _ in range(count)]
        data = struct.pack(f">{count}H", *units)
        return data.decode("utf-16-be", "surrogatepass")

    def _read_unit(self) -> int:
        byte = self.view.read_unsigned_byte()
        if byte < 0x80:
            return byte
        if byte >> 5 == 0b110:
            return (byte & 0x1F) << 6 | self._read_continuation()
        if byte >> 4 == 0b1110:
            high = (byte & 0x0F) << 12 | self._read_continuation() << 6
            return high | self._read_continuation()
        self.view.position -= 1
        raise self.view.error(f"a byte of {byte:#x} in a text")

    def _read_continuation(self) -> int:
        return self.view.read_unsigned_byte() & 0x3F


def _unzigzag(number: int) -> int:
    return number >> 1 ^ -(number & 1)
