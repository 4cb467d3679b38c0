"""Knowledge about values that the snapshot of their serializer doesn't store.

A snapshot with such knowledge equals the plain one, and is written as the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.layout import Layout, with_kryo, with_kryo_classes, with_open_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot as Snapshot


@dataclass(frozen=True, slots=True)
class ShownAs:
    """Another layout of the same bytes: names from elsewhere, or what PyFlink writes in them."""

    shown: Layout

    def __call__(self, _stored: Layout) -> Layout:
        return self.shown


@dataclass(frozen=True, slots=True)
class FieldNames:
    """Names of the fields of a row; stored rows only have positions: f0, f1..."""

    names: tuple[str, ...]

    def __call__(self, stored: Layout) -> Layout:
        match stored:
            case layouts.Framed(inner):
                return layouts.Framed(self(inner))
            case layouts.Struct() | layouts.MaskedStruct() | layouts.BinaryRow():
                return replace(stored, names=self.names)
            case _:
                raise TypeError(f"a {type(stored).__name__}, which has no fields")


@dataclass(frozen=True, slots=True)
class ClosedValues:
    """Values of plug-ins without a place for bytes that are not decoded, because they are new."""

    def __call__(self, stored: Layout) -> Layout:
        return with_open_objects(stored, is_open=False)


@dataclass(frozen=True, slots=True)
class WrittenKryo:
    """The version of Kryo that objects are written for, and the classes that the user described.

    ``is_open`` says whether columns hold the bytes of objects that were not decoded.
    """

    classes: tuple[layouts.KryoClass, ...]
    version: str
    is_open: bool = True

    def __call__(self, stored: Layout) -> Layout:
        return with_kryo(
            with_kryo_classes(stored, self.classes),
            lambda kryo: replace(kryo, version=self.version, is_open=self.is_open),
        )


def named_row(row: Snapshot, fields: Sequence[str]) -> Snapshot:
    """The snapshot of a row whose fields have names.

    Raises ``ValueError`` if a name comes twice, or the row has more or fewer fields.
    """
    if len(set(fields)) != len(fields) or len(fields) != len(row.nested):
        raise ValueError(
            f"the names {list(fields)} of {len(row.nested)} fields, expected one for each"
        )
    return replace(row, shown=FieldNames(tuple(fields)))


def like_parts(snapshot: Snapshot, parts: Iterable[Snapshot]) -> Snapshot:
    """A snapshot that holds others as bytes, written for the same Kryo as these.

    Raises ``ValueError`` if two are for different versions of Kryo.
    """
    written = [kryo for part in parts for kryo in _written(part)]
    versions = {kryo.version for kryo in written}
    if not written:
        return snapshot
    if len(versions) > 1:
        raise ValueError(f"objects for Kryo {' and '.join(sorted(versions))} in one type")
    classes = dict.fromkeys(known for kryo in written for known in kryo.classes)
    return replace(snapshot, shown=replace(written[0], classes=tuple(classes)))


def _written(snapshot: Snapshot) -> list[WrittenKryo]:
    if isinstance(snapshot.shown, WrittenKryo):
        return [snapshot.shown]
    return [kryo for part in snapshot.nested for kryo in _written(part)]
