"""Snapshots that know more of their values than a savepoint has a place for.

They are equal to the same without, and written as the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot


@dataclass(frozen=True, slots=True, eq=False)
class ShownSnapshot(TypeSerializerSnapshot):
    """A snapshot whose layout says more than its bytes do."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TypeSerializerSnapshot):
            return NotImplemented
        return self._content() == (other.class_name, other.version, other.values, other.names)

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[object, ...]:
        return self.class_name, self.version, self.values, self.names
