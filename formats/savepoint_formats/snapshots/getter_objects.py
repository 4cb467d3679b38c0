"""Lambdas as Java objects: SQL's serializers use them to get a value of a row or an array.

Java finds the body of a lambda by a name that its compiler made up. The names here are those of the
released jars of Flink 1.20 and 2.2, which agree. Every getter checks for null first, as in 2.2;
those of 1.20 don't if the type admits no null.

Flink: ``RowData.createFieldGetter``, ``ArrayData.createElementGetter``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.java.stream import SERIALIZABLE, JavaArray, JavaClass, JavaObject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.layout import LogicalType

# Java has only one Integer object for each of these numbers.
_INTEGER_CACHE = range(-128, 128)
_INVOKE_STATIC, _INVOKE_INTERFACE = 6, 9

_DATA = "org/apache/flink/table/data/"
_OBJECT_ARRAY = JavaClass("[Ljava.lang.Object;", SERIALIZABLE, uid=-8012369246846506644)
_NUMBER = JavaClass("java.lang.Number", SERIALIZABLE, uid=-8742448824652078965)
_INTEGER = JavaClass(
    "java.lang.Integer", SERIALIZABLE, (("I", "value"),), (_NUMBER,), 1360826667806852920
)
_LAMBDA = JavaClass(
    "java.lang.invoke.SerializedLambda",
    SERIALIZABLE,
    (
        ("I", "implMethodKind"),
        ("[Ljava/lang/Object;", "capturedArgs"),
        ("Ljava/lang/Class;", "capturingClass"),
        ("Ljava/lang/String;", "functionalInterfaceClass"),
        ("Ljava/lang/String;", "functionalInterfaceMethodName"),
        ("Ljava/lang/String;", "functionalInterfaceMethodSignature"),
        ("Ljava/lang/String;", "implClass"),
        ("Ljava/lang/String;", "implMethodName"),
        ("Ljava/lang/String;", "implMethodSignature"),
        ("Ljava/lang/String;", "instantiatedMethodType"),
    ),
    uid=8025925345765570181,
)


@dataclass(frozen=True, slots=True)
class _Getters:
    """The getters of a class ``data``: interface, method, and the type of its index if it has one.

    ``bodies`` maps the root of a type to the end of the body's name, behind
    ``lambda$create…Getter$``; ``checked`` is that of the getter that checks for null.
    """

    data: str
    name: str
    method: str
    index: str
    bodies: dict[str, str]
    checked: str

    @property
    def interface(self) -> str:
        return f"{_DATA}{self.data}${self.name}"

    def signature(self, *captured: str) -> str:
        """The type of the interface's method, or of a body with captured values."""
        return f"({''.join(captured)}L{_DATA}{self.data};{self.index})Ljava/lang/Object;"

    def body(self, suffix: str) -> str:
        return f"lambda$create{self.name}${suffix}"


_FIELD = _Getters(
    data="RowData",
    name="FieldGetter",
    method="getFieldOrNull",
    index="",
    bodies={
        "CHAR": "245ca7d1$1",
        "VARCHAR": "245ca7d1$1",
        "BOOLEAN": "245ca7d1$2",
        "BINARY": "245ca7d1$3",
        "VARBINARY": "245ca7d1$3",
        "TINYINT": "245ca7d1$4",
        "SMALLINT": "245ca7d1$5",
        "INTEGER": "245ca7d1$6",
        "DATE": "245ca7d1$6",
        "TIME_WITHOUT_TIME_ZONE": "245ca7d1$6",
        "BIGINT": "245ca7d1$7",
        "FLOAT": "245ca7d1$8",
        "DOUBLE": "245ca7d1$9",
        "ARRAY": "245ca7d1$10",
        "MAP": "245ca7d1$11",
        "MULTISET": "245ca7d1$11",
        "DECIMAL": "89bd9445$1",
        "TIMESTAMP_WITHOUT_TIME_ZONE": "39385f9c$1",
        "TIMESTAMP_WITH_LOCAL_TIME_ZONE": "39385f9c$1",
        "ROW": "1547cee5$1",
    },
    checked="25774257$1",
)
_ELEMENT = _Getters(
    data="ArrayData",
    name="ElementGetter",
    method="getElementOrNull",
    index="I",
    bodies={
        "DECIMAL": "55d7a3db$1",
        "TIMESTAMP_WITHOUT_TIME_ZONE": "644eb446$1",
        "TIMESTAMP_WITH_LOCAL_TIME_ZONE": "644eb446$1",
        "ROW": "3705b7fb$1",
    },
    checked="95d74a6c$1",
)
# For these elements the getter is a method of the array itself.
_METHODS: dict[str, tuple[str, str]] = {
    "CHAR": ("getString", f"L{_DATA}StringData;"),
    "VARCHAR": ("getString", f"L{_DATA}StringData;"),
    "BOOLEAN": ("getBoolean", "Z"),
    "BINARY": ("getBinary", "[B"),
    "VARBINARY": ("getBinary", "[B"),
    "TINYINT": ("getByte", "B"),
    "SMALLINT": ("getShort", "S"),
    "INTEGER": ("getInt", "I"),
    "DATE": ("getInt", "I"),
    "TIME_WITHOUT_TIME_ZONE": ("getInt", "I"),
    "BIGINT": ("getLong", "J"),
    "FLOAT": ("getFloat", "F"),
    "DOUBLE": ("getDouble", "D"),
    "ARRAY": ("getArray", f"L{_DATA}ArrayData;"),
    "MAP": ("getMap", f"L{_DATA}MapData;"),
    "MULTISET": ("getMap", f"L{_DATA}MapData;"),
}


class GetterObjects:
    """Java objects of getters in one stream."""

    def __init__(self) -> None:
        self._boxes: dict[int, JavaObject] = {}
        self._methods: dict[str, JavaObject] = {}

    def field(self, index: int, logical_type: LogicalType) -> JavaObject:
        """The getter of a row's field."""
        numbers = (index, *_facts(logical_type))
        inner = self._static(_FIELD, _FIELD.bodies[logical_type.root], numbers)
        signature = _FIELD.signature("I", f"L{_FIELD.interface};")
        body = _FIELD.body(_FIELD.checked)
        return _lambda(_FIELD, _INVOKE_STATIC, body, signature, [self._box(index), inner])

    def element(self, logical_type: LogicalType) -> JavaObject:
        """The getter of an array's elements."""
        if logical_type.root in _METHODS:
            inner = self._method(*_METHODS[logical_type.root])
        else:
            inner = self._static(_ELEMENT, _ELEMENT.bodies[logical_type.root], _facts(logical_type))
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
            return JavaObject(_INTEGER, {"value": number})
        return self._boxes.setdefault(number, JavaObject(_INTEGER, {"value": number}))


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
            "capturedArgs": JavaArray(_OBJECT_ARRAY, list(captured)),
            "capturingClass": JavaClass(f"{_DATA}{getters.data}".replace("/", ".")),
            "functionalInterfaceClass": getters.interface,
            "functionalInterfaceMethodName": getters.method,
            "functionalInterfaceMethodSignature": getters.signature(),
            "implClass": f"{_DATA}{getters.data}",
            "implMethodName": method,
            "implMethodSignature": signature,
            "instantiatedMethodType": getters.signature(),
        },
    )
