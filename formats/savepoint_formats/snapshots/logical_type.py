"""SQL types, as ``RowDataSerializer`` snapshots hold them: Java objects, read as inert data.

Flink: ``org.apache.flink.table.types.logical``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_formats.java_stream import JavaArray, JavaClass, JavaEnum, JavaObject
from savepoint_formats.layout import LogicalType

if TYPE_CHECKING:
    from collections.abc import Iterator

UNKNOWN = "UNKNOWN"
_CHILDREN = {
    "ARRAY": ("elementType",),
    "MULTISET": ("elementType",),
    "MAP": ("keyType", "valueType"),
    "DISTINCT_TYPE": ("sourceType",),
}
_MAX_DEPTH = 50
# Java objects may share parts, so that few bytes can stand for a vast type.
_MAX_TYPES = 20_000


def logical_type(value: Any) -> LogicalType:
    """The type that a Java ``LogicalType`` stands for; ``UNKNOWN`` where it is none, or too deep."""
    return _TypeReader().read(value, 0)


class _TypeReader:
    def __init__(self) -> None:
        self._types = 0

    def read(self, value: Any, depth: int) -> LogicalType:
        self._types += 1
        if not isinstance(value, JavaObject) or depth > _MAX_DEPTH or self._types > _MAX_TYPES:
            return LogicalType(UNKNOWN)
        facts = value.fields
        root = facts.get("typeRoot")
        if not isinstance(root, JavaEnum):
            return LogicalType(UNKNOWN, class_name=value.class_name)
        names, children = self._parts(value, root.constant, depth + 1)
        return LogicalType(
            root.constant,
            is_nullable=bool(facts.get("isNullable", True)),
            length=_number(facts, "length"),
            precision=_number(facts, "precision"),
            scale=_number(facts, "scale"),
            names=names,
            children=children,
            class_name=_class_name(facts),
        )

    def _parts(
        self, value: JavaObject, root: str, depth: int
    ) -> tuple[tuple[str, ...], tuple[LogicalType, ...]]:
        """Names and types of what a type is made of."""
        if root in _CHILDREN:
            parts = (self.read(value.fields.get(name), depth) for name in _CHILDREN[root])
            return (), tuple(parts)
        described = [
            (str(part.fields.get("name", "")), self.read(part.fields.get("type"), depth))
            for part in _field_objects(value, depth)
        ]
        return tuple(name for name, _ in described), tuple(found for _, found in described)


def _number(facts: dict[str, Any], name: str) -> int:
    value = facts.get(name)
    return value if isinstance(value, int) else 0


def _class_name(facts: dict[str, Any]) -> str:
    for name in ("clazz", "implementationClass"):
        found = facts.get(name)
        if isinstance(found, JavaClass):
            return found.name
    return ""


def _field_objects(value: JavaObject, depth: int) -> Iterator[JavaObject]:
    """The fields of a row, or the attributes of a structured type behind those of its parent."""
    parent = value.fields.get("superType")
    if isinstance(parent, JavaObject) and depth <= _MAX_DEPTH:
        yield from _field_objects(parent, depth + 1)
    for name in ("fields", "attributes"):
        for item in list_items(value.fields.get(name)):
            if isinstance(item, JavaObject):
                yield item


def list_items(value: Any) -> list[Any]:
    """The elements of a Java list: an ``ArrayList``, ``Arrays.asList``, or a view of one."""
    for _ in range(_MAX_DEPTH):
        match value:
            case JavaObject(fields={"list": inner_list}):
                value = inner_list
            case JavaObject(fields={"a": JavaArray(elements=elements)}):
                return list(elements)
            case JavaObject(annotations=annotations):
                return [item for item in annotations if not isinstance(item, bytes)]
            case _:
                return []
    return []
