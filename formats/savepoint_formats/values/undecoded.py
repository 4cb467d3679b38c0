"""Reasons why columns have bytes that can't be decoded."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal

from savepoint_formats.layout import JavaObject, Kryo, Layout, LogicalType, Opaque, nodes_of
from savepoint_formats.lazy_modules import LazyModule
from savepoint_formats.values.kryo.structs import struct_column_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.values.kryo import known_classes
else:
    # Most savepoints have no object of Kryo.
    known_classes = LazyModule("savepoint_formats.values.kryo.known_classes")


Hides = Literal["nothing", "fields", "all"]
"""Values that may hide in the bytes of one that cannot be decoded.

| value   | then                                                          |
|---------|---------------------------------------------------------------|
| nothing | any hidden value is an error                                  |
| fields  | hidden fields are null; hidden elements are an error          |
| all     | hidden elements and entries are missing                       |
"""


def hidden_advice(wanted: str) -> str:
    """Advice for an error that ``undescribed_subclasses=wanted`` avoids."""
    return (
        "; describe the class (kryo_classes, --classes), or see what can be told apart after"
        f" with_forms(undescribed_subclasses={wanted!r}) (--undescribed-subclasses {wanted})"
    )


@dataclass(frozen=True, slots=True)
class HiddenEnds:
    """Offsets of values that cannot be decoded.

    Attributes:
        of_values: Start of a value -> its end.
        of_elements: Start of the first element of a collection -> the starts of all, and the end of
            the last one. An element may hide more.
    """

    of_values: dict[int, int] = field(default_factory=dict)
    of_elements: dict[int, tuple[int, ...]] = field(default_factory=dict)


JAVA_REASON = "Java serialized the object itself, and only Java reads it for certain"


def notes(layout: Layout, *, are_certain: bool = False) -> Iterator[str]:
    """Reasons why values in a layout are shown as bytes; some come more than once.

    ``are_certain`` leaves out classes of the JDK, whose values are bytes only in part. Objects of a
    final class whose fields are known have JSON.
    """
    for node in nodes_of(layout, Opaque, Kryo, JavaObject):
        match node:
            case Opaque():
                yield node.note
            case Kryo(class_name) if struct_column_type(node) is None:
                if class_name in known_classes.FINAL_CLASSES:
                    continue
                is_of_jdk = class_name.startswith(("java.", "["))
                if is_of_jdk and are_certain:
                    continue
                what = "that of the job's own classes in it" if is_of_jdk else "its fields"
                yield f"{class_name}: Kryo does not tell {what}; kryo_classes can"
            case JavaObject():
                yield JAVA_REASON


def remarks(layout: Layout) -> Iterator[str]:
    """The ``notes`` of a layout, and of the types of SQL's rows in it."""
    yield from notes(layout)
    yield from _remarks_on_types(layout)


def _remarks_on_types(value: object) -> Iterator[str]:
    match value:
        case LogicalType():
            if value.embedded is not None:
                yield from remarks(value.embedded)
            for child in value.children:
                yield from _remarks_on_types(child)
        case Layout():
            for field in fields(value):  # type: ignore[arg-type]  # every node is a dataclass
                yield from _remarks_on_types(getattr(value, field.name))
        case tuple():
            for item in value:
                yield from _remarks_on_types(item)
