"""Types that fields of a POJO may be declared as, told by their serializers.

A serializer leaves some open: that of ``int`` serves ``Integer`` too, and a list may have been
declared with or without the type of its elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.layout import KryoField, TypeArgument
from savepoint_formats.snapshots.basic import BASE, OBJECTS, PRIMITIVES, RUNTIME, inner
from savepoint_formats.snapshots.kryo import KRYO
from savepoint_formats.snapshots.snapshot import OpaqueSnapshot

if TYPE_CHECKING:
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

_PRIMITIVE_TYPES = {primitive.name for primitive in PRIMITIVES.values()}
_TYPES: dict[str, tuple[str, ...]] = {
    **{
        inner(f"{BASE}{name}Serializer"): (kind.name, kind.box) for name, kind in PRIMITIVES.items()
    },
    **{
        inner(f"{BASE}array.{name}PrimitiveArraySerializer"): (f"[{kind.code}",)
        for name, kind in PRIMITIVES.items()
    },
    **{inner(f"{BASE}{name}Serializer"): (java_class,) for name, java_class in OBJECTS.items()},
}
"""Snapshot of a serializer -> the types that it is the serializer of."""

_CLASSES = {
    f"{RUNTIME}PojoSerializerSnapshot": "pojo_class",
    inner(f"{BASE}EnumSerializer"): "enum_class",
    KRYO: "type_class",
}
_LIST = f"{BASE}ListSerializerSnapshot"


def declared_as(name: str, snapshot: TypeSerializerSnapshot) -> tuple[KryoField, ...]:
    """Every declaration that a field with this serializer may have; empty if that is not known."""
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
