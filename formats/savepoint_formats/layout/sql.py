"""Binary rows of SQL; their content is little endian."""

from __future__ import annotations

from savepoint_formats.layout.general import Opaque
from savepoint_formats.layout.node import Layout, node
from savepoint_formats.layout.scalars import Variant


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
        raw: Of RAW, how its values lie, if the type tells.
    """

    root: str
    is_nullable: bool = True
    length: int = 0
    precision: int = 0
    scale: int = 0
    names: tuple[str, ...] = ()
    children: tuple[LogicalType, ...] = ()
    class_name: str = ""
    raw: Layout | None = None

    @property
    def piece(self) -> Layout | None:
        """How the values lie that are pieces of a row for another serializer; None if they are not."""
        match self.root:
            case "RAW":
                return self.raw or Opaque(self.class_name, "a RAW value of SQL")
            case "VARIANT":
                return Variant(in_row=True)
            case _:
                return None


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
