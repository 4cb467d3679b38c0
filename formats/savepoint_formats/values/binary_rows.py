"""The content of SQL's binary rows, arrays and maps. Their own numbers are little endian.

Row: | nulls | slot x fields | variable part |

| part          | bytes                                                                           |
|---------------|---------------------------------------------------------------------------------|
| nulls         | whole longs: 8 bits of row kind, then a bit per field, lowest first; 1 is null  |
| slot          | 8 bytes; numbers in the low ones, else where the value lies in the variable part|
| variable part | values, each padded to whole longs                                              |

Array: | i32 n | nulls in whole ints | element x n, padded to whole longs | variable part |,
with slots of the element's own size. Map: | i32 size of the key array | keys | values |.

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

Offsets count from the first byte of the row or array. A null's slot is zero as ``RowDataSerializer``
writes it; generated code reserves the variable part of long decimals and timestamps all the same.

Flink: ``BinaryRowData``, ``BinaryArrayData``, ``BinaryRowWriter``, ``BinaryArrayWriter``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.errors import TruncatedError, UndecodableError, ValueOutOfRangeError
from savepoint_formats.layout import LogicalType
from savepoint_formats.values.arrow_types import ROW_KINDS
from savepoint_formats.values.binary_pieces import (
    SLOT,
    inline_or_piece,
    padded,
    piece,
    slot_piece,
    write_inline_or_piece,
    write_piece,
)
from savepoint_formats.values.kinds import moments, times, unbounded
from savepoint_formats.values.kinds.codec import MAX_DEPTH, NullError, fitting
from savepoint_formats.values.kinds.scalars import canonical, unscaled_at
from savepoint_formats.values.kinds.texts import utf8_text
from savepoint_formats.values.map_entries import pairs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.layout import Layout
    from savepoint_formats.values.kinds.codec import Value

    WritePiece = Callable[[Layout, Value], bytes]

_KIND_BITS = 8
_WORD_BITS = 64
_MAX_LONG_DIGITS = 18
_DECIMAL_SIZE = 16
_MILLIS_PER_DAY = 86_400_000

_NUMBERS: dict[str, struct.Struct] = {
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
_INT = struct.Struct("<i")
_TWO_INTS = struct.Struct("<II")
_TIMESTAMPS = ("TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP_WITH_LOCAL_TIME_ZONE")
_COUNTS = LogicalType("INTEGER", is_nullable=False)


def null_size(arity: int) -> int:
    """The bytes of row kind and null bits."""
    return (arity + _KIND_BITS + _WORD_BITS - 1) // _WORD_BITS * 8


@dataclass(frozen=True, slots=True)
class Nesting:
    """Where a section is read.

    Attributes:
        read_piece: Reads a value of another serializer, which fills the view.
        depth: How many sections are around it.
    """

    read_piece: Callable[[Layout, DataInputView], Value]
    depth: int = 0

    def deeper(self) -> Nesting:
        """That of a section inside."""
        return Nesting(self.read_piece, self.depth + 1)


def read_row(types: Sequence[LogicalType], row: DataInputView, nesting: Nesting) -> list[Value]:
    """The fields of the row that fills the view; the row's kind is behind them."""
    _check_depth(nesting.depth, row)
    nulls = null_size(len(types))
    _check_size(row, nulls + SLOT * len(types))
    kind = row.buffer[0]
    if kind >= len(ROW_KINDS):
        raise row.error(f"a row of kind {kind}, expected 0 to 3")
    fields = [
        None
        if _bit(row.buffer, index + _KIND_BITS)
        else _read_slot(sql_type, row, nulls + SLOT * index, nesting)
        for index, sql_type in enumerate(types)
    ]
    return [*fields, ROW_KINDS[kind]]


def write_row(
    types: Sequence[LogicalType],
    fields: Sequence[Value],
    write_piece_of: WritePiece,
    kind: str = "+I",
) -> bytes:
    """The mirror of ``read_row``, as ``RowDataSerializer`` writes a row."""
    nulls = null_size(len(types))
    row = bytearray(nulls + SLOT * len(types))
    row[0] = ROW_KINDS.index(kind)
    for index, (sql_type, value) in enumerate(zip(types, fields, strict=True)):
        if value is None:
            _set_null(sql_type, row, index + _KIND_BITS)
        else:
            _write_slot(sql_type, value, row, nulls + SLOT * index, write_piece_of)
    return bytes(row)


def read_array(element: LogicalType, array: DataInputView, nesting: Nesting) -> list[Value]:
    """The elements of the array that fills the view."""
    _check_depth(nesting.depth, array)
    _check_size(array, 4)
    (count,) = _INT.unpack_from(array.buffer)
    start = 4 + (count + 31) // 32 * 4
    size = element_size(element)
    if count < 0:
        raise array.error(f"an array of {count} elements")
    _check_size(array, start + size * count)
    return [
        None
        if _bit(array.buffer, index + 32)
        else _read_slot(element, array, start + size * index, nesting)
        for index in range(count)
    ]


def write_array(element: LogicalType, values: Sequence[Value], write_piece_of: WritePiece) -> bytes:
    """The mirror of ``read_array``."""
    start = 4 + (len(values) + 31) // 32 * 4
    size = element_size(element)
    array = bytearray(padded(start + size * len(values)))
    _INT.pack_into(array, 0, len(values))
    for index, value in enumerate(values):
        if value is None:
            _set_null(element, array, index + 32)
        else:
            _write_slot(element, value, array, start + size * index, write_piece_of)
    return bytes(array)


def read_map(
    key: LogicalType, value: LogicalType, entries: DataInputView, nesting: Nesting
) -> list[tuple[Value, Value]]:
    """The entries of the map that fills the view."""
    _check_size(entries, 4)
    (key_size,) = _INT.unpack_from(entries.buffer)
    keys = read_array(key, piece(entries, 4, key_size), nesting)
    rest = entries.end - 4 - key_size
    values = read_array(value, piece(entries, 4 + key_size, rest), nesting)
    if len(keys) != len(values):
        raise entries.error(f"a map of {len(keys)} keys and {len(values)} values")
    if None in keys:
        raise entries.error("a map with a null key, which Arrow's maps have not", UndecodableError)
    return list(zip(keys, values, strict=True))


def write_map(
    key: LogicalType,
    value: LogicalType,
    entries: Iterable[tuple[Value, Value]],
    write_piece_of: WritePiece,
) -> bytes:
    """The mirror of ``read_map``."""
    pairs = list(entries)
    keys = write_array(key, [key for key, _ in pairs], write_piece_of)
    values = write_array(value, [value for _, value in pairs], write_piece_of)
    return _INT.pack(len(keys)) + keys + values


def element_size(element: LogicalType) -> int:
    """The bytes of an array's slot."""
    number = _NUMBERS.get(_stored(element).root)
    return number.size if number else SLOT


def _read_slot(sql: LogicalType, section: DataInputView, position: int, nesting: Nesting) -> Value:
    match sql.root, sql.children:
        case (("CHAR" | "VARCHAR"), _):
            return utf8_text(inline_or_piece(section, position))
        case (("BINARY" | "VARBINARY"), _):
            return inline_or_piece(section, position).read_rest()
        case "DECIMAL", _:
            return _read_decimal(sql, section, position)
        case root, _ if root in _TIMESTAMPS:
            return _read_timestamp(sql, section, position)
        case (("ROW" | "STRUCTURED_TYPE"), types):
            return _read_nested_row(sql, types, slot_piece(section, position), nesting)
        case "ARRAY", (element,):
            return read_array(element, slot_piece(section, position), nesting.deeper())
        case "MAP", (key, value):
            return read_map(key, value, slot_piece(section, position), nesting.deeper())
        case "MULTISET", (element,):
            return read_map(element, _COUNTS, slot_piece(section, position), nesting.deeper())
        case "DISTINCT_TYPE", (source,):
            return _read_slot(source, section, position, nesting.deeper())
        case _ if sql.piece is not None:
            return nesting.read_piece(sql.piece, slot_piece(section, position))
        case _:
            return _read_number(sql, section, position)


def _write_slot(
    sql: LogicalType, value: Value, section: bytearray, position: int, write_piece_of: WritePiece
) -> None:
    match sql.root, sql.children:
        case (("CHAR" | "VARCHAR"), _):
            write_inline_or_piece(_fitting(sql, value).encode("utf-8"), section, position)
        case (("BINARY" | "VARBINARY"), _):
            write_inline_or_piece(_fitting(sql, value), section, position)
        case "DECIMAL", _:
            _write_decimal(sql, value, section, position)
        case root, _ if root in _TIMESTAMPS:
            _write_timestamp(sql, value, section, position)
        case "DISTINCT_TYPE", (source,):
            _write_slot(source, value, section, position, write_piece_of)
        case root, _ if root in _NUMBERS:
            _write_number(sql, value, section, position)
        case _:
            write_piece(_piece_bytes(sql, value, write_piece_of), section, position)


def _piece_bytes(sql: LogicalType, value: Value, write_piece_of: WritePiece) -> bytes:
    """The bytes of a value that lies in a piece of its own, whatever its size."""
    match sql.root, sql.children:
        case (("ROW" | "STRUCTURED_TYPE"), types):
            return write_row(types, [value[name] for name in sql.names], write_piece_of)
        case "ARRAY", (element,):
            return write_array(element, value, write_piece_of)
        case "MAP", (key, item):
            return write_map(key, item, pairs_of(value), write_piece_of)
        case "MULTISET", (element,):
            return write_map(element, _COUNTS, pairs_of(value), write_piece_of)
        case _ if sql.piece is not None:
            return write_piece_of(sql.piece, value)
        case root, _:
            raise ValueError(f"a value of type {root}, which no row stores")


def _fitting(sql: LogicalType, value: Value) -> Value:
    """The text or the bytes; 0 is a length that nobody knows."""
    if sql.length and len(value) > sql.length:
        unit = "characters" if isinstance(value, str) else "bytes"
        raise ValueError(f"{len(value)} {unit}, where the type has {sql.length}")
    return value


# --- slots ------------------------------------------------------------------------------------


def _read_number(sql: LogicalType, section: DataInputView, position: int) -> Value:
    number = _NUMBERS.get(sql.root)
    if number is None:
        raise section.error(f"a value of type {sql.root}, which no row stores", UndecodableError)
    (value,) = number.unpack_from(section.buffer, position)
    match sql.root:
        case "DATE":
            return times.to_date(value)
        case "TIME_WITHOUT_TIME_ZONE":
            if not 0 <= value < _MILLIS_PER_DAY:
                raise section.error(f"{value} ms is no time of a day", ValueOutOfRangeError)
            return times.to_time(value)
        case "INTERVAL_DAY_TIME":
            return times.to_duration(value)
        case _:
            return value


def _write_number(sql: LogicalType, value: Value, section: bytearray, position: int) -> None:
    match sql.root:
        case "DATE":
            value = times.from_date(value)
        case "TIME_WITHOUT_TIME_ZONE":
            value = times.from_time(value, "ms")
        case "INTERVAL_DAY_TIME":
            value = times.from_duration(value, "ms")
        case "FLOAT" | "DOUBLE":
            value = canonical(value)
    number = _NUMBERS[sql.root]
    if number.format not in ("<?", "<f", "<d"):
        value = fitting(value, number.size * 8)
    try:
        number.pack_into(section, position, value)
    except OverflowError as error:
        raise ValueError(f"{value} does not fit into a {sql.root}") from error


def _read_decimal(sql: LogicalType, section: DataInputView, position: int) -> Value:
    if sql.precision <= _MAX_LONG_DIGITS:
        (unscaled,) = _LONG.unpack_from(section.buffer, position)
    else:
        unscaled = unbounded.from_twos_complement(slot_piece(section, position).read_rest())
    if abs(unscaled) >= 10**sql.precision:
        raise section.error(f"a decimal of more than {sql.precision} digits", ValueOutOfRangeError)
    return unbounded.decimal(unscaled, sql.scale)


def _write_decimal(sql: LogicalType, value: Value, section: bytearray, position: int) -> None:
    unscaled = unscaled_at(value, sql.precision, sql.scale)
    if sql.precision <= _MAX_LONG_DIGITS:
        _LONG.pack_into(section, position, unscaled)
        return
    data = unbounded.twos_complement(unscaled)
    _TWO_INTS.pack_into(section, position, len(data), len(section))
    section += data.ljust(_DECIMAL_SIZE, b"\0")


def _read_timestamp(sql: LogicalType, section: DataInputView, position: int) -> Value:
    if sql.precision <= 3:
        (millis,), nanos = _LONG.unpack_from(section.buffer, position), 0
    else:
        nanos, offset = _TWO_INTS.unpack_from(section.buffer, position)
        (millis,) = _LONG.unpack(piece(section, offset, _LONG.size).buffer)
    is_utc = sql.root == "TIMESTAMP_WITH_LOCAL_TIME_ZONE"
    return moments.timestamp_of(millis, nanos, sql.precision, section, is_utc=is_utc)


def _write_timestamp(sql: LogicalType, value: Value, section: bytearray, position: int) -> None:
    millis, nanos = moments.millis_and_nanos(value, sql.precision)
    data = _LONG.pack(fitting(millis, 64))
    if sql.precision <= 3:
        section[position : position + SLOT] = data
    else:
        _TWO_INTS.pack_into(section, position, nanos, len(section))
        section += data


def _read_nested_row(
    sql: LogicalType, types: Sequence[LogicalType], row: DataInputView, nesting: Nesting
) -> dict[str, Value]:
    *fields, kind = read_row(types, row, nesting.deeper())
    if kind != ROW_KINDS[0]:
        raise row.error(f"a row of kind {kind} inside a row, which has no column", UndecodableError)
    return dict(zip(sql.names, fields, strict=True))


def _bit(buffer: memoryview, index: int) -> int:
    return buffer[index >> 3] >> (index & 7) & 1


def _set_null(sql: LogicalType, section: bytearray, index: int) -> None:
    if not sql.is_nullable:
        raise NullError(f"null where the type is {sql.root} NOT NULL")
    section[index >> 3] |= 1 << (index & 7)


def _stored(sql: LogicalType) -> LogicalType:
    while sql.root == "DISTINCT_TYPE":
        (sql,) = sql.children
    return sql


def _check_size(section: DataInputView, size: int) -> None:
    if section.end < size:
        raise section.error(f"{section.end} bytes, expected {size} or more", TruncatedError)


def _check_depth(depth: int, section: DataInputView) -> None:
    if depth >= MAX_DEPTH:
        raise section.error(f"a value nested deeper than {MAX_DEPTH} levels", UndecodableError)
