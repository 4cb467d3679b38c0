"""Limits the number of elements of a list whose elements may have no bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout

MAX_EMPTY_ELEMENTS = 1 << 20
"""Maximum number of elements without bytes in a list; Flink's own lists of them are tiny."""


def can_be_empty(layout: Layout) -> bool:
    """Whether a value may have no bytes at all."""
    match layout:
        case layouts.Marker(value):
            return value is None
        case layouts.Varying(inner) | layouts.OfScala(inner) | layouts.OfClass(inner):
            return can_be_empty(inner)
        case layouts.Coded(codec):
            return codec.length == 0
        case layouts.FixedBytes(size):
            return size == 0
        case layouts.Struct(_, fields):
            return all(map(can_be_empty, fields))
        case layouts.MaskedStruct(_, fields, has_kind):
            return not fields and not has_kind
        case _:
            return isinstance(layout, layouts.Opaque)
