"""SQL types as Java objects, as ``RowDataSerializer`` snapshots hold them; read as inert data.

Flink: ``org.apache.flink.table.types.logical``. Each type has its own class below ``LogicalType``,
which holds the root of the type and whether it admits null.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from savepoint_formats.java.stream import (
    SERIALIZABLE,
    WRITE_METHOD,
    JavaArray,
    JavaClass,
    JavaEnum,
    JavaObject,
)
from savepoint_formats.layout import Layout, LogicalType, Opaque
from savepoint_formats.snapshots.sql.raw_serializers import (
    UnknownSerializerError,
    serializer_layout,
)
from savepoint_formats.snapshots.sql.sql_classes import (
    LOGICAL,
    LOGICAL_TYPE,
    SINGLETON,
    SQL_CLASSES,
    TEXT,
    TYPE,
    java_class,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

UNKNOWN = "UNKNOWN"

_ROW_FIELD = java_class(
    f"{LOGICAL}RowType$RowField", (TEXT, "description"), (TEXT, "name"), (TYPE, "type")
)
_ARRAY_LIST = JavaClass(
    "java.util.ArrayList", SERIALIZABLE | WRITE_METHOD, (("I", "size"),), uid=8683452581122892189
)
_UNMODIFIABLE_LIST = java_class(
    "java.util.Collections$UnmodifiableList",
    ("Ljava/util/List;", "list"),
    extends=java_class(
        "java.util.Collections$UnmodifiableCollection",
        ("Ljava/util/Collection;", "c"),
        uid=1820017752578914078,
    ),
    uid=-283967356065247728,
)
# The form of lists that ``List.of`` makes.
_LIST_OF = JavaClass(
    "java.util.CollSer", SERIALIZABLE | WRITE_METHOD, (("I", "tag"),), uid=6309168927139932177
)
_LIST_TAG = 1

DATA_VIEW = "org.apache.flink.table.api.dataview."
"""Package of the views whose entries are in a state of their own; a row has a ``RAW`` null for each."""

_NULL_SERIALIZER = java_class(
    "org.apache.flink.table.dataview.NullSerializer", extends=SINGLETON, uid=-5381596724707742625
)
_RAW = java_class(
    f"{LOGICAL}RawType",
    ("Ljava/lang/Class;", "clazz"),
    ("Lorg/apache/flink/api/common/typeutils/TypeSerializer;", "serializer"),
    extends=LOGICAL_TYPE,
)
_STRUCTURED = java_class(
    f"{LOGICAL}StructuredType",
    ("Z", "isInstantiable"),
    ("Ljava/util/List;", "attributes"),
    (TEXT, "className"),
    ("Lorg/apache/flink/table/types/logical/StructuredType$StructuredComparison;", "comparison"),
    ("Ljava/lang/Class;", "implementationClass"),
    ("Lorg/apache/flink/table/types/logical/StructuredType;", "superType"),
    extends=java_class(
        f"{LOGICAL}UserDefinedType",
        ("Z", "isFinal"),
        (TEXT, "description"),
        ("Lorg/apache/flink/table/catalog/ObjectIdentifier;", "objectIdentifier"),
        extends=LOGICAL_TYPE,
    ),
)
_STRUCTURED_WITHOUT_NAME = replace(
    _STRUCTURED, fields=tuple(it for it in _STRUCTURED.fields if it[1] != "className")
)
_ATTRIBUTE = replace(_ROW_FIELD, name=f"{LOGICAL}StructuredType$StructuredAttribute")

_CHILDREN = {
    "ARRAY": ("elementType",),
    "MULTISET": ("elementType",),
    "MAP": ("keyType", "valueType"),
    "DISTINCT_TYPE": ("sourceType",),
}
_MAX_DEPTH = 50
# Java objects may share other objects, so that few bytes can mean a vast type.
_MAX_TYPES = 20_000


STORED_SCALARS = frozenset(
    [
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL",
        "CHAR",
        "VARCHAR",
        "BINARY",
        "VARBINARY",
        "DATE",
        "TIME_WITHOUT_TIME_ZONE",
        "TIMESTAMP_WITHOUT_TIME_ZONE",
        "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
        "INTERVAL_YEAR_MONTH",
        "INTERVAL_DAY_TIME",
        "NULL",
    ]
)
"""Roots of types that have a slot of a row for themselves."""

_INNER_TYPES: dict[str, int | None] = {
    "ROW": None,
    "STRUCTURED_TYPE": None,
    "ARRAY": 1,
    "MULTISET": 1,
    "DISTINCT_TYPE": 1,
    "MAP": 2,
}
"""Root -> number of types inside; None for any."""


def logical_type(value: Any) -> LogicalType:
    """The type of a Java ``LogicalType``; ``UNKNOWN`` if it is something else, or too deep."""
    return _TypeReader().read(value, 0)


def unstored_root(sql: LogicalType) -> str | None:
    """The root of a type that no row stores, of this one or of one inside; None if there is none."""
    if sql.embedded is not None or sql.root in STORED_SCALARS:
        return None
    if _INNER_TYPES.get(sql.root, -1) not in (None, len(sql.children)):
        return sql.root
    return next(filter(None, map(unstored_root, sql.children)), None)


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
        class_name = _class_name(facts)
        return LogicalType(
            root.constant,
            is_nullable=bool(facts.get("isNullable", True)) or _is_process_time(facts),
            length=_number(facts, "length"),
            precision=_number(facts, "precision"),
            scale=_number(facts, "scale"),
            names=names,
            children=children,
            class_name=class_name,
            raw=self._raw(facts, class_name, depth) if root.constant == "RAW" else None,
            kind=_kind(facts),
        )

    def _raw(self, facts: dict[str, Any], class_name: str, depth: int) -> Layout:
        try:
            return self._layout(facts.get("serializer"), depth + 1)
        except UnknownSerializerError as error:
            return Opaque(class_name, str(error))

    def _layout(self, serializer: Any, depth: int) -> Layout:
        self._types += 1
        if depth > _MAX_DEPTH or self._types > _MAX_TYPES:
            raise UnknownSerializerError("a RAW value of SQL, whose serializer is too deep")
        return serializer_layout(
            serializer,
            part=lambda inner: self._layout(inner, depth + 1),
            sql_type=lambda inner: self.read(inner, depth + 1),
        )

    def _parts(
        self, value: JavaObject, root: str, depth: int
    ) -> tuple[tuple[str, ...], tuple[LogicalType, ...]]:
        if root in _CHILDREN:
            parts = (self.read(value.fields.get(name), depth) for name in _CHILDREN[root])
            return (), tuple(parts)
        described = [
            (str(part.fields.get("name", "")), self.read(part.fields.get("type"), depth))
            for part in _field_objects(value, depth)
        ]
        return tuple(name for name, _ in described), tuple(fact for _, fact in described)


def _number(facts: dict[str, Any], name: str) -> int:
    value = facts.get(name)
    return value if isinstance(value, int) else 0


def _is_process_time(facts: dict[str, Any]) -> bool:
    """Whether it is processing time: rows have null instead, even in a column that is not null."""
    return not facts.get("isNullable", True) and _kind(facts) == "PROCTIME"


def _kind(facts: dict[str, Any]) -> str:
    kind = facts.get("kind", facts.get("comparison"))
    return kind.constant if isinstance(kind, JavaEnum) else "REGULAR"


def _class_name(facts: dict[str, Any]) -> str:
    for name in ("clazz", "implementationClass"):
        fact = facts.get(name)
        if isinstance(fact, JavaClass):
            return fact.name
    return ""


def _field_objects(value: JavaObject, depth: int) -> Iterator[JavaObject]:
    """The fields of a row, or attributes of a structured type; its parent's come first."""
    parent = value.fields.get("superType")
    if isinstance(parent, JavaObject) and depth <= _MAX_DEPTH:
        yield from _field_objects(parent, depth + 1)
    for name in ("fields", "attributes"):
        for item in list_items(value.fields.get(name)):
            if isinstance(item, JavaObject):
                yield item


def list_items(value: Any) -> list[Any]:
    """Elements of an ``ArrayList``, of ``Arrays.asList``, or of a view of a list."""
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


class LogicalTypeObjects:
    """Java objects of SQL types; the same type always gives the same object."""

    def __init__(self) -> None:
        self._objects: dict[int, tuple[LogicalType, JavaObject]] = {}

    def of(self, logical_type: LogicalType) -> JavaObject:
        """The object of a type. Raises ``ValueError`` for types that new rows can't have."""
        is_view = logical_type.root == "RAW" and logical_type.class_name.startswith(DATA_VIEW)
        is_structured = logical_type.root == "STRUCTURED_TYPE" and bool(logical_type.class_name)
        if logical_type.root not in SQL_CLASSES and not is_view and not is_structured:
            known = ", ".join(sorted(SQL_CLASSES))
            raise ValueError(f"the SQL type {logical_type.root}, expected one of {known}")
        # By identity: in Java equal types are different objects.
        if id(logical_type) not in self._objects:
            self._objects[id(logical_type)] = logical_type, self._new(logical_type)
        return self._objects[id(logical_type)][1]

    def _new(self, logical_type: LogicalType) -> JavaObject:
        is_structured = logical_type.root == "STRUCTURED_TYPE"
        own = self._structured(logical_type) if is_structured else self._parts(logical_type)
        facts: dict[str, Any] = {
            "isNullable": logical_type.is_nullable and logical_type.kind != "PROCTIME",
            "typeRoot": JavaEnum(f"{LOGICAL}LogicalTypeRoot", logical_type.root),
            "length": logical_type.length,
            "precision": logical_type.precision,
            "scale": logical_type.scale,
            "kind": JavaEnum(f"{LOGICAL}TimestampKind", logical_type.kind),
            "clazz": JavaClass(logical_type.class_name, 0, (), uid=0),
            "serializer": JavaObject(_NULL_SERIALIZER, {}),
            **own,
        }
        own_class = _class_of(logical_type)
        names = [name for part in (*own_class.ancestors, own_class) for _, name in part.fields]
        return JavaObject(own_class, {name: facts[name] for name in names})

    def _structured(self, logical_type: LogicalType) -> dict[str, Any]:
        attributes = [
            JavaObject(_ATTRIBUTE, {"description": None, "name": name, "type": self.of(child)})
            for name, child in zip(logical_type.names, logical_type.children, strict=True)
        ]
        is_old = logical_type.kind == "NONE"
        comparison = f"{LOGICAL}StructuredType$StructuredComparison"
        return {
            "isFinal": True,
            "description": None,
            "objectIdentifier": None,
            "isInstantiable": True,
            "attributes": _unmodifiable(attributes) if is_old else _immutable(attributes),
            "className": logical_type.class_name,
            "comparison": JavaEnum(comparison, logical_type.kind),
            "implementationClass": JavaClass(logical_type.class_name),
            "superType": None,
        }

    def _parts(self, logical_type: LogicalType) -> dict[str, JavaObject]:
        children = [self.of(child) for child in logical_type.children]
        if logical_type.root != "ROW":
            return dict(zip(_CHILDREN.get(logical_type.root, ()), children, strict=True))
        fields: list[Any] = [
            JavaObject(_ROW_FIELD, {"description": None, "name": name, "type": child})
            for name, child in zip(logical_type.names, children, strict=True)
        ]
        return {"fields": _unmodifiable(fields)}


def _class_of(logical_type: LogicalType) -> JavaClass:
    if logical_type.root == "STRUCTURED_TYPE":
        return _STRUCTURED_WITHOUT_NAME if logical_type.kind == "NONE" else _STRUCTURED
    known = SQL_CLASSES.get(logical_type.root)
    return _RAW if known is None else known.java_class


def _unmodifiable(items: list[Any]) -> JavaObject:
    count = len(items).to_bytes(4, "big")
    inner = JavaObject(_ARRAY_LIST, {"size": len(items)}, [count, *items])
    return JavaObject(_UNMODIFIABLE_LIST, {"c": inner, "list": inner})


def _immutable(items: list[Any]) -> JavaObject:
    count = len(items).to_bytes(4, "big")
    return JavaObject(_LIST_OF, {"tag": _LIST_TAG}, [count, *items])
