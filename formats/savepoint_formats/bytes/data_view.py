"""Checked views of bytes in Java's ``DataInput`` encoding, which is big endian.

Every read checks that its bytes exist. Every count is checked against the remaining bytes before it
decides a loop or an allocation. Errors name the path and the byte.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeVar

from savepoint_formats.errors import FormatError, TruncatedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SHORT = struct.Struct(">h")
_UNSIGNED_SHORT = struct.Struct(">H")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_FLOAT = struct.Struct(">f")
_DOUBLE = struct.Struct(">d")

_MAX_UTF_SIZE = 0xFFFF
_VARINT_BITS = 7
_VARINT_MORE = 0x80

ErrorT = TypeVar("ErrorT", bound=FormatError)


class DataInputView:
    """Reads values from a buffer in order; ``base`` is the offset of its first byte in ``path``."""

    __slots__ = ("base", "buffer", "end", "path", "position")

    def __init__(self, buffer: bytes | memoryview, path: str = "<bytes>", base: int = 0) -> None:
        self.buffer = memoryview(buffer)
        self.path = path
        self.base = base
        self.position = 0
        self.end = len(self.buffer)

    @property
    def remaining(self) -> int:
        """Number of remaining bytes."""
        return self.end - self.position

    @property
    def offset(self) -> int:
        """The position in the file."""
        return self.base + self.position

    def error(self, message: str, kind: Callable[[str, str, int], ErrorT] | None = None) -> ErrorT:
        """A ``FormatError``, or its subclass ``kind``, that names this place."""
        make = kind or FormatError
        return make(message, self.path, self.offset)  # type: ignore[return-value]

    def _advance(self, size: int) -> int:
        start = self.position
        if size > self.end - start:
            expected = f"the data ends after {self.remaining} bytes, expected {size} more"
            raise self.error(expected, TruncatedError)
        self.position = start + size
        return start

    def read_bytes(self, size: int) -> bytes:
        """``size`` raw bytes."""
        if size < 0:
            raise self.error(f"a size of {size} bytes")
        start = self._advance(size)
        return bytes(self.buffer[start : start + size])

    def read_view(self, size: int) -> DataInputView:
        """A view of the next ``size`` bytes; this view continues after them."""
        if size < 0:
            raise self.error(f"a size of {size} bytes")
        base = self.offset
        start = self._advance(size)
        return DataInputView(self.buffer[start : start + size], self.path, base)

    def read_rest(self) -> bytes:
        """All remaining bytes."""
        return self.read_bytes(self.remaining)

    def read_byte(self) -> int:
        value = self.read_unsigned_byte()
        return value - 256 if value > 127 else value

    def read_unsigned_byte(self) -> int:
        return self.buffer[self._advance(1)]

    def read_bool(self) -> bool:
        """One byte; as in Java, anything but 0 is true."""
        return self.read_unsigned_byte() != 0

    def read_strict_bool(self) -> bool:
        """One byte that is 0 or 1, as Flink writes it, so that a rewrite is exact."""
        value = self.buffer[self._advance(1)]
        if value > 1:
            self.position -= 1
            raise self.error(f"a boolean of {value}, expected 0 or 1")
        return value == 1

    def read_short(self) -> int:
        return int(_SHORT.unpack_from(self.buffer, self._advance(2))[0])

    def read_unsigned_short(self) -> int:
        return int(_UNSIGNED_SHORT.unpack_from(self.buffer, self._advance(2))[0])

    def read_int(self) -> int:
        return int(_INT.unpack_from(self.buffer, self._advance(4))[0])

    def peek_int(self) -> int:
        """The next i32, which stays unread."""
        value = self.read_int()
        self.position -= 4
        return value

    def read_long(self) -> int:
        return int(_LONG.unpack_from(self.buffer, self._advance(8))[0])

    def read_float(self) -> float:
        """An IEEE single."""
        return float(_FLOAT.unpack_from(self.buffer, self._advance(4))[0])

    def read_double(self) -> float:
        return float(_DOUBLE.unpack_from(self.buffer, self._advance(8))[0])

    def read_longs(self, count: int) -> tuple[int, ...]:
        start = self._advance(8 * count)
        return struct.unpack_from(f">{count}q", self.buffer, start)

    def read_count(self, element_size: int = 1) -> int:
        """An i32 that counts elements of at least ``element_size`` bytes each.

        Raises ``FormatError`` if it is negative or needs more bytes than remain.
        """
        count = self.read_int()
        if count < 0 or count * element_size > self.remaining:
            self.position -= 4
            raise self.error(
                f"a count of {count} elements of {element_size} bytes or more,"
                f" with {self.remaining - 4} bytes left"
            )
        return count

    def read_utf(self) -> str:
        """A string as ``DataOutput.writeUTF`` writes it: u16 size, modified UTF-8."""
        size = self.read_unsigned_short()
        return self.read_modified_utf8(size)

    def read_modified_utf8(self, size: int) -> str:
        """``size`` bytes of modified UTF-8: NUL is C0 80, surrogates are encoded one by one."""
        start = self.offset
        data = self.read_bytes(size)
        if data.isascii() and b"\x00" not in data:
            return data.decode("ascii")
        try:
            text = data.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
            return _join_surrogates(text)
        except UnicodeDecodeError as error:
            raise FormatError(f"not modified UTF-8: {error.reason}", self.path, start) from error

    def read_varint(self) -> int:
        """An unsigned LEB128 number of at most 32 bits."""
        value = shift = 0
        while True:
            byte = self.read_unsigned_byte()
            value |= (byte & ~_VARINT_MORE) << shift
            if byte < _VARINT_MORE:
                break
            shift += _VARINT_BITS
            if shift > 28:
                raise self.error("a variable-length number of more than 5 bytes")
        if value > 0xFFFFFFFF:
            raise self.error(f"a variable-length number of {value}, expected 32 bits")
        return value

    def read_string_value(self) -> str | None:
        """A string as ``StringValue.writeString`` writes it: varint units + 1, varint units."""
        count = self.read_varint() - 1
        if count < 0:
            return None
        return self.read_char_units(count)

    def read_char_units(self, count: int) -> str:
        """``count`` UTF-16 code units, each a variable-length number."""
        if count > self.remaining:
            raise self.error(f"a string of {count} characters, with {self.remaining} bytes left")
        ascii_data = self.buffer[self.position : self.position + count].tobytes()
        if ascii_data.isascii():
            self.position += count
            return ascii_data.decode("ascii")
        units = [self.read_varint() for _ in range(count)]
        if max(units) > 0xFFFF:
            raise self.error(f"a character of {max(units)}, expected 16 bits")
        return _join_surrogates("".join(map(chr, units)))

    def expect_end(self) -> None:
        """Raises ``FormatError`` if bytes remain."""
        if self.remaining:
            raise self.error(f"{self.remaining} bytes too many, expected the end")


class DataOutputView:
    """Writes values to a buffer; the mirror of ``DataInputView``."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def position(self) -> int:
        """Number of bytes written so far."""
        return len(self._buffer)

    def to_bytes(self) -> bytes:
        """All bytes written so far."""
        return bytes(self._buffer)

    def write_bytes(self, data: bytes | memoryview) -> None:
        self._buffer += data

    def write_byte(self, value: int) -> None:
        self._buffer.append(value & 0xFF)

    def write_bool(self, value: bool) -> None:
        self._buffer.append(1 if value else 0)

    def write_short(self, value: int) -> None:
        self._buffer += _SHORT.pack(value)

    def write_unsigned_short(self, value: int) -> None:
        self._buffer += _UNSIGNED_SHORT.pack(value)

    def write_int(self, value: int) -> None:
        self._buffer += _INT.pack(value)

    def write_long(self, value: int) -> None:
        self._buffer += _LONG.pack(value)

    def write_float(self, value: float) -> None:
        """An IEEE single."""
        self._buffer += _FLOAT.pack(value)

    def write_double(self, value: float) -> None:
        self._buffer += _DOUBLE.pack(value)

    def write_longs(self, values: Iterable[int]) -> None:
        for value in values:
            self.write_long(value)

    def write_utf(self, text: str) -> None:
        """A string as ``DataOutput.writeUTF`` writes it. Raises ``ValueError`` beyond 65,535 bytes."""
        data = modified_utf8(text)
        if len(data) > _MAX_UTF_SIZE:
            raise ValueError(f"a string of {len(data)} bytes, expected {_MAX_UTF_SIZE} at most")
        self.write_unsigned_short(len(data))
        self.write_bytes(data)

    def write_varint(self, value: int) -> None:
        """An unsigned LEB128 number."""
        while value >= _VARINT_MORE:
            self._buffer.append(value & 0x7F | _VARINT_MORE)
            value >>= _VARINT_BITS
        self._buffer.append(value)

    def write_string_value(self, text: str | None) -> None:
        """A string as ``StringValue.writeString`` writes it."""
        if text is None:
            self.write_varint(0)
            return
        units = utf16_units(text)
        self.write_varint(len(units) + 1)
        for unit in units:
            self.write_varint(unit)


def utf16_units(text: str) -> tuple[int, ...]:
    """The UTF-16 code units of ``text``, lone surrogates included."""
    data = text.encode("utf-16-be", "surrogatepass")
    return struct.unpack(f">{len(data) // 2}H", data)


def modified_utf8(text: str) -> bytes:
    """``text`` in Java's modified UTF-8, without a size."""
    if text.isascii() and "\x00" not in text:
        return text.encode("ascii")
    units = "".join(map(chr, utf16_units(text)))
    return units.encode("utf-8", "surrogatepass").replace(b"\x00", b"\xc0\x80")


def _join_surrogates(text: str) -> str:
    """Replaces surrogate pairs with their characters."""
    data = text.encode("utf-16-be", "surrogatepass")
    return data.decode("utf-16-be", "surrogatepass")
