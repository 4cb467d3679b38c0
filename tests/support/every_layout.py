"""One layout of each kind."""

from __future__ import annotations

from savepoint_formats import layout as layouts
from savepoint_formats.layout import Layout, LogicalType

INT, LONG, TEXT = layouts.Int(), layouts.Long(), layouts.Text()
SQL_INT = LogicalType("INTEGER")

# Add a new layout here.
EXAMPLES: list[Layout] = [
    layouts.BigDecimal(),
    layouts.BigInteger(),
    layouts.BinaryArray(SQL_INT),
    layouts.BinaryMap(SQL_INT, SQL_INT),
    layouts.BinaryRow(("a",), (SQL_INT,)),
    layouts.BlockMap(INT),
    layouts.BlockRepeated(INT),
    layouts.Boolean(),
    layouts.Byte(),
    layouts.Bytes(),
    layouts.Char(),
    layouts.DecimalData(20, 2),
    layouts.Double(),
    layouts.Enum("E", ("A", "B")),
    layouts.FixedBytes(3),
    layouts.Float(),
    layouts.Framed(INT),
    layouts.IndexedUnion(("a", "b"), (INT, TEXT)),
    layouts.Instant(),
    INT,
    layouts.JavaDate(),
    layouts.JavaObject(),
    layouts.JavaUtf(),
    layouts.Kryo("shop.Basket"),
    layouts.LocalDate(),
    layouts.LocalDateTime(),
    layouts.LocalTime(),
    LONG,
    layouts.MapOf(TEXT, LONG),
    layouts.Marker(7),
    layouts.MaskedRepeated(INT),
    layouts.MaskedStruct(("a",), (INT,), has_kind=True),
    layouts.MutableText(),
    layouts.NullCount(),
    layouts.Nullable(INT, is_null=True),
    layouts.Opaque("shop.Serializer", "it is not known"),
    layouts.PackedTexts(),
    layouts.Pojo("shop.Order", ("id",), (layouts.Nullable(LONG, is_null=True),)),
    layouts.Repeated(INT),
    layouts.Short(),
    layouts.SqlTimestamp(),
    layouts.Struct(("f0", "f1"), (INT, TEXT)),
    layouts.Tagged((0, 1), ("left", "right"), (INT, TEXT)),
    TEXT,
    layouts.TimerTimestamp(),
    layouts.TimestampData(9),
    layouts.Ttl(LONG),
    layouts.Utf8(),
    layouts.Variant(),
    layouts.Varying(INT),
    layouts.VoidNamespace(),
    layouts.Packed(INT),
    layouts.Pickle(),
    layouts.SqlDate(),
    layouts.SqlTime(),
]
