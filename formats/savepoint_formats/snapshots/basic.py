"""Snapshots of serializers of a single type; the body is empty.

| version | body                                          |
|---------|-----------------------------------------------|
| 3       | nothing                                       |
| 2, 1    | utf, the serializer's identifier (Flink 1.7)  |

Flink: ``SimpleTypeSerializerSnapshot``; ``EnumSerializerSnapshot``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.codecs import UTF
from savepoint_formats.layout import Layout, Marker, OfScala, Repeated, Struct
from savepoint_formats.snapshots.fields import NAMES, NUMBERED_NAMES
from savepoint_formats.snapshots.snapshot import NO_FIELDS, SnapshotKind, register

if TYPE_CHECKING:
    from savepoint_formats.snapshots.fields import Field
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

BASE = "org.apache.flink.api.common.typeutils.base."
SCALA = ("org.apache.flink.api.scala.typeutils.", "org.apache.flink.table.api.typeutils.")
RUNTIME = "org.apache.flink.api.java.typeutils.runtime."

_IDENTIFIED: tuple[Field, ...] = (("identifier", UTF),)


def inner(serializer: str) -> str:
    """The snapshot class that Flink nests in a serializer class."""
    simple = serializer.rpartition(".")[2].rpartition("$")[2]
    return f"{serializer}${simple}Snapshot"


def simple(layout: Layout) -> SnapshotKind:
    """The kind of a snapshot with an empty body."""
    return SnapshotKind(
        layout=lambda _snapshot: layout,
        body=lambda version: NO_FIELDS if version == 3 else _IDENTIFIED,
    )


class Primitive(NamedTuple):
    """A primitive type of Java, its wrapper class, and its code in names of arrays."""

    name: str
    box: str
    code: str


PRIMITIVES = {
    "Boolean": Primitive("boolean", "java.lang.Boolean", "Z"),
    "Byte": Primitive("byte", "java.lang.Byte", "B"),
    "Short": Primitive("short", "java.lang.Short", "S"),
    "Int": Primitive("int", "java.lang.Integer", "I"),
    "Long": Primitive("long", "java.lang.Long", "J"),
    "Float": Primitive("float", "java.lang.Float", "F"),
    "Double": Primitive("double", "java.lang.Double", "D"),
    "Char": Primitive("char", "java.lang.Character", "C"),
}
"""Name of a serializer, such as ``IntSerializer`` without its end -> its primitive type."""

OBJECTS = {
    "String": "java.lang.String",
    "BigInt": "java.math.BigInteger",
    "BigDec": "java.math.BigDecimal",
    "Date": "java.util.Date",
    "SqlDate": "java.sql.Date",
    "SqlTime": "java.sql.Time",
    "SqlTimestamp": "java.sql.Timestamp",
    "LocalDate": "java.time.LocalDate",
    "LocalTime": "java.time.LocalTime",
    "LocalDateTime": "java.time.LocalDateTime",
    "Instant": "java.time.Instant",
}
"""Name of a serializer -> its class."""

_SCALARS: dict[str, Layout] = {
    "Boolean": layouts.Boolean(),
    "Byte": layouts.Byte(),
    "Short": layouts.Short(),
    "Int": layouts.Int(),
    "Long": layouts.Long(),
    "Float": layouts.Float(),
    "Double": layouts.Double(),
    "Char": layouts.Char(),
    "String": layouts.Text(),
    "BigInt": layouts.BigInteger(),
    "BigDec": layouts.BigDecimal(),
    "Date": layouts.JavaDate(),
    "SqlDate": layouts.JavaDate(),
    "SqlTime": layouts.JavaDate(),
    "SqlTimestamp": layouts.SqlTimestamp(),
    "Instant": layouts.Instant(),
    "LocalDate": layouts.LocalDate(),
    "LocalTime": layouts.LocalTime(),
    "LocalDateTime": layouts.LocalDateTime(),
    "Void": Marker(),
    "Variant": layouts.Variant(),
    "BooleanValue": layouts.Boolean(),
    "ByteValue": layouts.Byte(),
    "ShortValue": layouts.Short(),
    "IntValue": layouts.Int(),
    "LongValue": layouts.Long(),
    "FloatValue": layouts.Float(),
    "DoubleValue": layouts.Double(),
    "CharValue": layouts.Char(),
    "StringValue": layouts.MutableText(),
    "NullValue": Marker(None),
}
_ARRAY_ELEMENTS = ("Boolean", "Char", "Double", "Float", "Int", "Long", "Short")
_VALUE_ARRAYS: dict[str, Layout] = {
    **{name: Repeated(_SCALARS[f"{name}Value"]) for name in (*_ARRAY_ELEMENTS, "Byte")},
    "String": layouts.PackedTexts(),
    "Null": layouts.NullCount(),
}

_WINDOW = Struct(("start", "end"), (layouts.Long(), layouts.Long()))
_STREAMING = "org.apache.flink.streaming.api."
_TABLE_WINDOW = "org.apache.flink.table.runtime.operators.window."
_CEP = "org.apache.flink.cep.nfa."
_KAFKA = "org.apache.flink.streaming.connectors.kafka."

_TRANSACTION = Struct(
    ("transactional_id", "producer_id", "epoch"),
    (layouts.Nullable(layouts.JavaUtf(), is_null=False), layouts.Long(), layouts.Short()),
)
_HINT = Struct(("next_free_id", "last_parallelism"), (layouts.Long(), layouts.Int()))
_EVENT_ID = Struct(("id", "timestamp"), (layouts.Int(), layouts.Long()))

_OTHERS: dict[str, Layout] = {
    f"{RUNTIME}Tuple0SerializerSnapshot": Marker(42),
    inner("org.apache.flink.runtime.state.VoidNamespaceSerializer"): layouts.VoidNamespace(),
    inner("org.apache.flink.queryablestate.client.VoidNamespaceSerializer"): (
        layouts.VoidNamespace()
    ),
    inner("org.apache.flink.runtime.state.JavaSerializer"): layouts.JavaObject(),
    f"{_STREAMING}windowing.windows.TimeWindow$Serializer$TimeWindowSerializerSnapshot": _WINDOW,
    f"{_STREAMING}windowing.windows.GlobalWindow$Serializer$GlobalWindowSerializerSnapshot": (
        Marker()
    ),
    f"{_TABLE_WINDOW}TimeWindow$Serializer$TimeWindowSerializerSnapshot": _WINDOW,
    f"{_TABLE_WINDOW}GlobalWindow$Serializer$GlobalWindowSerializerSnapshot": Marker(),
    f"{_TABLE_WINDOW}CountWindow$Serializer$CountWindowSerializerSnapshot": Struct(
        ("id",), (layouts.Long(),)
    ),
    f"{_CEP}DeweyNumber$DeweyNumberSerializer$DeweyNumberSerializerSnapshot": Repeated(
        layouts.Int()
    ),
    f"{_CEP}sharedbuffer.EventId$EventIdSerializer$EventIdSerializerSnapshot": _EVENT_ID,
    "org.apache.flink.graph.drivers.transform.LongValueWithProperHashCode"
    "$LongValueWithProperHashCodeSerializer"
    "$LongValueWithProperHashCodeSerializerSnapshot": layouts.Long(),
    inner("org.apache.flink.streaming.api.utils.ByteArrayWrapperSerializer"): layouts.Bytes(),
    **{inner(f"{package}UnitSerializer"): OfScala(Marker(text="()")) for package in SCALA},
    **{f"{package}NothingSerializerSnapshot": Marker(None) for package in SCALA},
    inner("org.apache.flink.table.dataview.NullSerializer"): Marker(),
}

SERIALIZERS: dict[str, Layout] = {
    **{f"{BASE}{name}Serializer": layout for name, layout in _SCALARS.items()},
    **{
        f"{BASE}array.{name}PrimitiveArraySerializer": Repeated(_SCALARS[name], is_array=True)
        for name in _ARRAY_ELEMENTS
    },
    f"{BASE}array.BytePrimitiveArraySerializer": layouts.Bytes(),
    f"{BASE}array.StringArraySerializer": Repeated(layouts.Text(), is_array=True),
}
"""Serializer of a single type -> the layout of its values."""


def _enum(snapshot: TypeSerializerSnapshot) -> Layout:
    return layouts.Enum(snapshot["enum_class"], snapshot["constants"])


def _scala_enum(snapshot: TypeSerializerSnapshot) -> Layout:
    names, numbers = zip(*snapshot["constants"], strict=True) if snapshot["constants"] else ((), ())
    return layouts.Enum(snapshot["enum_class"], names, numbers)


def _kafka_kinds() -> dict[str, SnapshotKind]:
    parts = {
        "TransactionState": _TRANSACTION,
        "ContextState": Repeated(layouts.JavaUtf()),
        "NextTransactionalIdHint": _HINT,
    }
    return {
        f"{_KAFKA}{sink}${part}Serializer${part}SerializerSnapshot": simple(layout)
        for sink in ("FlinkKafkaProducer", "FlinkKafkaProducer011")
        for part, layout in parts.items()
    }


register(
    {
        **{inner(name): simple(layout) for name, layout in SERIALIZERS.items()},
        inner(f"{BASE}EnumSerializer"): SnapshotKind(
            _enum, lambda _version: (("enum_class", UTF), ("constants", NAMES))
        ),
        **{
            inner(f"org.apache.flink.graph.types.valuearray.{name}ValueArraySerializer"): simple(
                layout
            )
            for name, layout in _VALUE_ARRAYS.items()
        },
        **{
            f"{package}ScalaEnumSerializerSnapshot": SnapshotKind(
                _scala_enum, lambda _version: (("enum_class", UTF), ("constants", NUMBERED_NAMES))
            )
            for package in SCALA
        },
        **{name: simple(layout) for name, layout in _OTHERS.items()},
        **_kafka_kinds(),
    }
)
