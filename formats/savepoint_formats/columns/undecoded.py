"""Bytes that nobody can decode, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.columns.kryo_structs import column_type
from savepoint_formats.layout import Kryo, Layout, Opaque, parts

if TYPE_CHECKING:
    from collections.abc import Iterator


class UndecodedBytes(bytes):
    """The bytes of a value as they are, because ``reason``."""

    reason: str

    def __new__(cls, data: bytes, reason: str = "") -> UndecodedBytes:
        value = super().__new__(cls, data)
        value.reason = reason
        return value


def notes(layout: Layout) -> Iterator[str]:
    """Why parts of a layout can be shown as bytes only; some more than once."""
    match layout:
        case Opaque():
            yield layout.note
        case Kryo(class_name) if column_type(layout) is None:
            yield f"{class_name}: Kryo does not tell its fields; kryo_classes can"
    for part in parts(layout):
        yield from notes(part)
