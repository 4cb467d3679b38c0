"""Why parts of a column may be bytes that nobody can decode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.layout import JavaObject, Kryo, Layout, Opaque, parts
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
