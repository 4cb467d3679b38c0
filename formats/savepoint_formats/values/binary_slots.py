"""Single values in the slots of binary rows and arrays, or behind all slots.

| slot of                                     | bytes                                             |
|---------------------------------------------|---------------------------------------------------|
| text and bytes up to 7                      | the bytes, last byte 0x80 + size                  |
| longer ones, rows, arrays, maps, RAW        | u32 size, u32 offset                              |
| DECIMAL up to 18 digits                     | i64 unscaled                                      |
| DECIMAL above                               | u32 size, u32 offset of 16 bytes: two's complement|
|                                             | big endian, then zeros                            |
| VARIANT                                     | u32 size, u32 offset of i32 metadata size (big    |
|                                             | endian), metadata, value                          |
| TIMESTAMP up to 3 digits                    | i64 milliseconds                                  |
| TIMESTAMP above                             | u32 nanoseconds of the millisecond, u32 offset of |
|                                             | i64 milliseconds                                  |

Offsets count from the first byte of the row or array. ``RowDataSerializer`` writes zeros into the slot
of a null; generated code still reserves the variable part of long decimals and timestamps.

Flink: ``BinaryWriter``.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import TruncatedError, UndecodableError, ValueOutOfRangeError
from savepoint_formats.values.kinds import moments, times, unbounded
from savepoint_formats.values.kinds.codec import fitting
from savepoint_formats.values.kinds.scalars import canonical, unscaled_at
from savepoint_formats.values.kinds.texts import utf8_text

if TYPE_CHECKING:
    from savepoint_formats.layout import LogicalType
    from savepoint_formats.values.kinds.codec import Value

SLOT = 8
_INLINE = 0x80
_MAX_INLINE_SIZE = 7
_MAX_LONG_DIGITS = 18
_DECIMAL_SIZE = 16
_MILLIS_PER_DAY = 86_400_000

NUMBERS: dict[str, struct.Struct] = {
    "BOOLEAN": struct.Struct("<?"),
    "TINYINT": struct.Struct("<b"),
    "SMALLINT": struct.Struct("<h"),
    "INTEGER": struct.Struct("<i"),
    "DATE": struct.Struct("<i"),
    "TIME_WITHOUT_TIME_ZONE": struct.Struct("<i"),
    "INTERVAL_YEAR_MONTH": struct.Struct("<i"),
    "BIGINT": struct.Struct("<q"),
    "INTERVAL_DAY_TIME": struct.Struct("<q"),
    "FLOAT": struct.Struct("<f"),
    "DOUBLE": struct.Struct("<d"),
}
_LONG = struct.Struct("<q")
_TWO_INTS = struct.Struct("<II")
_TEXTS = ("CHAR", "VARCHAR")
_BYTES = ("BINARY", "VARBINARY")
_TIMESTAMPS = ("TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP_WITH_LOCAL_TIME_ZONE")
SINGLE_ROOTS = frozenset([*NUMBERS, *_TEXTS, *_BYTES, *_TIMESTAMPS, "DECIMAL"])


def read_single(sql: LogicalType, data: DataInputView, position: int) -> Value:
    """The value of a slot."""
    if sql.root in _TEXTS:
        return utf8_text(_inline_or_far(data, position))
    if sql.root in _BYTES:
        return _inline_or_far(data, position).read_rest()
    if sql.root == "DECIMAL":
        return _read_decimal(sql, data, position)
    if sql.root in _TIMESTAMPS:
        return _read_timestamp(sql, data, position)
    return _read_number(sql, data, position)


def write_single(sql: LogicalType, value: Value, data: bytearray, position: int) -> None:
    """The mirror of ``read_single``."""
    if sql.root in _TEXTS:
        _write_inline_or_far(_fitting(sql, value).encode("utf-8"), data, position)
    elif sql.root in _BYTES:
        _write_inline_or_far(_fitting(sql, value), data, position)
    elif sql.root == "DECIMAL":
        _write_decimal(sql, value, data, position)
    elif sql.root in _TIMESTAMPS:
        _write_timestamp(sql, value, data, position)
    else:
        _write_number(sql, value, data, position)


def _fitting(sql: LogicalType, value: Value) -> Value:
    """The text or bytes, if they fit into the type; a length of 0 is unknown."""
    if sql.length and len(value) > sql.length:
        unit = "characters" if isinstance(value, str) else "bytes"
        raise ValueError(f"{len(value)} {unit}, where the type has {sql.length}")
    return value


def _read_number(sql: LogicalType, data: DataInputView, position: int) -> Value:
    number = NUMBERS.get(sql.root)
    if number is None:
        raise data.error(f"a value of type {sql.root}, which no row stores", UndecodableError)
    (value,) = number.unpack_from(data.buffer, position)
    match sql.root:
        case "DATE":
            return times.to_date(value)
        case "TIME_WITHOUT_TIME_ZONE":
            if not 0 <= value < _MILLIS_PER_DAY:
                raise data.error(f"{value} ms is no time of a day", ValueOutOfRangeError)
            return times.to_time(value)
        case "INTERVAL_DAY_TIME":
            return times.to_duration(value)
        case _:
            return value


def _write_number(sql: LogicalType, value: Value, data: bytearray, position: int) -> None:
    match sql.root:
        case "DATE":
            value = times.from_date(value)
        case "TIME_WITHOUT_TIME_ZONE":
            value = times.from_time(value, "ms")
        case "INTERVAL_DAY_TIME":
            value = times.from_duration(value, "ms")
        case "FLOAT" | "DOUBLE":
            value = canonical(value)
    number = NUMBERS[sql.root]
    if number.format not in ("<?", "<f", "<d"):
        value = fitting(value, number.size * 8)
    try:
        number.pack_into(data, position, value)
    except OverflowError as error:
        raise ValueError(f"{value} does not fit into a {sql.root}") from error


def _read_decimal(sql: LogicalType, data: DataInputView, position: int) -> Value:
    if sql.precision <= _MAX_LONG_DIGITS:
        (unscaled,) = _LONG.unpack_from(data.buffer, position)
    else:
        unscaled = unbounded.from_twos_complement(far_value(data, position).read_rest())
    if abs(unscaled) >= 10**sql.precision:
        raise data.error(f"a decimal of more than {sql.precision} digits", ValueOutOfRangeError)
    return unbounded.decimal(unscaled, sql.scale)


def _write_decimal(sql: LogicalType, value: Value, data: bytearray, position: int) -> None:
    unscaled = unscaled_at(value, sql.precision, sql.scale)
    if sql.precision <= _MAX_LONG_DIGITS:
        _LONG.pack_into(data, position, unscaled)
        return
    content = unbounded.twos_complement(unscaled)
    _TWO_INTS.pack_into(data, position, len(content), len(data))
    data += content.ljust(_DECIMAL_SIZE, b"\0")


def _read_timestamp(sql: LogicalType, data: DataInputView, position: int) -> Value:
    if sql.precision <= 3:
        (millis,), nanos = _LONG.unpack_from(data.buffer, position), 0
    else:
        nanos, offset = _TWO_INTS.unpack_from(data.buffer, position)
        (millis,) = _LONG.unpack(range_of(data, offset, _LONG.size).buffer)
    is_utc = sql.root == "TIMESTAMP_WITH_LOCAL_TIME_ZONE"
    return moments.timestamp_of(millis, nanos, sql.precision, data, is_utc=is_utc)


def _write_timestamp(sql: LogicalType, value: Value, data: bytearray, position: int) -> None:
    millis, nanos = moments.millis_and_nanos(value, sql.precision)
    content = _LONG.pack(fitting(millis, 64))
    if sql.precision <= 3:
        data[position : position + SLOT] = content
    else:
        _TWO_INTS.pack_into(data, position, nanos, len(data))
        data += content


def _inline_or_far(data: DataInputView, position: int) -> DataInputView:
    """The bytes of a value: up to seven in its slot, or more behind all slots."""
    last = data.buffer[position + SLOT - 1]
    if not last & _INLINE:
        return far_value(data, position)
    size = last & ~_INLINE
    if size > _MAX_INLINE_SIZE:
        raise data.error(f"an inline value of {size} bytes, expected 7 at most")
    return range_of(data, position, size)


def _write_inline_or_far(content: bytes, data: bytearray, position: int) -> None:
    if len(content) > _MAX_INLINE_SIZE:
        write_far(content, data, position)
        return
    data[position : position + len(content)] = content
    data[position + SLOT - 1] = _INLINE | len(content)


def far_value(data: DataInputView, position: int) -> DataInputView:
    """The bytes whose size and offset are in a slot."""
    size, offset = _TWO_INTS.unpack_from(data.buffer, position)
    return range_of(data, offset, size)


def write_far(content: bytes, data: bytearray, position: int) -> None:
    """Writes bytes behind all slots, and their size and offset into a slot."""
    _TWO_INTS.pack_into(data, position, len(content), len(data))
    data += content.ljust(padded(len(content)), b"\0")


def range_of(data: DataInputView, offset: int, size: int) -> DataInputView:
    """The bytes of a range, if it lies in the data."""
    if not 0 <= offset <= offset + size <= data.end:
        raise data.error(
            f"a value of {size} bytes at {offset}, in {data.end} bytes", TruncatedError
        )
    return DataInputView(data.buffer[offset : offset + size], data.path, data.base + offset)


def padded(size: int) -> int:
    """A size, rounded up to whole slots."""
    return (size + SLOT - 1) // SLOT * SLOT
