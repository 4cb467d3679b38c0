"""Snapshots of POJO serializers.

| bytes | field        | meaning                                                            |
|-------|--------------|--------------------------------------------------------------------|
| utf   | pojo_class   |                                                                    |
| map   | fields       | name -> (utf declaring class, utf name), snapshot                  |
| map   | registered   | class -> (), snapshot; a subclass by its index                     |
| map   | unregistered | class -> (), snapshot; a subclass by its name                      |

A map is an i64 magic, i32 n, then n entries of utf name and optional framed key and value. A field
that the class no longer has lacks the key, but keeps its snapshot and data.

Flink: ``PojoSerializerSnapshotData``, ``LinkedOptionalMapSerializer``.

A snapshot names the subclasses that the serializer has met. Snapshots of
operator state and of the hashmap backend name none, although values may be of subclasses.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.codecs import UTF
from savepoint_formats.errors import FormatError, SchemaChangeError, UnknownSnapshotError
from savepoint_formats.layout import Layout, nodes_of, rebuilt
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.basic import BASE, OBJECTS, PRIMITIVES, RUNTIME, inner
from savepoint_formats.snapshots.extracted import Extraction, subclasses_of
from savepoint_formats.snapshots.fields import OPTIONAL_MAP
from savepoint_formats.snapshots.kryo import KRYO
from savepoint_formats.snapshots.nested import (
    all_snapshots,
    framed_snapshot,
    framed_view,
    with_nested,
)
from savepoint_formats.snapshots.resynchronised import read_resynchronised
from savepoint_formats.snapshots.snapshot import (
    OpaqueSnapshot,
    SnapshotKind,
    TypeSerializerSnapshot,
    register,
)

if TYPE_CHECKING:
    from savepoint_formats.snapshots.fields import OptionalEntry


ValueT = TypeVar("ValueT")


def with_subclasses(
    snapshot: TypeSerializerSnapshot, extraction: Extraction
) -> TypeSerializerSnapshot:
    """A serializer whose POJOs name all described subclasses.

    Raises ``SchemaChangeError`` if a description is incomplete.
    """
    changed = with_nested(snapshot, lambda inside: with_subclasses(inside, extraction))
    return extraction.with_subclasses(changed) if snapshot.class_name == POJO else changed


def with_described_subclasses(
    snapshot: TypeSerializerSnapshot, classes: tuple[layouts.KryoClass, ...], *, is_of_flink_1: bool
) -> TypeSerializerSnapshot:
    """The serializer that writes what ``layouts_with_subclasses`` reads."""
    if not any(described.superclass for described in classes):
        return snapshot
    extraction = Extraction(classes, kryo_in(snapshot), is_of_flink_1)
    complete = tuple(
        described
        for described in classes
        if not described.superclass or _is_complete(described.class_name, extraction)
    )
    return with_subclasses(snapshot, replace(extraction, classes=complete))


def _is_complete(name: str, extraction: Extraction) -> bool:
    """Whether a serializer can be made of the description of a class."""
    try:
        extraction.of_class(name)
    except SchemaChangeError:
        return False
    return True


def kryo_in(*snapshots: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """The first Kryo serializer inside others; one without registrations if there is none."""
    kryos = (inside for inside in all_snapshots(snapshots) if inside.class_name == KRYO)
    return next(kryos, constructed.kryo("java.lang.Object"))


def layouts_with_subclasses(
    nodes: ValueT, classes: tuple[layouts.KryoClass, ...], *, is_of_flink_1: bool
) -> ValueT:
    """The layouts of a state's values, keys and namespaces, whose POJOs know described subclasses.

    Classes whose description is incomplete are left out.
    """
    if not any(described.superclass for described in classes):
        return nodes
    first = next(nodes_of(nodes, layouts.Kryo), layouts.Kryo("java.lang.Object"))
    others = tuple(
        registration
        for registration in first.registrations
        if registration.class_name != first.class_name
    )
    extraction = Extraction(classes, constructed.kryo("java.lang.Object"), is_of_flink_1)

    def registered(layout: Layout) -> Layout:
        if not isinstance(layout, layouts.Kryo):
            return layout
        own = layouts.KryoRegistration(layout.class_name)
        rest = (other for other in others if other.class_name != own.class_name)
        return replace(layout, registrations=(own, *rest))

    def change(layout: Layout) -> Layout:
        if not isinstance(layout, layouts.Pojo):
            return layout
        known = {name for name, _ in (*layout.registered, *layout.unregistered)}
        added = []
        for name in subclasses_of(layout.class_name, classes):
            with suppress(SchemaChangeError):
                if name not in known:
                    added.append((name, rebuilt(extraction.of_class(name).layout(), registered)))
        return replace(layout, unregistered=(*layout.unregistered, *added))

    return rebuilt(nodes, change)


POJO = f"{RUNTIME}PojoSerializerSnapshot"

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

_CLASSES = {POJO: "pojo_class", inner(f"{BASE}EnumSerializer"): "enum_class", KRYO: "type_class"}
_LIST = f"{BASE}ListSerializerSnapshot"


def _declared_as(name: str, snapshot: TypeSerializerSnapshot) -> tuple[layouts.KryoField, ...]:
    """Every declaration that a field with this serializer may have; empty if that is not known.

    The serializer of ``int`` serves ``Integer`` too, and a list may be declared with its elements or not.
    """
    if isinstance(snapshot, OpaqueSnapshot):
        return ()
    if snapshot.class_name == _LIST:
        elements = [element for part in snapshot.nested for element in _declared_as("", part)]
        objects = [element for element in elements if element.type not in _PRIMITIVE_TYPES]
        own = [(layouts.TypeArgument(element.type, element.arguments),) for element in objects]
        return tuple(
            layouts.KryoField(name, "java.util.List", arguments) for arguments in [(), *own]
        )
    if snapshot.class_name in _CLASSES:
        return (layouts.KryoField(name, snapshot[_CLASSES[snapshot.class_name]]),)
    return tuple(layouts.KryoField(name, type_) for type_ in _TYPES.get(snapshot.class_name, ()))


def _pojo(snapshot: TypeSerializerSnapshot) -> Layout:
    fields = snapshot["fields"]
    declared = tuple(map(_declared, fields))
    return layouts.Pojo(
        snapshot["pojo_class"],
        tuple(entry.name for entry in fields),
        tuple(layouts.Nullable(_layout_of(entry)) for entry in fields),
        _subclasses(snapshot["registered"]),
        _subclasses(snapshot["unregistered"]),
        declared=declared if all(declared) else (),
    )


def _declared(entry: OptionalEntry) -> tuple[layouts.KryoField, ...]:
    snapshot = None if entry.key is None else framed_snapshot(entry)
    return () if snapshot is None else _declared_as(entry.name, snapshot)


def _subclasses(entries: tuple[OptionalEntry, ...]) -> tuple[tuple[str, Layout], ...]:
    return tuple((entry.name, _layout_of(entry)) for entry in entries)


def _layout_of(entry: OptionalEntry) -> Layout:
    """The layout of a framed snapshot; bytes if it is absent or damaged."""
    if entry.value is None:
        return layouts.Opaque(
            entry.name, "its serializer could not be loaded when the snapshot was taken"
        )
    try:
        return read_resynchronised(TypeSerializerSnapshot.read, framed_view(entry)).layout()
    except UnknownSnapshotError as error:
        return layouts.Opaque(error.class_name, error.message)
    except FormatError as error:
        return layouts.Opaque(entry.name, error.message, is_damage=True)


register(
    {
        POJO: SnapshotKind(
            _pojo,
            lambda _version: (
                ("pojo_class", UTF),
                ("fields", OPTIONAL_MAP),
                ("registered", OPTIONAL_MAP),
                ("unregistered", OPTIONAL_MAP),
            ),
            versions=range(2, 3),
        )
    }
)
