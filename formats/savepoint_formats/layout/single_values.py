"""Nodes of single values. All numbers are big endian."""

from __future__ import annotations

from savepoint_formats.layout.node import Layout, node

# --- of one size


@node
class Boolean(Layout):
    """One byte; anything but 0 is true."""


@node
class Byte(Layout):
    """i8."""


@node
class Short(Layout):
    """i16."""


@node
class Int(Layout):
    """i32."""


@node
class Long(Layout):
    """i64."""


@node
class Float(Layout):
    """IEEE single."""


@node
class Double(Layout):
    """IEEE double."""


@node
class Char(Layout):
    """u16, a UTF-16 code unit."""


@node
class Enum(Layout):
    """i32; the constant's number. Without ``numbers`` it is the index in ``constants``."""

    class_name: str
    constants: tuple[str, ...]
    numbers: tuple[int, ...] = ()


@node
class JavaDate(Layout):
    """i64, milliseconds since the epoch; the smallest i64 is null."""


@node
class SqlTimestamp(Layout):
    """i64 milliseconds, i32 nanoseconds of the second; null is (smallest i64, 0)."""


@node
class Instant(Layout):
    """i64 seconds since the epoch, i32 nanoseconds; null is the smallest of both."""


@node
class LocalDate(Layout):
    """i32 year, i8 month, i8 day; null is (smallest i32, smallest i16)."""


@node
class SqlDate(Layout):
    """i32, days since the epoch."""


@node
class SqlTime(Layout):
    """i32, milliseconds of the day."""


@node
class LocalTime(Layout):
    """i8 hour, i8 minute, i8 second, i32 nanoseconds; null is (smallest i8, i16, i32)."""


@node
class LocalDateTime(Layout):
    """A ``LocalDate`` and a ``LocalTime``; both are null, or neither."""


@node
class TimerTimestamp(Layout):
    """i64 with its sign bit flipped; its bytes sort like times."""


@node
class TimestampData(Layout):
    """i64 milliseconds, then i32 nanoseconds of the millisecond if ``precision`` > 3."""

    precision: int


@node
class FixedBytes(Layout):
    """``size`` raw bytes."""

    size: int


@node
class Marker(Layout):
    """A value without content: the byte ``value``, or no byte at all.

    Always null; with a ``text``, always that text, such as ``()`` for Scala's Unit.
    """

    value: int | None = 0
    text: str | None = None


@node
class VoidNamespace(Layout):
    """One byte 0, although its serializer claims a length of 0."""


# --- of any size


@node
class Text(Layout):
    """varint of the UTF-16 code units + 1 (0 = null), then a varint per unit."""


@node
class MutableText(Layout):
    """varint of the UTF-16 code units, then a varint per unit."""


@node
class JavaUtf(Layout):
    """u16 size, modified UTF-8."""


@node
class Utf8(Layout):
    """i32 size, UTF-8."""


@node
class Bytes(Layout):
    """i32 size, raw bytes."""


@node
class Pickle(Layout):
    """i32 size, a pickle of Python.

    An open one may also hold bytes that are no pickle, up to the end of the frame around it.
    """

    is_open: bool = False


@node
class BigInteger(Layout):
    """i32: 0 null, 1 to 3 the constants 0, 1, 10; else size + 4, then two's complement."""


@node
class BigDecimal(Layout):
    """A ``BigInteger``, the unscaled value, then i32 scale unless it is null."""


@node
class DecimalData(Layout):
    """Unscaled value: i64 if ``precision`` <= 18, else i32 size and two's complement."""

    precision: int
    scale: int


@node
class Variant(Layout):
    """i32 value size, i32 metadata size, value, metadata; open variant encoding, version 1.

    In a row of SQL: i32 metadata size, metadata, value up to the end.
    """

    in_row: bool = False
