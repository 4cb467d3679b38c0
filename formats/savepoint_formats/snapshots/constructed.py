"""Serializer snapshots of new state: what Flink 1.20 and 2.x write of a type, without its classes.

A constructed snapshot equals the one that is read back from its bytes. Those of SQL's rows are in
``constructed_sql``.

Flink: the ``snapshotConfiguration`` of the serializers that ``Types`` of Java stand for.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.snapshots.basic import BASE, RUNTIME, inner
from savepoint_formats.snapshots.fields import OptionalEntry
from savepoint_formats.snapshots.kryo import KRYO, NO_SERIALIZER, SERIALIZER_CLASS
from savepoint_formats.snapshots.snapshot import KINDS, TypeSerializerSnapshot
from savepoint_formats.snapshots.written_kryo import like_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_TUPLE_ARITY = 25

_VERSION = 3
_POJO_VERSION = 2
_TUPLES = "org.apache.flink.api.java.tuple.Tuple"
_STATE = "org.apache.flink.runtime.state."
_STREAMING = "org.apache.flink.streaming.api."
_AVRO_ARRAY = "org.apache.avro.generic.GenericData$Array"
_NO_AVRO = f"{RUNTIME}kryo.Serializers$DummyAvroRegisteredClass"
_NO_AVRO_SERIALIZER = f"{RUNTIME}kryo.Serializers$DummyAvroKryoSerializerClass"
_WINDOWS = f"{_STREAMING}windowing.windows."
_PRIMITIVES = frozenset(["Boolean", "Byte", "Char", "Double", "Float", "Int", "Long", "Short"])
_BOXES = {
    "Boolean": "Boolean",
    "Byte": "Byte",
    "Char": "Character",
    "Double": "Double",
    "Float": "Float",
    "Int": "Integer",
    "Long": "Long",
    "Short": "Short",
}


def snapshot_of(
    class_name: str,
    own: Mapping[str, Any] | None = None,
    nested: Sequence[TypeSerializerSnapshot] | None = None,
    *,
    version: int = _VERSION,
    outer_version: int = _VERSION,
) -> TypeSerializerSnapshot:
    """A snapshot of a known class.

    Args:
        class_name: The snapshot class.
        own: The fields of its body, without those of every composite.
        nested: The nested serializers, if its body holds any.
        version: The version of the body.
        outer_version: The version of a composite's own part.
    """
    names = tuple(name for name, _ in KINDS[class_name].fields(version, outer_version))
    values = {**(own or {}), "outer_version": outer_version, "nested": tuple(nested or ())}
    return TypeSerializerSnapshot(class_name, version, tuple(values[name] for name in names), names)


def _basic(serializer: str) -> TypeSerializerSnapshot:
    return snapshot_of(inner(f"{BASE}{serializer}Serializer"))


boolean = partial(_basic, "Boolean")
byte = partial(_basic, "Byte")
short = partial(_basic, "Short")
integer = partial(_basic, "Int")
long = partial(_basic, "Long")
single = partial(_basic, "Float")
double = partial(_basic, "Double")
char = partial(_basic, "Char")
string = partial(_basic, "String")
big_int = partial(_basic, "BigInt")
big_dec = partial(_basic, "BigDec")
date = partial(_basic, "Date")
sql_date = partial(_basic, "SqlDate")
sql_time = partial(_basic, "SqlTime")
sql_timestamp = partial(_basic, "SqlTimestamp")
instant = partial(_basic, "Instant")
local_date = partial(_basic, "LocalDate")
local_time = partial(_basic, "LocalTime")
local_date_time = partial(_basic, "LocalDateTime")
void = partial(_basic, "Void")
variant = partial(_basic, "Variant")
string_array = partial(_basic, "array.StringArray")

void_namespace = partial(snapshot_of, inner(f"{_STATE}VoidNamespaceSerializer"))
time_window = partial(snapshot_of, f"{_WINDOWS}TimeWindow$Serializer$TimeWindowSerializerSnapshot")
global_window = partial(
    snapshot_of, f"{_WINDOWS}GlobalWindow$Serializer$GlobalWindowSerializerSnapshot"
)


def basic_name(element: TypeSerializerSnapshot) -> str | None:
    """``Long`` of the snapshot of a ``LongSerializer``; None for others than primitives."""
    name = element.class_name.removeprefix(BASE).partition("Serializer$")[0]
    return name if name in _PRIMITIVES and element == _basic(name) else None


def primitive_array(element: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """``long[]`` and its like. Raises ``ValueError`` if ``element`` is no primitive."""
    name = basic_name(element)
    if name is None:
        raise ValueError(f"an array of {element.class_name}, expected a primitive type")
    return _basic(f"array.{name}PrimitiveArray")


def basic_array(element: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """``Long[]`` and its like, or ``String[]``; elements may be null.

    Raises:
        ValueError: ``element`` is neither a primitive nor a string.
    """
    if element == string():
        return string_array()
    name = basic_name(element)
    if name is None:
        raise ValueError(f"an array of {element.class_name}, expected a basic type")
    return object_array(f"java.lang.{_BOXES[name]}", element)


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
    """A ``Set``; Flink 2.x alone knows its serializer."""
    return snapshot_of(f"{BASE}SetSerializerSnapshot", nested=[element], outer_version=1)


def map_of(key: TypeSerializerSnapshot, value: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """A ``Map``; values may be null."""
    return snapshot_of(f"{BASE}MapSerializerSnapshot", nested=[key, value], outer_version=1)


def nullable(value: TypeSerializerSnapshot, padding: int = 0) -> TypeSerializerSnapshot:
    """A value with a null flag in front; ``padding`` bytes follow that of a null."""
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
    """A POJO without subclasses, all of whose fields are declared in its class.

    Its fields lie in the order of their names, as Flink's type extraction has it.
    """
    entries = tuple(
        OptionalEntry(name, _utf(class_name, name), _written(fields[name]))
        for name in sorted(fields)
    )
    own = {"pojo_class": class_name, "fields": entries, "registered": (), "unregistered": ()}
    snapshot = snapshot_of(f"{RUNTIME}PojoSerializerSnapshot", own, version=_POJO_VERSION)
    return like_parts(snapshot, fields.values())


def kryo(class_name: str, registered: Sequence[str] = ()) -> TypeSerializerSnapshot:
    """A class that is left to Kryo, with what jobs have registered; the same in 1.x and 2.x.

    Flink: ``KryoSerializer.buildKryoRegistrations``, of a job without Avro.
    """
    names = dict.fromkeys((class_name, *registered))
    entries = [OptionalEntry(name, _utf(name), _registration(name)) for name in names]
    without_avro = _registration(_NO_AVRO, _NO_AVRO_SERIALIZER)
    entries.append(OptionalEntry(_AVRO_ARRAY, _utf(_AVRO_ARRAY), without_avro))
    own = {
        "type_class": class_name,
        "registrations": tuple(entries),
        "default_serializers": (),
        "default_serializer_classes": (),
    }
    return snapshot_of(KRYO, own, version=2)


def _registration(class_name: str, serializer: str = "") -> bytes:
    view = DataOutputView()
    view.write_utf(class_name)
    view.write_int(SERIALIZER_CLASS if serializer else NO_SERIALIZER)
    if serializer:
        view.write_utf(serializer)
    return view.to_bytes()


def _utf(*texts: str) -> bytes:
    view = DataOutputView()
    for text in texts:
        view.write_utf(text)
    return view.to_bytes()


def _written(snapshot: TypeSerializerSnapshot) -> bytes:
    view = DataOutputView()
    snapshot.write(view)
    return view.to_bytes()


def ttl(value: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """A value with the time of its last access."""
    class_name = f"{_STATE}ttl.TtlStateFactory$TtlSerializerSnapshot"
    return snapshot_of(class_name, nested=[long(), value], outer_version=2)


def timer(key: TypeSerializerSnapshot, namespace: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """A timer of a key and a namespace."""
    class_name = f"{_STREAMING}operators.TimerSerializerSnapshot"
    return snapshot_of(class_name, nested=[key, namespace], outer_version=2)
