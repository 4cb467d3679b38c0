"""Which keys have the same bytes whenever Java calls them equal, so that bytes can stand for keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.errors import UnstableKeyError
from savepoint_formats.layout import parts

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout, LogicalType

STABLE: frozenset[type[Layout]] = frozenset(
    {
        # Flink writes only one NaN, and Java's equals tells 0.0 from -0.0.
        *(layouts.Boolean, layouts.Byte, layouts.Short, layouts.Int, layouts.Long),
        *(layouts.Float, layouts.Double, layouts.Char, layouts.Enum, layouts.BigInteger),
        # Java's equals tells 1.0 from 1.00.
        *(layouts.BigDecimal, layouts.DecimalData),
        *(layouts.Text, layouts.MutableText, layouts.JavaUtf, layouts.Utf8, layouts.PackedTexts),
        # Java compares the bytes of a variant.
        *(layouts.Bytes, layouts.FixedBytes, layouts.Variant),
        *(layouts.JavaDate, layouts.SqlTimestamp, layouts.Instant, layouts.LocalDate),
        *(layouts.SqlDate, layouts.SqlTime, layouts.LocalTime, layouts.LocalDateTime),
        *(layouts.TimerTimestamp, layouts.TimestampData),
        *(layouts.Marker, layouts.VoidNamespace, layouts.NullCount),
        # As stable as their elements and fields.
        *(layouts.Nullable, layouts.Repeated, layouts.MaskedRepeated, layouts.BlockRepeated),
        *(layouts.Struct, layouts.MaskedStruct, layouts.Tagged, layouts.Pojo, layouts.Ttl),
        *(layouts.Framed, layouts.Varying, layouts.IndexedUnion, layouts.Packed),
        *(layouts.CaseClass, layouts.Coproduct, layouts.OfScala, layouts.ScalaValue),
        layouts.OfClass,
        *(layouts.BinaryRow, layouts.BinaryArray),
    }
)

UNSTABLE: dict[type[Layout], str] = {
    layouts.MapOf: "a map, whose entries have no order",
    layouts.BinaryMap: "a map, whose entries have no order",
    layouts.BlockMap: "a map, whose entries have no order",
    layouts.Pickle: "a pickle of Python, whose bytes equal values need not share",
    layouts.Kryo: "an object that Kryo writes, whose bytes equal objects need not share",
    layouts.JavaObject: "an object that Java writes, whose bytes equal objects need not share",
    layouts.Opaque: "of a serializer that is not known",
    layouts.Coded: "of a codec of a plug-in, whose bytes equal values need not share",
}

_UNSTABLE_ROOTS = {
    "MAP": "a map, whose entries have no order",
    "MULTISET": "a multiset, whose elements have no order",
    "RAW": "of a serializer that is not known",
}


def expect_stable(layout: Layout) -> None:
    """Raises ``UnstableKeyError`` if equal keys of this layout may have different bytes."""
    match layout:
        # Sets have the layout of lists with nulls.
        case layouts.Repeated(layouts.Nullable(_, True)):
            _refuse_key("a set, whose elements have no order, or a list that looks the same")
        case layouts.OfScala(layouts.Repeated()):
            _refuse_key("a collection of Scala, which may be a set, whose elements have no order")
        case layouts.BinaryRow(_, types):
            for logical_type in types:
                _expect_stable_type(logical_type)
        case layouts.BinaryArray(element):
            _expect_stable_type(element)
    if type(layout) not in STABLE:
        _refuse_key(
            UNSTABLE.get(type(layout), f"{type(layout).__name__}, of which that is not known")
        )
    for part in parts(layout):
        expect_stable(part)


def _expect_stable_type(logical_type: LogicalType) -> None:
    if logical_type.root in _UNSTABLE_ROOTS:
        _refuse_key(_UNSTABLE_ROOTS[logical_type.root])
    for child in logical_type.children:
        _expect_stable_type(child)


def _refuse_key(reason: str) -> None:
    raise UnstableKeyError(
        f"keys that are or hold {reason}, have no bytes to be sorted by: key by a column of a"
        " simpler type"
    )
