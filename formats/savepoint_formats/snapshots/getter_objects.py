"""Lambdas as Java objects: SQL's serializers use them to get a value of a row or an array.

Every getter checks for null first, as in Flink 2.2; those of 1.20 don't if the type admits no null.

Flink: ``RowData.createFieldGetter``, ``ArrayData.createElementGetter``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.java.stream import JavaArray, JavaClass, JavaObject
from savepoint_formats.snapshots.sql_classes import (
    DATA,
    INTEGER,
    OBJECT_ARRAY,
    SQL_CLASSES,
    TEXT,
    java_class,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.layout import LogicalType

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
