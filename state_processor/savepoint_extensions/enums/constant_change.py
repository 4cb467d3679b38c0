"""Constants of enums in serializer snapshots, which get other names or go.

| snapshot of  | constants                       | a value is                                |
|--------------|---------------------------------|-------------------------------------------|
| Java enum    | names, in the order of a job    | i32, the place of its constant among them |
| Scala enum   | names with numbers              | i32, the number of its constant           |

So another name changes no value. Where a constant of a Java enum goes, those behind it move up.

Flink: ``EnumSerializerSnapshot``, ``ScalaEnumSerializerSnapshot``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.snapshots import BASE, SCALA, all_snapshots, inner, with_nested

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_formats.snapshots import TypeSerializerSnapshot

_ENUM = inner(f"{BASE}EnumSerializer")
_SCALA_ENUMS = tuple(f"{package}ScalaEnumSerializerSnapshot" for package in SCALA)


@dataclass(frozen=True, slots=True)
class ConstantChange:
    """Another name for a constant of an enum; None drops the constant."""

    enum_class: str
    old: str
    new: str | None

    def of(self, snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        """The snapshot with the change in each enum of this class.

        Raises ``SchemaChangeError`` if the enum has a constant of the new name.
        """
        changed = with_nested(snapshot, self.of)
        if not _is_of(changed, self.enum_class):
            return changed
        names = _names(changed)
        if self.old not in names:
            return changed
        if self.new in names:
            raise SchemaChangeError(f"enum {self.enum_class} has a constant {self.new!r} already")
        constants = (self._changed(constant) for constant in changed["constants"])
        return changed.with_fields(constants=tuple(known for known in constants if known))

    def _changed(self, constant: Any) -> Any:
        """A name, or a pair of a name and a number; None if it goes."""
        if isinstance(constant, tuple):
            name, number = constant
            new = self._changed(name)
            return None if new is None else (new, number)
        return self.new if constant == self.old else constant


def constants_of(snapshots: Iterable[TypeSerializerSnapshot]) -> dict[str, tuple[str, ...]]:
    """The names of constants by class of enum, in the order in which they are first named."""
    enums: dict[str, dict[str, None]] = {}
    for outer in snapshots:
        for snapshot in all_snapshots(outer):
            if snapshot.class_name in (_ENUM, *_SCALA_ENUMS) and snapshot.names:
                enums.setdefault(snapshot["enum_class"], {}).update(dict.fromkeys(_names(snapshot)))
    return {name: tuple(constants) for name, constants in enums.items()}


def _is_of(snapshot: TypeSerializerSnapshot, enum_class: str) -> bool:
    is_enum = snapshot.class_name in (_ENUM, *_SCALA_ENUMS) and bool(snapshot.names)
    return is_enum and snapshot["enum_class"] == enum_class


def _names(snapshot: TypeSerializerSnapshot) -> tuple[str, ...]:
    if snapshot.class_name == _ENUM:
        return tuple(snapshot["constants"])
    return tuple(name for name, _ in snapshot["constants"])
