"""Subclasses of POJOs that the user has described, and that serializers do not name.

The snapshot of a POJO serializer names the subclasses that the serializer has met. Snapshots of
operator state and of the hashmap backend name none, although values may be of subclasses.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.layout import Kryo, KryoRegistration, Pojo, parts, rebuilt
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.extracted import Extraction, subclasses_of
from savepoint_formats.snapshots.kryo import KRYO
from savepoint_formats.snapshots.nested import all_snapshots, with_nested
from savepoint_formats.snapshots.pojo import POJO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.layout import KryoClass, Layout
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

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
    snapshot: TypeSerializerSnapshot, classes: tuple[KryoClass, ...], *, is_of_flink_1: bool
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
    layouts: ValueT, classes: tuple[KryoClass, ...], *, is_of_flink_1: bool
) -> ValueT:
    """The layouts of a state's values, keys and namespaces, whose POJOs know described subclasses.

    Classes whose description is incomplete are left out.
    """
    if not any(described.superclass for described in classes):
        return layouts
    first = next(_kryo_layouts(layouts), Kryo("java.lang.Object"))
    others = tuple(
        registration
        for registration in first.registrations
        if registration.class_name != first.class_name
    )
    extraction = Extraction(classes, constructed.kryo("java.lang.Object"), is_of_flink_1)

    def registered(layout: Layout) -> Layout:
        if not isinstance(layout, Kryo):
            return layout
        own = KryoRegistration(layout.class_name)
        rest = (other for other in others if other.class_name != own.class_name)
        return replace(layout, registrations=(own, *rest))

    def change(layout: Layout) -> Layout:
        if not isinstance(layout, Pojo):
            return layout
        known = {name for name, _ in (*layout.registered, *layout.unregistered)}
        added = []
        for name in subclasses_of(layout.class_name, classes):
            with suppress(SchemaChangeError):
                if name not in known:
                    added.append((name, rebuilt(extraction.of_class(name).layout(), registered)))
        return replace(layout, unregistered=(*layout.unregistered, *added))

    return rebuilt(layouts, change)


def _kryo_layouts(value: Any) -> Iterator[Kryo]:
    if isinstance(value, Kryo):
        yield value
    elif value is not None:
        for part in value if isinstance(value, tuple) else parts(value):
            yield from _kryo_layouts(part)
