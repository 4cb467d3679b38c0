"""Subclasses of POJOs that the user has described, and that serializers do not know.

The snapshot of a POJO serializer names the subclasses that it has met. One that met none, as that of
a hashmap backend, or of state of an operator, names none, and its values may still be of them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.layout import Kryo, KryoRegistration, Pojo, parts, rebuilt
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.class_names import framed_snapshot, snapshot_bytes
from savepoint_formats.snapshots.extracted import Extraction, subclasses_of
from savepoint_formats.snapshots.fields import OptionalEntry
from savepoint_formats.snapshots.kryo import KRYO
from savepoint_formats.snapshots.pojo import POJO
from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.layout import KryoClass, Layout

ValueT = TypeVar("ValueT")


def with_subclasses(
    snapshot: TypeSerializerSnapshot, extraction: Extraction
) -> TypeSerializerSnapshot:
    """A serializer whose POJOs know all subclasses that are described.

    Raises:
        SchemaChangeError: Of one nobody has said enough.
    """
    changed = replace(
        snapshot, values=tuple(_changed(value, extraction) for value in snapshot.values)
    )
    return extraction.with_subclasses(changed) if snapshot.class_name == POJO else changed


def with_described_subclasses(
    snapshot: TypeSerializerSnapshot, classes: tuple[KryoClass, ...], *, is_of_flink_1: bool
) -> TypeSerializerSnapshot:
    """The mirror of ``layouts_with_subclasses``: the serializer that writes what such layouts read."""
    if not any(described.superclass for described in classes):
        return snapshot
    extraction = Extraction(classes, kryo_in(snapshot), is_of_flink_1)
    told = tuple(
        described
        for described in classes
        if not described.superclass or _is_told(described.class_name, extraction)
    )
    return with_subclasses(snapshot, replace(extraction, classes=told))


def _is_told(name: str, extraction: Extraction) -> bool:
    """Whether enough is said of a class to make a serializer."""
    try:
        extraction.of_class(name)
    except SchemaChangeError:
        return False
    return True


def _changed(value: Any, extraction: Extraction) -> Any:
    match value:
        case TypeSerializerSnapshot():
            return with_subclasses(value, extraction)
        case OptionalEntry():
            inside = framed_snapshot(value)
            if inside is None:
                return value
            changed = with_subclasses(inside, extraction)
            return value if changed == inside else replace(value, value=snapshot_bytes(changed))
        case tuple():
            return tuple(_changed(part, extraction) for part in value)
        case _:
            return value


def kryo_in(*snapshots: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
    """The first serializer of Kryo in others; one without registrations if there is none."""
    return next(filter(None, map(_kryo_in, snapshots)), constructed.kryo("java.lang.Object"))


def _kryo_in(value: Any) -> TypeSerializerSnapshot | None:
    match value:
        case TypeSerializerSnapshot(class_name=name) if name == KRYO:
            return value
        case TypeSerializerSnapshot():
            return _kryo_in(value.values)
        case OptionalEntry():
            return _kryo_in(framed_snapshot(value))
        case tuple():
            return next(filter(None, map(_kryo_in, value)), None)
        case _:
            return None


def layouts_with_subclasses(
    layouts: ValueT, classes: tuple[KryoClass, ...], *, is_of_flink_1: bool
) -> ValueT:
    """Layouts whose POJOs know all subclasses that are described.

    Args:
        layouts: Those of a state: of its values, keys and namespaces.
        classes: The user's classes.
        is_of_flink_1: Whether Flink 1.x wrote the values.

    Returns:
        The layouts; those of which nobody has said enough are left out.
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
