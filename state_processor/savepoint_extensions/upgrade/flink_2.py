"""Serializers of Flink 1.x as Flink 2.x makes them for the same classes.

Only collections differ: a field declared as ``List``, ``Map``, ``Set``, ``Collection`` or ``Iterable``
of a type had Kryo in 1.x, and has its own serializer from 2.0 on; see ``extracted``.
Snapshots of Kryo are the same in both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.layout import FLINK_2_COLLECTIONS
from savepoint_formats.snapshots import KRYO, Extraction, kryo_in, with_nested

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.snapshots import Elements, TypeSerializerSnapshot

_END: Any = object()


def of_flink_2(
    snapshot: TypeSerializerSnapshot,
    elements: Sequence[Elements],
    extraction: Extraction | None = None,
) -> TypeSerializerSnapshot:
    """The serializer that Flink 2.x makes where 1.x has made this one.

    ``elements`` has the classes of elements of each collection in it, in order. ``extraction`` is
    that of 2.x, needed only if classes of the user are elements.

    Raises ``SchemaChangeError`` if the number of collections differs, or the class of an element
    is not described well enough.
    """
    left = iter(elements)
    extraction = extraction or Extraction((), kryo_in(snapshot))

    def changed(inner: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        if inner.class_name != KRYO or inner["type_class"] not in FLINK_2_COLLECTIONS:
            return with_nested(inner, changed)
        own = next(left, _END)
        if own is _END:
            raise SchemaChangeError("a serializer has more collections than its values")
        return inner if own is None else extraction.collection(inner["type_class"], own)

    new = changed(snapshot)
    if next(left, _END) is not _END:
        raise SchemaChangeError("a serializer has fewer collections than its values")
    return new
