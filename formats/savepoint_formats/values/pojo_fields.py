"""Columns of a POJO that also has values of subclasses, and of a sealed trait of Scala.

The columns of a POJO without subclasses are its fields. Otherwise the struct begins with ``$class``, the
class of each value. Then come the POJO's own fields, then those that its subclasses add, registered
ones first. Fields of the same name and layout share a column. A field whose name another layout has
is called ``name@Subclass``, after the last part of the class' name (the whole name if that is taken
too). A subclass that is no POJO and no case class has one column, ``$value``; a case object has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from savepoint_formats.layout import CaseClass, Coproduct, Marker, Pojo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_formats.layout import Layout

CLASS = "$class"
VALUE = "$value"


@dataclass(frozen=True, slots=True)
class PojoColumns:
    """The columns behind ``$class``.

    Attributes:
        layouts: Name and layout of each column.
        of_class: The columns of each class, in the order of its fields.
    """

    layouts: Mapping[str, Layout]
    of_class: Mapping[tuple[str, Layout], tuple[str, ...]]


@lru_cache(maxsize=256)
def pojo_columns(layout: Pojo | Coproduct) -> PojoColumns:
    """The columns of a POJO that has subclasses, or of a sealed trait."""
    layouts: dict[str, Layout] = {}
    of_class: dict[tuple[str, Layout], tuple[str, ...]] = {}
    for class_name, class_layout in pojo_classes(layout):
        of_class[class_name, class_layout] = tuple(
            _column(layouts, class_name, name, field) for name, field in class_fields(class_layout)
        )
    return PojoColumns(layouts, of_class)


def has_subclasses(layout: Pojo) -> bool:
    """Whether the POJO has a column ``$class``."""
    return bool(layout.registered or layout.unregistered)


def class_fields(layout: Layout) -> tuple[tuple[str, Layout], ...]:
    """Name and layout of each field of a class."""
    if isinstance(layout, Marker):
        return ()
    if isinstance(layout, Pojo | CaseClass):
        return tuple(zip(layout.names, layout.fields, strict=True))
    return ((VALUE, layout),)


def pojo_classes(layout: Pojo | Coproduct) -> tuple[tuple[str, Layout], ...]:
    """Name and layout of each class: the POJO's own, registered subclasses, and others."""
    if isinstance(layout, Coproduct):
        return tuple(zip(layout.classes, layout.fields, strict=True))
    return (layout.class_name, layout), *layout.registered, *layout.unregistered


def _column(layouts: dict[str, Layout], class_name: str, name: str, field: Layout) -> str:
    """The name of the field's column, which is added if it is missing."""
    simple_name = class_name.replace("$", ".").rpartition(".")[2]
    for column in (name, f"{name}@{simple_name}", f"{name}@{class_name}"):
        if layouts.setdefault(column, field) == field:
            return column
    raise ValueError(f"{class_name} has two fields {name!r}")
