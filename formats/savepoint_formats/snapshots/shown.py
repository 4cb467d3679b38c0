"""Snapshots that know more about values than a savepoint stores.

They are equal to the plain snapshot and are written as the same bytes.

| class       | knows                                                                      |
|-------------|----------------------------------------------------------------------------|
| NamedRow    | names of the fields of a row; stored rows only have positions: f0, f1...   |
| WrittenKryo | the version of Kryo to write for, and the classes that the user described  |
| ShownAs     | names of fields from elsewhere, or what PyFlink writes in the bytes        |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from savepoint_formats import layout as layouts
from savepoint_formats.layout import Layout, with_kryo, with_kryo_classes
from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True, eq=False)
class _ShownSnapshot(TypeSerializerSnapshot):
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TypeSerializerSnapshot):
            return NotImplemented
        return self._content() == (other.class_name, other.version, other.values, other.names)

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[object, ...]:
        return self.class_name, self.version, self.values, self.names


@dataclass(frozen=True, slots=True, eq=False)
class ShownAs(_ShownSnapshot):
    """A snapshot whose values have a layout with other names."""

    shown: Layout | None = None

    @classmethod
    def of(cls, snapshot: TypeSerializerSnapshot, shown: Layout) -> Self:
        """The snapshot with this layout, which must have the same bytes."""
        return cls(snapshot.class_name, snapshot.version, snapshot.values, snapshot.names, shown)

    def layout(self) -> Layout:
        return TypeSerializerSnapshot.layout(self) if self.shown is None else self.shown


@dataclass(frozen=True, slots=True, eq=False)
class NamedRow(_ShownSnapshot):
    """The snapshot of a row whose fields have names."""

    fields: tuple[str, ...] = ()

    @classmethod
    def of(cls, row: TypeSerializerSnapshot, fields: Sequence[str]) -> Self:
        """Raises ``ValueError`` if a name comes twice, or the row has more or fewer fields."""
        if len(set(fields)) != len(fields) or len(fields) != len(row.nested):
            raise ValueError(
                f"the names {list(fields)} of {len(row.nested)} fields, expected one for each"
            )
        return cls(row.class_name, row.version, row.values, row.names, tuple(fields))

    def layout(self) -> Layout:
        return _renamed(TypeSerializerSnapshot.layout(self), self.fields)


def _renamed(layout: Layout, names: tuple[str, ...]) -> Layout:
    match layout:
        case layouts.Framed(inner):
            return layouts.Framed(_renamed(inner, names))
        case layouts.Struct() | layouts.MaskedStruct() | layouts.BinaryRow():
            return replace(layout, names=names)
        case _:
            raise TypeError(f"a {type(layout).__name__}, which has no fields")


@dataclass(frozen=True, slots=True, eq=False)
class WrittenKryo(_ShownSnapshot):
    """A snapshot whose Kryo objects can be written.

    ``is_open`` says whether columns hold the bytes of objects that were not decoded.
    """

    classes: tuple[layouts.KryoClass, ...] = ()
    kryo_version: str = ""
    is_open: bool = True

    @classmethod
    def of(
        cls,
        snapshot: TypeSerializerSnapshot,
        classes: Iterable[layouts.KryoClass],
        kryo_version: str,
        *,
        is_open: bool = True,
    ) -> Self:
        """The snapshot with these facts."""
        content = snapshot.class_name, snapshot.version, snapshot.values, snapshot.names
        return cls(*content, tuple(classes), kryo_version, is_open)

    def layout(self) -> Layout:
        layout = with_kryo_classes(TypeSerializerSnapshot.layout(self), self.classes)
        return with_kryo(
            layout,
            lambda kryo: replace(kryo, version=self.kryo_version, is_open=self.is_open),
        )


def like_parts(
    snapshot: TypeSerializerSnapshot, parts: Iterable[TypeSerializerSnapshot]
) -> TypeSerializerSnapshot:
    """A snapshot that holds others as bytes, written for the Kryo that they are written for.

    Raises ``ValueError`` if two are for different versions of Kryo.
    """
    written = [kryo for part in parts for kryo in _written(part)]
    versions = {kryo.kryo_version for kryo in written}
    if not written:
        return snapshot
    if len(versions) > 1:
        raise ValueError(f"objects for Kryo {' and '.join(sorted(versions))} in one type")
    classes = dict.fromkeys(known for kryo in written for known in kryo.classes)
    return WrittenKryo.of(snapshot, classes, versions.pop(), is_open=written[0].is_open)


def _written(snapshot: TypeSerializerSnapshot) -> list[WrittenKryo]:
    if isinstance(snapshot, WrittenKryo):
        return [snapshot]
    return [kryo for part in snapshot.nested for kryo in _written(part)]
