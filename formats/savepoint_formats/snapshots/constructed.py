"""Serializer snapshots of new state, as Flink 1.20 and 2.x write them.

A constructed snapshot equals the one that is read back from its bytes. ``constructed_sql`` has
those of SQL rows.

Flink: ``snapshotConfiguration`` of the serializers of ``Types``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from savepoint_formats.snapshots.basic import BASE, PRIMITIVES, RUNTIME, inner
from savepoint_formats.snapshots.fields import OptionalEntry, utf_bytes
from savepoint_formats.snapshots.kryo import KRYO, NO_SERIALIZER, SERIALIZER_CLASS
from savepoint_formats.snapshots.nested import snapshot_bytes
from savepoint_formats.snapshots.shown import like_parts
from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot, known_kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_TUPLE_ARITY = 25

_VERSION = 3
_POJO_VERSION = 2
_TUPLES = "org.apache.flink.api.java.tuple.Tuple"
_STATE = "org.apache.flink.runtime.state."
_STREAMING = "org.apache.flink.streaming.api."
_AVRO = "org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot"
_AVRO_VERSION = 3
_AVRO_ARRAY = "org.apache.avro.generic.GenericData$Array"
_NO_AVRO = f"{RUNTIME}kryo.Serializers$DummyAvroRegisteredClass"
_NO_AVRO_SERIALIZER = f"{RUNTIME}kryo.Serializers$DummyAvroKryoSerializerClass"
_WINDOWS = f"{_STREAMING}windowing.windows."


def snapshot_of(
    class_name: str,
    own: Mapping[str, Any] | None = None,
    nested: Sequence[TypeSerializerSnapshot] | None = None,
    *,
    version: int = _VERSION,
    outer_version: int = _VERSION,
) -> TypeSerializerSnapshot:
    """A snapshot of a known class; ``own`` has the fields of its body that composites don't share."""
    names = tuple(name for name, _ in known_kind(class_name).fields(version, outer_version))
    values = {**(own or {}), "outer_version": outer_version, "nested": tuple(nested or ())}
    return TypeSerializerSnapshot(class_name, version, tuple(values[name] for name in names), names)


def custom(
    class_name: str,
    nested: Sequence[TypeSerializerSnapshot],
    own: Mapping[str, Any],
    version: int | None = None,
) -> TypeSerializerSnapshot:
    """A snapshot of a class that a plug-in knows, of its newest version by default.

    Raises:
        MissingPackageError: No plug-in knows the class.
        ValueError: The body has other fields, or nested serializers where it has none.
    """
    kind = known_kind(class_name)
    body = kind.versions[-1] if version is None or kind.is_composite else version
    outer = kind.newest_outer if version is None else version
    if not kind.knows(body, outer):
        raise ValueError(f"{class_name}: {kind.unknown_version(body, outer)}")
    if kind.parts not in (None, len(nested)) or (nested and not kind.is_composite):
        raise ValueError(f"{class_name} with {len(nested)} nested serializers")
    names = {name for name, _ in kind.fields(body, outer)} - {"outer_version", "nested"}
    if names != set(own):
        raise ValueError(
            f"{class_name} has the fields {', '.join(sorted(names)) or 'none'}, but values are given"
            f" for {', '.join(sorted(own)) or 'none'}"
        )
    return snapshot_of(class_name, own, nested, version=body, outer_version=outer)


def basic(serializer: str) -> TypeSerializerSnapshot:
    """The snapshot of a serializer of Flink's ``base`` package: ``Int`` of ``IntSerializer``."""
    return snapshot_of(inner(f"{BASE}{serializer}Serializer"))


boolean = partial(basic, "Boolean")
byte = partial(basic, "Byte")
short = partial(basic, "Short")
integer = partial(basic, "Int")
long = partial(basic, "Long")
single = partial(basic, "Float")
double = partial(basic, "Double")
char = partial(basic, "Char")
string = partial(basic, "String")
big_int = partial(basic, "BigInt")
big_dec = partial(basic, "BigDec")
date = partial(basic, "Date")
sql_date = partial(basic, "SqlDate")
sql_time = partial(basic, "SqlTime")
sql_timestamp = partial(basic, "SqlTimestamp")
instant = partial(basic, "Instant")
local_date = partial(basic, "LocalDate")
local_time = partial(basic, "LocalTime")
local_date_time = partial(basic, "LocalDateTime")
void = partial(basic, "Void")
variant = partial(basic, "Variant")
string_array = partial(basic, "array.StringArray")

byte_array_wrapper = partial(snapshot_of, inner(f"{_STREAMING}utils.ByteArrayWrapperSerializer"))
void_namespace = partial(snapshot_of, inner(f"{_STATE}VoidNamespaceSerializer"))
time_window = partial(snapshot_of, f"{_WINDOWS}TimeWindow$Serializer$TimeWindowSerializerSnapshot")
table_time_window = partial(
    snapshot_of,
    "org.apache.flink.table.runtime.operators.window.TimeWindow$Serializer$TimeWindowSerializerSnapshot",
)
global_window = partial(
    snapshot_of, f"{_WINDOWS}GlobalWindow$Serializer$GlobalWindowSerializerSnapshot"
)


def stream_element(value: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """The snapshot of records of a stream, which windows with an evictor keep."""
    serializer = "org.apache.flink.streaming.runtime.streamrecord.StreamElementSerializer"
    return snapshot_of(inner(serializer), nested=[value], outer_version=2)


def basic_name(element: TypeSerializerSnapshot) -> str | None:
    """``Long`` for the snapshot of a ``LongSerializer``; None unless it is of a primitive."""
    name = element.class_name.removeprefix(BASE).partition("Serializer$")[0]
    return name if name in PRIMITIVES and element == basic(name) else None


def primitive_array(element: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """``long[]`` and its like. Raises ``ValueError`` if ``element`` is no primitive."""
    name = basic_name(element)
    if name is None:
        raise ValueError(f"an array of {element.class_name}, expected a primitive type")
    return basic(f"array.{name}PrimitiveArray")


def basic_array(element: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """``Long[]`` and its like, or ``String[]``; elements may be null.

    Raises ``ValueError`` if ``element`` is neither a primitive nor a string.
    """
    if element == string():
        return string_array()
    name = basic_name(element)
    if name is None:
        raise ValueError(f"an array of {element.class_name}, expected a basic type")
    return object_array(PRIMITIVES[name].box, element)


def object_array(component_class: str, element: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """An array of a Java class; elements may be null."""
    return snapshot_of(
        f"{BASE}GenericArraySerializerSnapshot",
        {"component": component_class},
        [element],
        outer_version=1,
    )


def list_of(element: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """A ``List``."""
    return snapshot_of(f"{BASE}ListSerializerSnapshot", nested=[element], outer_version=1)


def set_of(element: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """A ``Set``; only Flink 2.x knows its serializer."""
    return snapshot_of(f"{BASE}SetSerializerSnapshot", nested=[element], outer_version=1)


def map_of(key: TypeSerializerSnapshot, value: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """A ``Map``; values may be null."""
    return snapshot_of(f"{BASE}MapSerializerSnapshot", nested=[key, value], outer_version=1)


def nullable(value: TypeSerializerSnapshot, padding: int = 0) -> TypeSerializerSnapshot:
    """A value with a null flag in front; ``padding`` bytes follow the flag of a null."""
    return snapshot_of(
        inner(f"{RUNTIME}NullableSerializer"), {"padding": padding}, [value], outer_version=2
    )


def either(left: TypeSerializerSnapshot, right: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """Flink's ``Either`` of Java."""
    return snapshot_of(
        f"{RUNTIME}JavaEitherSerializerSnapshot", nested=[left, right], outer_version=1
    )


def tuple_of(fields: Sequence[TypeSerializerSnapshot]) -> TypeSerializerSnapshot:
    """A ``Tuple0`` to ``Tuple25``. Raises ``ValueError`` if there are more fields."""
    if len(fields) > MAX_TUPLE_ARITY:
        raise ValueError(f"a tuple of {len(fields)} fields, expected {MAX_TUPLE_ARITY} at most")
    if not fields:
        return snapshot_of(f"{RUNTIME}Tuple0SerializerSnapshot")
    return snapshot_of(
        f"{RUNTIME}TupleSerializerSnapshot",
        {"type_class": f"{_TUPLES}{len(fields)}"},
        fields,
        outer_version=2,
    )


def row_of(fields: Sequence[TypeSerializerSnapshot]) -> TypeSerializerSnapshot:
    """A ``Row``; its fields may be null, and their names are not stored."""
    return snapshot_of(
        inner(f"{RUNTIME}RowSerializer"), {"has_kind": True}, fields, outer_version=4
    )


def enum_of(class_name: str, constants: Sequence[str]) -> TypeSerializerSnapshot:
    """An enum of Java; constants are numbered in this order."""
    own = {"enum_class": class_name, "constants": tuple(constants)}
    return snapshot_of(inner(f"{BASE}EnumSerializer"), own)


def pojo(class_name: str, fields: Mapping[str, TypeSerializerSnapshot]) -> TypeSerializerSnapshot:
    """A POJO without subclasses, whose class declares all its fields.

    Flink's type extraction sorts fields by name.
    """
    entries = tuple(
        OptionalEntry(name, utf_bytes(class_name, name), snapshot_bytes(fields[name]))
        for name in sorted(fields)
    )
    own = {"pojo_class": class_name, "fields": entries, "registered": (), "unregistered": ()}
    snapshot = snapshot_of(f"{RUNTIME}PojoSerializerSnapshot", own, version=_POJO_VERSION)
    return like_parts(snapshot, fields.values())


def avro(class_name: str, schema: str) -> TypeSerializerSnapshot:
    """The snapshot of ``AvroSerializer``, as Flink has it from 1.12 on."""
    own = {"runtime_class": class_name, "schema": schema}
    return snapshot_of(_AVRO, own, version=_AVRO_VERSION)


def kryo(class_name: str, registered: Sequence[str] = ()) -> TypeSerializerSnapshot:
    """A class that Flink leaves to Kryo, with registered classes; the same in 1.x and 2.x.

    Flink: ``KryoSerializer.buildKryoRegistrations``, of a job without Avro.
    """
    names = dict.fromkeys((class_name, *registered))
    entries = [OptionalEntry(name, utf_bytes(name), _registration(name)) for name in names]
    without_avro = _registration(_NO_AVRO, _NO_AVRO_SERIALIZER)
    entries.append(OptionalEntry(_AVRO_ARRAY, utf_bytes(_AVRO_ARRAY), without_avro))
    own = {
        "type_class": class_name,
        "registrations": tuple(entries),
        "default_serializers": (),
        "default_serializer_classes": (),
    }
    return snapshot_of(KRYO, own, version=2)


def _registration(class_name: str, serializer: str = "") -> bytes:
    definition = SERIALIZER_CLASS if serializer else NO_SERIALIZER
    return (
        utf_bytes(class_name)
        + definition.to_bytes(4, "big")
        + utf_bytes(*filter(None, [serializer]))
    )


def ttl(value: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """A value and the time of its last access."""
    class_name = f"{_STATE}ttl.TtlStateFactory$TtlSerializerSnapshot"
    return snapshot_of(class_name, nested=[long(), value], outer_version=2)


def timer(key: TypeSerializerSnapshot, namespace: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """A timer of a key and a namespace."""
    class_name = f"{_STREAMING}operators.TimerSerializerSnapshot"
    return snapshot_of(class_name, nested=[key, namespace], outer_version=2)
