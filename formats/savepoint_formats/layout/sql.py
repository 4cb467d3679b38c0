"""Binary rows of SQL; their content is little endian."""

from __future__ import annotations

from savepoint_formats.layout.node import Layout, node


@node
class LogicalType:
    """A SQL type, as binary rows and arrays are laid out by it.

    Attributes:
        root: The constant of ``LogicalTypeRoot``: ``BIGINT``, ``VARCHAR``, ``ROW``...
        is_nullable: Whether the type admits null.
        length: Of CHAR, VARCHAR, BINARY and VARBINARY.
        precision: Digits of DECIMAL, fractional digits of times and timestamps.
        scale: Of DECIMAL.
        names: Field names of ROW and STRUCTURED_TYPE.
        children: Fields of rows, element of ARRAY and MULTISET, key and value of MAP, source of
            DISTINCT_TYPE.
        class_name: Of RAW and STRUCTURED_TYPE, where it is known.
    """

    root: str
    is_nullable: bool = True
    length: int = 0
    precision: int = 0
    scale: int = 0
    names: tuple[str, ...] = ()
    children: tuple[LogicalType, ...] = ()
    class_name: str = ""


@node
class BinaryRow(Layout):
    """A ``BinaryRowData``: kind byte and null bits, an 8-byte slot per field, variable part."""

    names: tuple[str, ...]
    types: tuple[LogicalType, ...]


@node
class BinaryArray(Layout):
    """A ``BinaryArrayData``: count, null bits, elements, variable part."""

    element: LogicalType


@node
class BinaryMap(Layout):
    """A ``BinaryMapData``: i32 size of the key array, key array, value array."""

    key: LogicalType
    value: LogicalType
