"""Binary rows of SQL; their content is little endian."""

from __future__ import annotations

from savepoint_formats.layout.general import Opaque
from savepoint_formats.layout.node import Layout, node
from savepoint_formats.layout.single_values import Variant


@node
class LogicalType:
    """A SQL type; the layout of binary rows and arrays follows from it.

    Attributes:
        root: The constant of ``LogicalTypeRoot``: ``BIGINT``, ``VARCHAR``, ``ROW``...
        is_nullable: Whether the type admits null.
        length: Length of CHAR, VARCHAR, BINARY and VARBINARY.
        precision: Digits of DECIMAL, fractional digits of times and timestamps.
        scale: Scale of DECIMAL.
        names: Field names of ROW and STRUCTURED_TYPE.
        children: Fields of rows, element of ARRAY and MULTISET, key and value of MAP, source of
            DISTINCT_TYPE.
        class_name: Class of RAW and STRUCTURED_TYPE, if it is known.
        raw: Layout of RAW, if the type tells it.
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
        """The layout of values that another serializer writes into a row; None for other types."""
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
