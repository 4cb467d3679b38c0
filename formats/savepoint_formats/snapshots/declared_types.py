"""What fields of a POJO may be declared as, which their serializers do not say for sure.

A serializer of ``int`` is that of ``Integer``, too. Whether a list was declared with its elements
is not known either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.layout import KryoField, TypeArgument
from savepoint_formats.snapshots.basic import BASE, RUNTIME, inner
from savepoint_formats.snapshots.kryo import KRYO
from savepoint_formats.snapshots.snapshot import OpaqueSnapshot

if TYPE_CHECKING:
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

_PRIMITIVES = {
    "Boolean": ("boolean", "java.lang.Boolean", "Z"),
    "Byte": ("byte", "java.lang.Byte", "B"),
    "Short": ("short", "java.lang.Short", "S"),
    "Int": ("int", "java.lang.Integer", "I"),
    "Long": ("long", "java.lang.Long", "J"),
    "Float": ("float", "java.lang.Float", "F"),
    "Double": ("double", "java.lang.Double", "D"),
    "Char": ("char", "java.lang.Character", "C"),
}
_PRIMITIVE_TYPES = {types[0] for types in _PRIMITIVES.values()}
_OBJECTS = {
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
_TYPES: dict[str, tuple[str, ...]] = {
    **{inner(f"{BASE}{name}Serializer"): types[:2] for name, types in _PRIMITIVES.items()},
    **{
        inner(f"{BASE}array.{name}PrimitiveArraySerializer"): (f"[{types[2]}",)
        for name, types in _PRIMITIVES.items()
    },
    **{inner(f"{BASE}{name}Serializer"): (type_,) for name, type_ in _OBJECTS.items()},
}
"""Snapshot of a serializer -> the types that it is the serializer of."""

_CLASSES = {
    f"{RUNTIME}PojoSerializerSnapshot": "pojo_class",
    inner(f"{BASE}EnumSerializer"): "enum_class",
    KRYO: "type_class",
}
_LIST = f"{BASE}ListSerializerSnapshot"


def declared_as(name: str, snapshot: TypeSerializerSnapshot) -> tuple[KryoField, ...]:
    """All that a field with this serializer may be declared as; nothing if that is not known."""
    if isinstance(snapshot, OpaqueSnapshot):
        return ()
    if snapshot.class_name == _LIST:
        elements = [element for part in snapshot.nested for element in declared_as("", part)]
        objects = [element for element in elements if element.type not in _PRIMITIVE_TYPES]
        own = [(TypeArgument(element.type, element.arguments),) for element in objects]
        return tuple(KryoField(name, "java.util.List", arguments) for arguments in [(), *own])
    if snapshot.class_name in _CLASSES:
        return (KryoField(name, snapshot[_CLASSES[snapshot.class_name]]),)
    return tuple(KryoField(name, type_) for type_ in _TYPES.get(snapshot.class_name, ()))
