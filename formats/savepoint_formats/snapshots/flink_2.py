"""Serializers of Flink 1.x as Flink 2.x makes them of the same classes.

Only collections differ: what is declared as a ``List``, ``Map`` or ``Set`` of a type, or as a
``Collection`` or an ``Iterable``, had Kryo in 1.x, and has a serializer of its own from 2.0 on; see
``extracted``. Snapshots of Kryo are the same in both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.layout import FLINK_2_COLLECTIONS
from savepoint_formats.snapshots.class_names import framed_snapshot, snapshot_bytes
from savepoint_formats.snapshots.extracted import Extraction
from savepoint_formats.snapshots.fields import OptionalEntry
from savepoint_formats.snapshots.kryo import KRYO
from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot
from savepoint_formats.snapshots.subclasses import kryo_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_formats.snapshots.extracted import Elements


def of_flink_2(
    snapshot: TypeSerializerSnapshot,
    elements: Sequence[Elements],
    extraction: Extraction | None = None,
) -> TypeSerializerSnapshot:
    """The serializer that Flink 2.x makes where 1.x has made this one.

    Args:
        snapshot: The serializer.
        elements: Of what its collections are, from the first to the last.
        extraction: That of 2.x, if it is to know classes of the user.

    Raises:
        SchemaChangeError: The number of collections is another, or one has elements of a class
            of which nobody has said enough.
    """
    left = iter(elements)
    changed = _Changes(left, extraction or Extraction((), kryo_in(snapshot))).of(snapshot)
    if next(left, _END) is not _END:
        raise SchemaChangeError("a serializer has fewer collections than its values")
    return changed


_END: Any = object()


class _Changes:
    """Changes collections, one after the other."""

    def __init__(self, left: Iterator[Elements], extraction: Extraction) -> None:
        self._left, self._extraction = left, extraction

    def of(self, snapshot: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        """The snapshot with collections as 2.x has them."""
        if snapshot.class_name == KRYO and snapshot["type_class"] in FLINK_2_COLLECTIONS:
            elements = next(self._left, _END)
            if elements is _END:
                raise SchemaChangeError("a serializer has more collections than its values")
            if elements is None:
                return snapshot
            return self._extraction.collection(snapshot["type_class"], elements)
        return replace(snapshot, values=tuple(map(self._value, snapshot.values)))

    def _value(self, value: Any) -> Any:
        """A field of a body."""
        match value:
            case TypeSerializerSnapshot():
                return self.of(value)
            case OptionalEntry():
                inside = framed_snapshot(value)
                if inside is None:
                    return value
                changed = self.of(inside)
                return value if changed == inside else replace(value, value=snapshot_bytes(changed))
            case tuple():
                return tuple(map(self._value, value))
            case _:
                return value
