"""Serializers whose objects of Kryo are to be written: for one of its versions, of described classes.

A savepoint keeps neither. What is the same to Flink lies otherwise in its next version.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from savepoint_formats.layout import with_kryo, with_kryo_classes
from savepoint_formats.snapshots.shown import ShownSnapshot
from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_formats.layout import KryoClass, Layout


@dataclass(frozen=True, slots=True, eq=False)
class WrittenKryo(ShownSnapshot):
    """A snapshot whose objects of Kryo can be written.

    Attributes:
        classes: The classes that the user described.
        kryo_version: The Kryo that is to read them.
        is_open: Whether columns have the bytes of what was not decoded.
    """

    classes: tuple[KryoClass, ...] = ()
    kryo_version: str = ""
    is_open: bool = True

    @classmethod
    def of(
        cls,
        snapshot: TypeSerializerSnapshot,
        classes: Iterable[KryoClass],
        kryo_version: str,
        *,
        is_open: bool = True,
    ) -> Self:
        """The snapshot, written so."""
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
    """A snapshot that holds the bytes of others, written as they are.

    Raises:
        ValueError: Two are for different versions of Kryo.
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
