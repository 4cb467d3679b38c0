"""Serializers of SQL values as Java objects, which snapshots of arrays and maps hold.

They have lambdas that get a value of a row or an array. Every getter checks for null first, as in Flink
2.2; those of 1.20 don't if the type admits no null.

Flink: ``InternalSerializers``, ``RowData.createFieldGetter``, ``ArrayData.createElementGetter``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.java.stream import JavaArray, JavaClass, JavaObject
from savepoint_formats.layout import LogicalType
from savepoint_formats.snapshots.sql.logical_type import LogicalTypeObjects
from savepoint_formats.snapshots.sql.sql_classes import (
    DATA,
    INTEGER,
    OBJECT_ARRAY,
    SERIALIZER,
    SINGLETON,
    SQL_CLASSES,
    SQL_SERIALIZERS,
    TEXT,
    TYPE,
    TYPE_ARRAY,
    java_array,
    java_class,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


# Java has only one Integer object for each of these numbers.
_INTEGER_CACHE = range(-128, 128)
_INVOKE_STATIC, _INVOKE_INTERFACE = 6, 9

_LAMBDA = java_class(
    "java.lang.invoke.SerializedLambda",
    ("I", "implMethodKind"),
    ("[Ljava/lang/Object;", "capturedArgs"),
    ("Ljava/lang/Class;", "capturingClass"),
    (TEXT, "functionalInterfaceClass"),
    (TEXT, "functionalInterfaceMethodName"),
    (TEXT, "functionalInterfaceMethodSignature"),
    (TEXT, "implClass"),
    (TEXT, "implMethodName"),
    (TEXT, "implMethodSignature"),
    (TEXT, "instantiatedMethodType"),
    uid=8025925345765570181,
)


@dataclass(frozen=True, slots=True)
class _Getters:
    """The getters of a class ``data``: interface, method, and the type of its index if it has one.

    ``checked`` is the end of the name of the getter that checks for null.
    """

    data: str
    name: str
    method: str
    index: str
    checked: str

    @property
    def interface(self) -> str:
        return f"{DATA}{self.data}${self.name}"

    def signature(self, *captured: str) -> str:
        """The type of the interface's method, or of a body with captured values."""
        return f"({''.join(captured)}L{DATA}{self.data};{self.index})Ljava/lang/Object;"

    def body(self, suffix: str) -> str:
        return f"lambda$create{self.name}${suffix}"


_FIELD = _Getters("RowData", "FieldGetter", "getFieldOrNull", "", "25774257$1")
_ELEMENT = _Getters("ArrayData", "ElementGetter", "getElementOrNull", "I", "95d74a6c$1")


class GetterObjects:
    """Java objects of getters in one stream."""

    def __init__(self) -> None:
        self._boxes: dict[int, JavaObject] = {}
        self._methods: dict[str, JavaObject] = {}

    def field(self, index: int, logical_type: LogicalType) -> JavaObject:
        """The getter of a row's field."""
        numbers = (index, *_facts(logical_type))
        inner = self._static(_FIELD, SQL_CLASSES[logical_type.root].of_field, numbers)
        signature = _FIELD.signature("I", f"L{_FIELD.interface};")
        body = _FIELD.body(_FIELD.checked)
        return _lambda(_FIELD, _INVOKE_STATIC, body, signature, [self._box(index), inner])

    def element(self, logical_type: LogicalType) -> JavaObject:
        """The getter of an array's elements."""
        sql = SQL_CLASSES[logical_type.root]
        if sql.of_element:
            inner = self._static(_ELEMENT, sql.of_element, _facts(logical_type))
        else:
            inner = self._method(sql.getter, sql.result)
        signature = _ELEMENT.signature(f"L{_ELEMENT.interface};")
        body = _ELEMENT.body(_ELEMENT.checked)
        return _lambda(_ELEMENT, _INVOKE_STATIC, body, signature, [inner])

    def _method(self, name: str, result: str) -> JavaObject:
        """A reference to a method; it captures nothing and so is a single object."""
        made = _lambda(_ELEMENT, _INVOKE_INTERFACE, name, f"(I){result}", [])
        return self._methods.setdefault(name, made)

    def _static(self, getters: _Getters, suffix: str, numbers: Sequence[int]) -> JavaObject:
        signature = getters.signature("I" * len(numbers))
        captured = [self._box(number) for number in numbers]
        return _lambda(getters, _INVOKE_STATIC, getters.body(suffix), signature, captured)

    def _box(self, number: int) -> JavaObject:
        if number not in _INTEGER_CACHE:
            return JavaObject(INTEGER, {"value": number})
        return self._boxes.setdefault(number, JavaObject(INTEGER, {"value": number}))


def _facts(logical_type: LogicalType) -> tuple[int, ...]:
    """Numbers that the getter of a type captures."""
    match logical_type.root:
        case "DECIMAL":
            return logical_type.precision, logical_type.scale
        case "TIMESTAMP_WITHOUT_TIME_ZONE" | "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
            return (logical_type.precision,)
        case "ROW":
            return (len(logical_type.children),)
        case _:
            return ()


def _lambda(
    getters: _Getters, kind: int, method: str, signature: str, captured: list[JavaObject]
) -> JavaObject:
    return JavaObject(
        _LAMBDA,
        {
            "implMethodKind": kind,
            "capturedArgs": JavaArray(OBJECT_ARRAY, list(captured)),
            "capturingClass": JavaClass(f"{DATA}{getters.data}".replace("/", ".")),
            "functionalInterfaceClass": getters.interface,
            "functionalInterfaceMethodName": getters.method,
            "functionalInterfaceMethodSignature": getters.signature(),
            "implClass": f"{DATA}{getters.data}",
            "implMethodName": method,
            "implMethodSignature": signature,
            "instantiatedMethodType": getters.signature(),
        },
    )


_SERIALIZER = "Lorg/apache/flink/api/common/typeutils/TypeSerializer;"
_ELEMENT_GETTER = "Lorg/apache/flink/table/data/ArrayData$ElementGetter;"
_FIELD_GETTER = "Lorg/apache/flink/table/data/RowData$FieldGetter;"


def _class(
    name: str, *fields: tuple[str, str], extends: JavaClass = SERIALIZER, uid: int = 1
) -> JavaClass:
    return java_class(f"{SQL_SERIALIZERS}{name}", *fields, extends=extends, uid=uid)


_ABSTRACT_ROW = _class("AbstractRowDataSerializer", extends=_class("PagedTypeSerializer"))
_DECIMAL = _class("DecimalDataSerializer", ("I", "precision"), ("I", "scale"))
_TIMESTAMP = _class("TimestampDataSerializer", ("I", "precision"))
_ARRAY = _class(
    "ArrayDataSerializer",
    (_SERIALIZER, "eleSer"),
    (TYPE, "eleType"),
    (_ELEMENT_GETTER, "elementGetter"),
)
_MAP = _class(
    "MapDataSerializer",
    (_ELEMENT_GETTER, "keyGetter"),
    (_SERIALIZER, "keySerializer"),
    (TYPE, "keyType"),
    (_ELEMENT_GETTER, "valueGetter"),
    (_SERIALIZER, "valueSerializer"),
    (TYPE, "valueType"),
    uid=4073842523628732956,
)
_ROW = _class(
    "RowDataSerializer",
    ("Lorg/apache/flink/table/runtime/typeutils/BinaryRowDataSerializer;", "binarySerializer"),
    (f"[{_FIELD_GETTER}", "fieldGetters"),
    (f"[{_SERIALIZER}", "fieldSerializers"),
    (f"[{TYPE}", "types"),
    extends=_ABSTRACT_ROW,
)
_BINARY_ROW = _class(
    "BinaryRowDataSerializer",
    ("I", "fixedLengthPartSize"),
    ("I", "numFields"),
    extends=_ABSTRACT_ROW,
)
_GETTER_ARRAY = java_array(_FIELD_GETTER, -7646304539732967285)
_SERIALIZER_ARRAY = java_array(_SERIALIZER, 4143624638847974296)


class SerializerObjects:
    """Java objects of serializers in one stream."""

    def __init__(self) -> None:
        self._types = LogicalTypeObjects()
        self._getters = GetterObjects()
        self._singletons: dict[str, JavaObject] = {}

    def of(self, logical_type: LogicalType) -> JavaObject:
        """The serializer of a type. Raises ``ValueError`` for types that new rows can't have."""
        match logical_type.root:
            case "DECIMAL":
                return JavaObject(
                    _DECIMAL, {"precision": logical_type.precision, "scale": logical_type.scale}
                )
            case "TIMESTAMP_WITHOUT_TIME_ZONE" | "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
                return JavaObject(_TIMESTAMP, {"precision": logical_type.precision})
            case "ARRAY":
                return self._array(*logical_type.children)
            case "MAP":
                return self._map(logical_type.children)
            case "MULTISET":
                return self._map((*logical_type.children, count_type()))
            case "ROW":
                return self._row(logical_type.children)
            case _:
                return self._singleton(logical_type)

    def _singleton(self, logical_type: LogicalType) -> JavaObject:
        name = singleton(logical_type.root)
        if not name:
            raise ValueError(f"the SQL type {logical_type.root}, whose serializer is not known")
        return self._singletons.setdefault(name, JavaObject(java_class(name, extends=SINGLETON)))

    def _array(self, element: LogicalType) -> JavaObject:
        return JavaObject(
            _ARRAY,
            {
                "eleSer": self.of(element),
                "eleType": self._types.of(element),
                "elementGetter": self._getters.element(element),
            },
        )

    def _map(self, parts: tuple[LogicalType, ...]) -> JavaObject:
        made = JavaObject(_MAP)
        for role, part in zip(("key", "value"), parts, strict=True):
            made.fields[f"{role}Getter"] = self._getters.element(part)
            made.fields[f"{role}Serializer"] = self.of(part)
            made.fields[f"{role}Type"] = self._types.of(part)
        return made

    def _row(self, fields: tuple[LogicalType, ...]) -> JavaObject:
        arity = len(fields)
        getters = [self._getters.field(index, part) for index, part in enumerate(fields)]
        return JavaObject(
            _ROW,
            {
                "binarySerializer": JavaObject(
                    _BINARY_ROW,
                    {"fixedLengthPartSize": _fixed_part_size(arity), "numFields": arity},
                ),
                "fieldGetters": JavaArray(_GETTER_ARRAY, [*getters]),
                "fieldSerializers": JavaArray(
                    _SERIALIZER_ARRAY, [self.of(field) for field in fields]
                ),
                "types": JavaArray(TYPE_ARRAY, [self._types.of(field) for field in fields]),
            },
        )


def singleton(root: str) -> str:
    """The class of the serializer of a SQL type, if it has no fields; empty for other types."""
    known = SQL_CLASSES.get(root)
    return "" if known is None else known.serializer


def count_type() -> LogicalType:
    """The type of the counts in a MULTISET, which is stored as a map from element to count."""
    return LogicalType("INTEGER", is_nullable=False)


def _fixed_part_size(arity: int) -> int:
    """Bytes of a binary row's kind, null bits and slots."""
    return (arity + 8 + 63) // 64 * 8 + 8 * arity
