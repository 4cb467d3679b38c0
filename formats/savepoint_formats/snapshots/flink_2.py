"""Serializers of Flink 1.x as Flink 2.x makes them of the same classes.

Only collections differ: what is declared as a ``List``, ``Map`` or ``Set`` of a type, or as a
``Collection`` or an ``Iterable``, had Kryo in 1.x, and has a serializer of its own from 2.0 on. Snapshots of Kryo are the same in both.

| declared    | serializer of 2.x                                 |
|-------------|---------------------------------------------------|
| List<T>, …  | nullable list of nullable T                       |
| Set<T>      | nullable set of T                                 |
| Map<K, V>   | nullable map of nullable K, and V                 |

Flink: ``NullableListTypeInfo``, ``NullableSetTypeInfo``, ``NullableMapTypeInfo`` of 2.0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.layout import FLINK_2_COLLECTIONS
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.class_names import framed_snapshot, snapshot_bytes
from savepoint_formats.snapshots.fields import OptionalEntry
from savepoint_formats.snapshots.kryo import KRYO
from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Elements = tuple[str, ...] | None
    """The classes of elements, or of keys and values; None of a collection that Kryo keeps."""

_OF_CLASS: dict[str, Callable[[], TypeSerializerSnapshot]] = {
    "java.lang.Boolean": constructed.boolean,
    "java.lang.Byte": constructed.byte,
    "java.lang.Short": constructed.short,
    "java.lang.Integer": constructed.integer,
    "java.lang.Long": constructed.long,
    "java.lang.Float": constructed.single,
    "java.lang.Double": constructed.double,
    "java.lang.Character": constructed.char,
    "java.lang.String": constructed.string,
    "java.math.BigInteger": constructed.big_int,
    "java.math.BigDecimal": constructed.big_dec,
    "java.util.Date": constructed.date,
    "java.sql.Date": constructed.sql_date,
    "java.sql.Time": constructed.sql_time,
    "java.sql.Timestamp": constructed.sql_timestamp,
    "java.time.Instant": constructed.instant,
    "java.time.LocalDate": constructed.local_date,
    "java.time.LocalTime": constructed.local_time,
    "java.time.LocalDateTime": constructed.local_date_time,
}


def has_own_serializer(class_name: str) -> bool:
    """Whether Flink has a serializer of its own for a class of the JDK."""
    return class_name in _OF_CLASS


def of_flink_2(
    snapshot: TypeSerializerSnapshot, elements: Sequence[Elements]
) -> TypeSerializerSnapshot:
    """The serializer that Flink 2.x makes where 1.x has made this one.

    Args:
        snapshot: The serializer.
        elements: Of what its collections are, from the first to the last.

    Raises:
        SchemaChangeError: The number of collections is another, or one has elements of a class
            that has no serializer of its own.
    """
    left = iter(elements)
    changed = _changed(snapshot, left)
    if next(left, _END) is not _END:
        raise SchemaChangeError("a serializer has fewer collections than its values")
    return changed


_END: Any = object()


def _changed(snapshot: TypeSerializerSnapshot, left: Iterator[Elements]) -> TypeSerializerSnapshot:
    if snapshot.class_name == KRYO and snapshot["type_class"] in FLINK_2_COLLECTIONS:
        of_what = next(left, _END)
        if of_what is _END:
            raise SchemaChangeError("a serializer has more collections than its values")
        return snapshot if of_what is None else _collection(snapshot["type_class"], of_what)
    values = tuple(_value(value, left) for value in snapshot.values)
    return replace(snapshot, values=values)


def _value(value: Any, left: Iterator[Elements]) -> Any:
    """A field of a body."""
    match value:
        case TypeSerializerSnapshot():
            return _changed(value, left)
        case OptionalEntry():
            inside = framed_snapshot(value)
            if inside is None:
                return value
            changed = _changed(inside, left)
            return value if changed == inside else replace(value, value=snapshot_bytes(changed))
        case tuple():
            return tuple(_value(part, left) for part in value)
        case _:
            return value


def _collection(class_name: str, elements: tuple[str, ...]) -> TypeSerializerSnapshot:
    nullable = constructed.nullable
    of_what = list(map(_of_class, elements))
    match FLINK_2_COLLECTIONS[class_name], of_what:
        case "list", [element]:
            return nullable(constructed.list_of(nullable(element)))
        case "set", [element]:
            return nullable(constructed.set_of(element))
        case "map", [key, value]:
            return nullable(constructed.map_of(nullable(key), value))
        case _:
            raise SchemaChangeError(f"a {class_name} of {len(elements)} types")


def _of_class(class_name: str) -> TypeSerializerSnapshot:
    if class_name not in _OF_CLASS:
        raise SchemaChangeError(f"elements of {class_name}, which has no serializer of its own")
    return _OF_CLASS[class_name]()
