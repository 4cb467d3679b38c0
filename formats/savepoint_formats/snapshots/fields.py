"""Codecs of fields that only bodies of serializer snapshots have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from savepoint_formats.bytes.codecs import BYTES, INT, UTF, Codec, list_codec, tuple_codec
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.java.stream import read_java_object

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from savepoint_formats.snapshots.snapshot import SnapshotView

OPTIONAL_MAP_MAGIC = 0x000004F2C69A3D70


@dataclass(frozen=True, slots=True)
class Following:
    """The codec of a field that depends on the values of the fields before it."""

    codec: Callable[[Sequence[Any]], Codec]


Field = tuple[str, Codec | Following]


def codec_of(field: Field, before: Sequence[Any]) -> Codec:
    """The codec of a field, given the values before it."""
    _, kind = field
    return kind.codec(before) if isinstance(kind, Following) else kind


@dataclass(frozen=True, slots=True)
class JavaBytes:
    """A Java object, and the stream that it was read from and that is written back."""

    data: bytes
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JavaBytes) and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.data)


@dataclass(frozen=True, slots=True)
class OptionalEntry:
    """An entry of an optional map: utf name, then optional framed key and value.

    ``value_offset`` and ``depth`` (the number of snapshots around it) are not written.
    """

    name: str
    key: bytes | None
    value: bytes | None
    value_offset: int = field(default=0, compare=False)
    depth: int = field(default=0, compare=False)


def _read_java(view: SnapshotView) -> JavaBytes:
    start = view.position
    value = read_java_object(view)
    return JavaBytes(bytes(view.buffer[start : view.position]), value)


def _read_optional_map(view: SnapshotView) -> tuple[OptionalEntry, ...]:
    magic = view.read_long()
    if magic != OPTIONAL_MAP_MAGIC:
        raise view.error(f"a map that begins with {magic:#x}, expected {OPTIONAL_MAP_MAGIC:#x}")
    return tuple(_read_entry(view) for _ in range(view.read_count(element_size=4)))


def _read_entry(view: SnapshotView) -> OptionalEntry:
    name = view.read_utf()
    key, _ = _read_optional(view)
    value, offset = _read_optional(view)
    return OptionalEntry(name, key, value, offset, view.depth)


def _read_optional(view: SnapshotView) -> tuple[bytes | None, int]:
    if not view.read_strict_bool():
        return None, view.offset
    size = view.read_count()
    return view.read_bytes(size), view.offset - size


def _write_optional_map(view: DataOutputView, entries: tuple[OptionalEntry, ...]) -> None:
    view.write_long(OPTIONAL_MAP_MAGIC)
    view.write_int(len(entries))
    for entry in entries:
        view.write_utf(entry.name)
        for data in (entry.key, entry.value):
            view.write_bool(data is not None)
            if data is not None:
                BYTES.write(view, data)


def optional_names(count: int) -> Codec:
    """A bool; if it is set, ``count`` names follow. None if it is not."""

    def read(view: SnapshotView) -> tuple[str, ...] | None:
        return tuple(view.read_utf() for _ in range(count)) if view.read_strict_bool() else None

    def write(view: DataOutputView, names: tuple[str, ...] | None) -> None:
        view.write_bool(names is not None)
        for name in names or ():
            view.write_utf(name)

    return Codec(read, write)


def number(low: int, high: int) -> Codec:
    """An i32 of this range."""

    def read(view: SnapshotView) -> int:
        value = view.read_int()
        if not low <= value <= high:
            view.position -= 4
            raise view.error(f"a number of {value}, expected {low} to {high}")
        return value

    return Codec(read, lambda view, value: view.write_int(value))


def utf_bytes(*texts: str) -> bytes:
    """Texts as ``UTF`` writes them."""
    view = DataOutputView()
    for text in texts:
        view.write_utf(text)
    return view.to_bytes()


STRING = Codec(
    lambda view: view.read_string_value(), lambda view, value: view.write_string_value(value)
)
JAVA = Codec(_read_java, lambda view, value: view.write_bytes(value.data))
JAVA_LIST = list_codec(JAVA, 5)
NAMES = list_codec(UTF, 2)
TEXTS = list_codec(STRING)
NUMBERED_NAMES = list_codec(tuple_codec(UTF, INT), 6)
OPTIONAL_MAP = Codec(_read_optional_map, _write_optional_map)
