"""Layouts by short names, and a value of one read and written by the general path."""

from __future__ import annotations

from typing import Any

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.layout import (
    BinaryArray,
    BinaryMap,
    BinaryRow,
    Framed,
    Int,
    Layout,
    LogicalType,
    Long,
    MaskedStruct,
    Nullable,
    Pojo,
    Struct,
    Tagged,
    Text,
)
from savepoint_formats.values.value_writer import write_value
from savepoint_formats.values.values import read_value

TEXT, INT, LONG = Text(), Int(), Long()
WINDOW = Struct(("start", "end"), (LONG, LONG))
EVENT = Struct(("id", "timestamp"), (INT, LONG))
COLOR = layouts.Enum("Color", ("RED", "GREEN", "BLUE"))
EITHER = Tagged((1, 0), ("left", "right"), (TEXT, INT))
POJO_FIELDS = (Nullable(INT), Nullable(TEXT), Nullable(COLOR))
SUBCLASS = Pojo("GenCore$Sub", ("a", "b", "c", "z"), (*POJO_FIELDS, Nullable(LONG)))
POJO = Pojo("GenCore$P", ("a", "b", "c"), POJO_FIELDS)
POJO_WITH_SUBCLASS = Pojo(
    "GenCore$P", ("a", "b", "c"), POJO_FIELDS, unregistered=(("GenCore$Sub", SUBCLASS),)
)
POJO_WITH_TAGS = Pojo(
    "GenCore$P", ("a", "b", "c"), POJO_FIELDS, registered=(("GenCore$Sub", SUBCLASS),)
)

SQL_TEXT = LogicalType("VARCHAR")
SQL_INT = LogicalType("INTEGER")
SQL_LONG = LogicalType("BIGINT")
LATER_TIMES = (
    SQL_INT,
    LogicalType("DECIMAL", precision=38, scale=10),
    LogicalType("TIMESTAMP_WITHOUT_TIME_ZONE", precision=9),
)


def framed_row(names: tuple[str, ...], types: tuple[LogicalType, ...]) -> Framed:
    return Framed(BinaryRow(names, types))


def framed_array(element: LogicalType) -> Framed:
    return Framed(BinaryArray(element))


def framed_map(key: LogicalType, value: LogicalType) -> Framed:
    return Framed(BinaryMap(key, value))


def row_of(**fields: Layout) -> MaskedStruct:
    return MaskedStruct(tuple(fields), tuple(fields.values()), has_kind=True)


def sql_row(**types: LogicalType) -> LogicalType:
    return LogicalType("ROW", names=tuple(types), children=tuple(types.values()))


def nanos(seconds: int, nano: int) -> int:
    return seconds * 1_000_000_000 + nano


def read_all(layout: Layout, data: bytes) -> Any:
    view = DataInputView(data)
    value = read_value(layout, view)
    view.expect_end()
    return value


def written(layout: Layout, value: Any) -> bytes:
    view = DataOutputView()
    write_value(layout, value, view)
    return view.to_bytes()
