"""What follows from a layout: its parts, its length, what of it is opaque."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from savepoint_formats.layout.composites import MapOf, Nullable, Repeated, Struct, Ttl
from savepoint_formats.layout.general import Opaque
from savepoint_formats.layout.node import Layout
from savepoint_formats.layout.scalars import (
    Boolean,
    Byte,
    Char,
    Double,
    Enum,
    FixedBytes,
    Float,
    Instant,
    Int,
    JavaDate,
    LocalDate,
    LocalDateTime,
    LocalTime,
    Long,
    Marker,
    Short,
    SqlTimestamp,
    TimerTimestamp,
    TimestampData,
    VoidNamespace,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def parts(layout: Layout) -> Iterator[Layout]:
    """The layouts that a node holds, one level down."""
    for part in fields(layout):  # type: ignore[arg-type]  # every node is a dataclass
        yield from _layouts_in(getattr(layout, part.name))


def _layouts_in(value: object) -> Iterator[Layout]:
    if isinstance(value, Layout):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _layouts_in(item)


def opaque_parts(layout: Layout) -> Iterator[Opaque]:
    """Every ``Opaque`` in the tree."""
    if isinstance(layout, Opaque):
        yield layout
    for part in parts(layout):
        yield from opaque_parts(part)


def without_ttl(layout: Layout) -> Layout:
    """The layout as a reader sees it, without the times of the last access.

    They lie around a value, each element of a list, or each value of a map.
    """
    match layout:
        case Ttl(value):
            return value
        case Repeated(Ttl(element)):
            return Repeated(element)
        case MapOf(key, Ttl(value)):
            return MapOf(key, value)
        case MapOf(key, Nullable(Ttl(value), is_null, padding)):
            return MapOf(key, Nullable(value, is_null, padding))
        case _:
            return layout


VARIABLE = -1

_LENGTHS: dict[type[Layout], int] = {
    Boolean: 1,
    Byte: 1,
    Short: 2,
    Int: 4,
    Long: 8,
    Float: 4,
    Double: 8,
    Char: 2,
    Enum: 4,
    JavaDate: 8,
    SqlTimestamp: 12,
    Instant: 12,
    LocalDate: 6,
    LocalTime: 7,
    LocalDateTime: 13,
    TimerTimestamp: 8,
    VoidNamespace: 0,
}


def serializer_length(layout: Layout) -> int:
    """What ``TypeSerializer.getLength`` says: the bytes of each value, or -1 where they vary.

    The backends decide by it whether keys and namespaces carry a suffix of their length. It is
    0 for a ``VoidNamespace``, which nevertheless is one byte.
    """
    match layout:
        case Marker(value):
            return 0 if value is None else 1
        case FixedBytes(size):
            return size
        case TimestampData(precision):
            return 8 if precision <= 3 else 12
        case Nullable(_, _, padding):
            return 1 + padding if padding else VARIABLE
        case Struct(_, fields):
            lengths = [serializer_length(part) for part in fields]
            return VARIABLE if VARIABLE in lengths else sum(lengths)
        case _:
            return _LENGTHS.get(type(layout), VARIABLE)
