"""Why parts of a column may be bytes that nobody can decode."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from savepoint_formats.layout import JavaObject, Kryo, Layout, LogicalType, Opaque, parts
from savepoint_formats.values.kryo.structs import column_type

if TYPE_CHECKING:
    from collections.abc import Iterator


JAVA_REASON = "Java serialized the object itself, and only Java reads it for certain"


def notes(layout: Layout) -> Iterator[str]:
    """Why parts of a layout can be shown as bytes only; some more than once."""
    match layout:
        case Opaque():
            yield layout.note
        case Kryo(class_name) if column_type(layout) is None:
            is_of_jdk = class_name.startswith(("java.", "["))
            what = "that of the job's own classes in it" if is_of_jdk else "its fields"
            yield f"{class_name}: Kryo does not tell {what}; kryo_classes can"
        case JavaObject():
            yield JAVA_REASON
    for part in parts(layout):
        yield from notes(part)


def remarks(layout: Layout) -> Iterator[str]:
    """Why parts of a layout, and of rows of SQL in it, are shown as bytes; some more than once."""
    yield from notes(layout)
    yield from _remarks_on_types(layout)


def _remarks_on_types(part: object) -> Iterator[str]:
    match part:
        case LogicalType():
            if part.piece is not None:
                yield from remarks(part.piece)
            for child in part.children:
                yield from _remarks_on_types(child)
        case Layout():
            for own in fields(part):  # type: ignore[arg-type]  # every node is a dataclass
                yield from _remarks_on_types(getattr(part, own.name))
        case tuple():
            for item in part:
                yield from _remarks_on_types(item)
