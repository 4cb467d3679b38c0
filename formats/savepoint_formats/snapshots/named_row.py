"""Rows whose fields have names, although a snapshot has no place for them.

The serializers of rows store values by position, so that the columns of existing state are named
``f0``, ``f1``... Of new state the names are known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from savepoint_formats.layout import BinaryRow, Framed, Layout, MaskedStruct, Struct
from savepoint_formats.snapshots.shown import ShownSnapshot
from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, eq=False)
class NamedRow(ShownSnapshot):
    """The snapshot of a row, equal to the same without names.

    Attributes:
        fields: The names, in the order of the fields.
    """

    fields: tuple[str, ...] = ()

    @classmethod
    def of(cls, row: TypeSerializerSnapshot, fields: Sequence[str]) -> Self:
        """Raises ``ValueError`` if a name is there twice, or their number is not that of fields."""
        if len(set(fields)) != len(fields) or len(fields) != len(row.nested):
            raise ValueError(
                f"the names {list(fields)} of {len(row.nested)} fields, expected one for each"
            )
        return cls(row.class_name, row.version, row.values, row.names, tuple(fields))

    def layout(self) -> Layout:
        return _renamed(TypeSerializerSnapshot.layout(self), self.fields)


def _renamed(layout: Layout, names: tuple[str, ...]) -> Layout:
    match layout:
        case Framed(inner):
            return Framed(_renamed(inner, names))
        case Struct() | MaskedStruct() | BinaryRow():
            return replace(layout, names=names)
        case _:
            raise TypeError(f"a {type(layout).__name__}, which has no fields")
