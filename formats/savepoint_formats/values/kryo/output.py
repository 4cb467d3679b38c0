"""Kryo's numbers and texts as bytes, in both versions: the mirror of ``input``.

A text of ASCII is written as its characters if it has at least two, and at most 63 in 2.24 or 32 in
5.6. The name of a class may have any number in 5.6.

Kryo: ``Output``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import utf16_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.bytes.data_view import DataOutputView

_MORE = 0x80
_LAST_ASCII = 0x80
_FLAG = 0x80
_MORE_FLAGGED = 0x40
_LEAST_ASCII = 2
_MOST_ASCII_OF_2 = 63
_MOST_ASCII_OF_5 = 32
_UINT = (1 << 32) - 1
_ULONG = (1 << 64) - 1


class KryoOutput:
    """Writes numbers and texts to a view."""

    __slots__ = ("_most_ascii", "_order", "view")

    def __init__(self, view: DataOutputView, *, is_5: bool) -> None:
        self.view = view
        self._order = "<" if is_5 else ">"
        self._most_ascii = _MOST_ASCII_OF_5 if is_5 else _MOST_ASCII_OF_2

    def write_varint(self, value: int) -> None:
        """An unsigned number of 32 bits, or the bits of an i32."""
        self.view.write_varint(value & _UINT)

    def write_int(self, value: int) -> None:
        """An i32 in zigzag."""
        self.write_varint(value << 1 ^ value >> 31)

    def write_varlong(self, value: int) -> None:
        """The bits of an i64; the ninth byte has eight of them."""
        number = value & _ULONG
        for _ in range(8):
            if number < _MORE:
                self.view.write_bytes(bytes([number]))
                return
            self.view.write_bytes(bytes([number & 0x7F | _MORE]))
            number >>= 7
        self.view.write_bytes(bytes([number]))

    def write_long(self, value: int) -> None:
        """An i64 in zigzag."""
        self.write_varlong(value << 1 ^ value >> 63)

    def write_flagged(self, number: int, *, flag: bool) -> None:
        """A flag and an unsigned number."""
        first = number & 0x3F | (_FLAG if flag else 0)
        rest = number >> 6
        self.view.write_bytes(bytes([first | (_MORE_FLAGGED if rest else 0)]))
        if rest:
            self.view.write_varint(rest)

    def write_fixed(self, code: str, value: float) -> None:
        """A number of ``struct``'s format ``code``."""
        self.view.write_bytes(struct.pack(self._order + code, value))

    def write_fixed_array(self, code: str, values: Sequence[float]) -> None:
        """Several numbers of the format."""
        self.view.write_bytes(struct.pack(f"{self._order}{len(values)}{code}", *values))

    def write_text(self, text: str | None) -> None:
        """A text or null."""
        if text is None:
            self.write_flagged(0, flag=True)
        elif _LEAST_ASCII <= len(text) <= self._most_ascii and text.isascii():
            self._write_ascii(text)
        else:
            self.write_units(text)

    def write_units(self, text: str) -> None:
        """A text by its UTF-16 units, even if it is ASCII."""
        units = utf16_units(text)
        self.write_flagged(len(units) + 1, flag=True)
        self.view.write_bytes(b"".join(map(_unit, units)))

    def write_class_name(self, name: str) -> None:
        """The name of a class."""
        if self._order == "<" and len(name) >= _LEAST_ASCII and name.isascii():
            self._write_ascii(name)
        else:
            self.write_text(name)

    def _write_ascii(self, text: str) -> None:
        data = bytearray(text.encode("ascii"))
        data[-1] |= _LAST_ASCII
        self.view.write_bytes(bytes(data))


def _unit(unit: int) -> bytes:
    if unit < 0x80:
        return bytes([unit])
    if unit < 0x800:
        return bytes([0xC0 | unit >> 6, 0x80 | unit & 0x3F])
    return bytes([0xE0 | unit >> 12, 0x80 | unit >> 6 & 0x3F, 0x80 | unit & 0x3F])
