"""SQL's binary rows, arrays and maps. Their own numbers are little endian.

Row: | nulls | slot x fields | variable part |

| bytes         | meaning                                                                         |
|---------------|---------------------------------------------------------------------------------|
| nulls         | whole longs: 8 bits of row kind, then a bit per field, lowest first; 1 is null  |
| slot          | 8 bytes; numbers in the low ones, else the value's place in the variable part   |
| variable part | values, each padded to whole longs                                              |

Array: | i32 n | nulls in whole ints | element x n, padded to whole longs | variable part |,
with slots of the element's own size. Map: | i32 size of the key array | keys | values |.

Flink: ``BinaryRowData``, ``BinaryArrayData``, ``BinaryRowWriter``, ``BinaryArrayWriter``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.errors import TruncatedError, UndecodableError
from savepoint_formats.layout import BinaryArray, BinaryMap, BinaryRow, LogicalType
from savepoint_formats.values.arrow_types import ROW_KIND, ROW_KINDS
from savepoint_formats.values.binary_slots import (
    NUMBERS,
    SINGLE_ROOTS,
    SLOT,
    far_value,
    padded,
    range_of,
    read_single,
    write_far,
    write_single,
)
from savepoint_formats.values.kinds.codec import MAX_DEPTH, NullError, pairs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.layout import Layout
    from savepoint_formats.values.kinds.codec import Value

    WriteValue = Callable[[Layout, Value], bytes]

_KIND_BITS = 8
_WORD_BITS = 64

_INT = struct.Struct("<i")
_COUNTS = LogicalType("INTEGER", is_nullable=False)


def null_size(arity: int) -> int:
    """The bytes of row kind and null bits."""
    return (arity + _KIND_BITS + _WORD_BITS - 1) // _WORD_BITS * 8


@dataclass(frozen=True, slots=True)
class Nesting:
    """The surroundings of a row, array or map.

    Attributes:
        read_value: Reads a value of another serializer, which fills the view.
        depth: Number of rows, arrays and maps around it.
    """

    read_value: Callable[[Layout, DataInputView], Value]
    depth: int = 0

    def deeper(self) -> Nesting:
        """The surroundings of a value inside."""
        return Nesting(self.read_value, self.depth + 1)


BinaryLayout = BinaryRow | BinaryArray | BinaryMap


def read_binary(layout: BinaryLayout, data: DataInputView, nesting: Nesting) -> Value:
    """The row, array or map that fills the view."""
    match layout:
        case BinaryRow(names, types):
            return dict(zip([*names, ROW_KIND], _read_row(types, data, nesting), strict=True))
        case BinaryArray(element):
            return _read_array(element, data, nesting)
        case BinaryMap(key, value):
            return _read_map(key, value, data, nesting)


def write_binary(layout: BinaryLayout, value: Value, write_value: WriteValue) -> bytes:
    """The mirror of ``read_binary``."""
    match layout:
        case BinaryRow(names, types):
            kind = value.get(ROW_KIND) or ROW_KINDS[0]
            return _write_row(types, [value[name] for name in names], write_value, kind)
        case BinaryArray(element):
            return _write_array(element, value, write_value)
        case BinaryMap(key, item):
            return _write_map(key, item, value, write_value)


def _read_row(types: Sequence[LogicalType], row: DataInputView, nesting: Nesting) -> list[Value]:
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


def _write_row(
    types: Sequence[LogicalType], fields: Sequence[Value], write_value: WriteValue, kind: str = "+I"
) -> bytes:
    nulls = null_size(len(types))
    row = bytearray(nulls + SLOT * len(types))
    row[0] = ROW_KINDS.index(kind)
    for index, (sql_type, value) in enumerate(zip(types, fields, strict=True)):
        if value is None:
            _set_null(sql_type, row, index + _KIND_BITS)
        else:
            _write_slot(sql_type, value, row, nulls + SLOT * index, write_value)
    return bytes(row)


def _read_array(element: LogicalType, array: DataInputView, nesting: Nesting) -> list[Value]:
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


def _write_array(element: LogicalType, values: Sequence[Value], write_value: WriteValue) -> bytes:
    start = 4 + (len(values) + 31) // 32 * 4
    size = element_size(element)
    array = bytearray(padded(start + size * len(values)))
    _INT.pack_into(array, 0, len(values))
    for index, value in enumerate(values):
        if value is None:
            _set_null(element, array, index + 32)
        else:
            _write_slot(element, value, array, start + size * index, write_value)
    return bytes(array)


def _read_map(
    key: LogicalType, value: LogicalType, entries: DataInputView, nesting: Nesting
) -> list[tuple[Value, Value]]:
    _check_size(entries, 4)
    (key_size,) = _INT.unpack_from(entries.buffer)
    keys = _read_array(key, range_of(entries, 4, key_size), nesting)
    rest = entries.end - 4 - key_size
    values = _read_array(value, range_of(entries, 4 + key_size, rest), nesting)
    if len(keys) != len(values):
        raise entries.error(f"a map of {len(keys)} keys and {len(values)} values")
    if None in keys:
        raise entries.error(
            "a map with a null key, which Arrow's maps do not have", UndecodableError
        )
    return list(zip(keys, values, strict=True))


def _write_map(
    key: LogicalType, value: LogicalType, entries: Value, write_value: WriteValue
) -> bytes:
    pairs = pairs_of(entries)
    keys = _write_array(key, [key for key, _ in pairs], write_value)
    values = _write_array(value, [value for _, value in pairs], write_value)
    return _INT.pack(len(keys)) + keys + values


def element_size(element: LogicalType) -> int:
    """The bytes of an array's slot."""
    number = NUMBERS.get(_stored(element).root)
    return number.size if number else SLOT


def _read_slot(sql: LogicalType, data: DataInputView, position: int, nesting: Nesting) -> Value:
    match sql.root, sql.children:
        case (("ROW" | "STRUCTURED_TYPE"), types):
            return _read_nested_row(sql, types, far_value(data, position), nesting)
        case "ARRAY", (element,):
            return _read_array(element, far_value(data, position), nesting.deeper())
        case "MAP", (key, value):
            return _read_map(key, value, far_value(data, position), nesting.deeper())
        case "MULTISET", (element,):
            return _read_map(element, _COUNTS, far_value(data, position), nesting.deeper())
        case "DISTINCT_TYPE", (source,):
            return _read_slot(source, data, position, nesting.deeper())
        case _ if sql.embedded is not None:
            return nesting.read_value(sql.embedded, far_value(data, position))
        case _:
            return read_single(sql, data, position)


def _write_slot(
    sql: LogicalType, value: Value, data: bytearray, position: int, write_value: WriteValue
) -> None:
    match sql.root, sql.children:
        case "DISTINCT_TYPE", (source,):
            _write_slot(source, value, data, position, write_value)
        case root, _ if root in SINGLE_ROOTS:
            write_single(sql, value, data, position)
        case _:
            write_far(_bytes_of(sql, value, write_value), data, position)


def _bytes_of(sql: LogicalType, value: Value, write_value: WriteValue) -> bytes:
    match sql.root, sql.children:
        case (("ROW" | "STRUCTURED_TYPE"), types):
            return _write_row(types, [value[name] for name in sql.names], write_value)
        case "ARRAY", (element,):
            return _write_array(element, value, write_value)
        case "MAP", (key, item):
            return _write_map(key, item, value, write_value)
        case "MULTISET", (element,):
            return _write_map(element, _COUNTS, value, write_value)
        case _ if sql.embedded is not None:
            return write_value(sql.embedded, value)
        case root, _:
            raise ValueError(f"a value of type {root}, which no row stores")


def _read_nested_row(
    sql: LogicalType, types: Sequence[LogicalType], row: DataInputView, nesting: Nesting
) -> dict[str, Value]:
    *fields, kind = _read_row(types, row, nesting.deeper())
    if kind != ROW_KINDS[0]:
        raise row.error(f"a row of kind {kind} inside a row, which has no column", UndecodableError)
    return dict(zip(sql.names, fields, strict=True))


def _bit(buffer: memoryview, index: int) -> int:
    return buffer[index >> 3] >> (index & 7) & 1


def _set_null(sql: LogicalType, data: bytearray, index: int) -> None:
    if not sql.is_nullable:
        raise NullError(f"null where the type is {sql.root} NOT NULL")
    data[index >> 3] |= 1 << (index & 7)


def _stored(sql: LogicalType) -> LogicalType:
    while sql.root == "DISTINCT_TYPE":
        (sql,) = sql.children
    return sql


def _check_size(data: DataInputView, size: int) -> None:
    if data.end < size:
        raise data.error(f"{data.end} bytes, expected {size} or more", TruncatedError)


def _check_depth(depth: int, data: DataInputView) -> None:
    if depth >= MAX_DEPTH:
        raise data.error(f"a value nested deeper than {MAX_DEPTH} levels", UndecodableError)
