"""The fewest bytes of a value, which limit the number of values in an input."""

from __future__ import annotations

from savepoint_formats import layout as layouts
from savepoint_formats.layout import Layout, LogicalType, serializer_length
from savepoint_formats.values.binary_rows import element_size, null_size

_LEAST: dict[type[Layout], int] = {
    layouts.VoidNamespace: 1,
    layouts.JavaUtf: 2,
    layouts.Utf8: 4,
    layouts.Bytes: 4,
    layouts.BigInteger: 4,
    layouts.BigDecimal: 4,
    layouts.Repeated: 4,
    layouts.MaskedRepeated: 4,
    layouts.MapOf: 4,
    layouts.DecimalData: 4,
    layouts.BinaryArray: 4,
    layouts.BinaryMap: 12,
    layouts.Packed: 0,
    layouts.Pickle: 1,
    layouts.CaseClass: 4,
    layouts.Coproduct: 1,
}


def least_size(layout: Layout) -> int:
    """The fewest bytes of a value of the layout."""
    match layout:
        case layouts.Struct(_, fields):
            return sum(map(least_size, fields))
        case layouts.MaskedStruct(_, fields, has_kind):
            return (len(fields) + 2 * has_kind + 7) // 8
        case layouts.Ttl(value):
            return 8 + least_size(value)
        case layouts.Framed(inner):
            return 4 + least_size(inner)
        case layouts.Varying(inner) | layouts.OfScala(inner) | layouts.OfClass(inner):
            return least_size(inner)
        case layouts.BinaryRow(_, types):
            return null_size(len(types)) + 8 * len(types)
        case layouts.Nullable() | layouts.Tagged():
            return 1
        case _:
            return _LEAST.get(type(layout), abs(serializer_length(layout)))


def least_entry_size(key: LogicalType, value: LogicalType) -> int:
    """The fewest bytes of an entry of a binary map."""
    return element_size(key) + element_size(value)
