"""Java's classes of SQL types: of the types themselves, of their values, and getters of rows.

Java finds the body of a lambda by a name that its compiler made up. The names and classes here are
the same in the released jars of Flink 1.20 and 2.2.

Flink: ``org.apache.flink.table.types.logical``, ``RowData.createFieldGetter``,
``ArrayData.createElementGetter``, ``InternalSerializers``.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.java.stream import SERIALIZABLE, JavaClass
from savepoint_formats.snapshots.basic import BASE

LOGICAL = "org.apache.flink.table.types.logical."
TYPE = "Lorg/apache/flink/table/types/logical/LogicalType;"
DATA = "org/apache/flink/table/data/"
SQL_SERIALIZERS = "org.apache.flink.table.runtime.typeutils."
TEXT = "Ljava/lang/String;"


def java_class(
    name: str, *fields: tuple[str, str], extends: JavaClass | None = None, uid: int = 1
) -> JavaClass:
    """A class of Java that can be serialized; ``fields`` are pairs of type and name."""
    ancestors = () if extends is None else (*extends.ancestors, extends)
    return JavaClass(name, SERIALIZABLE, fields, ancestors, uid)


def java_array(element: str, uid: int) -> JavaClass:
    """The class of arrays of a type such as ``I`` or ``Ljava/lang/Object;``."""
    return java_class(f"[{element}".replace("/", "."), uid=uid)


_NUMBER = java_class("java.lang.Number", uid=-8742448824652078965)


def _number(name: str, kind: str, uid: int) -> JavaClass:
    return java_class(f"java.lang.{name}", (kind, "value"), extends=_NUMBER, uid=uid)


INTEGER = _number("Integer", "I", 1360826667806852920)
OBJECT_ARRAY = java_array("Ljava/lang/Object;", -8012369246846506644)
TYPE_ARRAY = java_array(TYPE, 1744097763440828726)

SERIALIZER = java_class("org.apache.flink.api.common.typeutils.TypeSerializer")
SINGLETON = java_class(
    f"{BASE}TypeSerializerSingleton", extends=SERIALIZER, uid=8766687317209282373
)
LOGICAL_TYPE = java_class(
    f"{LOGICAL}LogicalType",
    ("Z", "isNullable"),
    ("Lorg/apache/flink/table/types/logical/LogicalTypeRoot;", "typeRoot"),
)


class SqlClass(NamedTuple):
    """A SQL type in Java.

    ``serializer`` is the class of its values' serializer, empty if that has fields. ``values`` is the
    class of its values, None if views have none. ``getter`` and ``result`` are the method of rows
    and arrays that gives a value, and its type. ``of_field`` and ``of_element`` are the end of the
    name of the lambda that does so, behind ``lambda$create…Getter$``; without one, arrays give the
    method.
    """

    java_class: JavaClass
    serializer: str
    values: JavaClass | None
    getter: str
    result: str
    of_field: str
    of_element: str = ""


def _type(name: str, *fields: tuple[str, str]) -> JavaClass:
    return java_class(f"{LOGICAL}{name}Type", *fields, extends=LOGICAL_TYPE)


def _data(name: str) -> JavaClass:
    return JavaClass(f"{DATA}{name}Data".replace("/", "."))


def _result(name: str) -> str:
    return f"L{DATA}{name}Data;"


_LENGTH, _PRECISION, _SCALE = ("I", "length"), ("I", "precision"), ("I", "scale")
_KIND = ("Lorg/apache/flink/table/types/logical/TimestampKind;", "kind")
_ELEMENT, _KEY, _VALUE = (TYPE, "elementType"), (TYPE, "keyType"), (TYPE, "valueType")
_FIELDS = ("Ljava/util/List;", "fields")

_BOOLEAN = java_class("java.lang.Boolean", ("Z", "value"), uid=-3665804199014368530)
_BYTE = _number("Byte", "B", -7183698231559129828)
_SHORT = _number("Short", "S", 7515723908773894738)
_LONG = _number("Long", "J", 4290774380558885855)
_FLOAT = _number("Float", "F", -2671257302660747028)
_DOUBLE = _number("Double", "D", -9172774392245257468)
_BYTES = java_array("B", -5984413125824719648)

_OF_TEXTS = (
    *(f"{SQL_SERIALIZERS}StringDataSerializer", _data("String")),
    *("getString", _result("String"), "245ca7d1$1"),
)
_OF_BYTES = (
    *(f"{BASE}array.BytePrimitiveArraySerializer", _BYTES),
    *("getBinary", "[B", "245ca7d1$3"),
)
_OF_INTS = (f"{BASE}IntSerializer", INTEGER, "getInt", "I", "245ca7d1$6")
_OF_TIMESTAMPS = (
    *("", _data("Timestamp")),
    *("getTimestamp", _result("Timestamp"), "39385f9c$1", "644eb446$1"),
)
_OF_DECIMALS = ("", _data("Decimal"), "getDecimal", _result("Decimal"), "89bd9445$1", "55d7a3db$1")
_OF_MAPS = ("", None, "getMap", _result("Map"), "245ca7d1$11")
_OF_ARRAYS = ("", None, "getArray", _result("Array"), "245ca7d1$10")
_OF_ROWS = ("", None, "getRow", _result("Row"), "1547cee5$1", "3705b7fb$1")

SQL_CLASSES: dict[str, SqlClass] = {
    "CHAR": SqlClass(_type("Char", _LENGTH), *_OF_TEXTS),
    "VARCHAR": SqlClass(_type("VarChar", _LENGTH), *_OF_TEXTS),
    "BOOLEAN": SqlClass(
        _type("Boolean"), f"{BASE}BooleanSerializer", _BOOLEAN, "getBoolean", "Z", "245ca7d1$2"
    ),
    "TINYINT": SqlClass(
        _type("TinyInt"), f"{BASE}ByteSerializer", _BYTE, "getByte", "B", "245ca7d1$4"
    ),
    "SMALLINT": SqlClass(
        _type("SmallInt"), f"{BASE}ShortSerializer", _SHORT, "getShort", "S", "245ca7d1$5"
    ),
    "INTEGER": SqlClass(_type("Int"), *_OF_INTS),
    "BIGINT": SqlClass(
        _type("BigInt"), f"{BASE}LongSerializer", _LONG, "getLong", "J", "245ca7d1$7"
    ),
    "FLOAT": SqlClass(
        _type("Float"), f"{BASE}FloatSerializer", _FLOAT, "getFloat", "F", "245ca7d1$8"
    ),
    "DOUBLE": SqlClass(
        _type("Double"), f"{BASE}DoubleSerializer", _DOUBLE, "getDouble", "D", "245ca7d1$9"
    ),
    "DECIMAL": SqlClass(_type("Decimal", _PRECISION, _SCALE), *_OF_DECIMALS),
    "DATE": SqlClass(_type("Date"), *_OF_INTS),
    "TIME_WITHOUT_TIME_ZONE": SqlClass(_type("Time", _PRECISION), *_OF_INTS),
    "TIMESTAMP_WITHOUT_TIME_ZONE": SqlClass(_type("Timestamp", _PRECISION, _KIND), *_OF_TIMESTAMPS),
    "TIMESTAMP_WITH_LOCAL_TIME_ZONE": SqlClass(
        _type("LocalZonedTimestamp", _PRECISION, _KIND), *_OF_TIMESTAMPS
    ),
    "BINARY": SqlClass(_type("Binary", _LENGTH), *_OF_BYTES),
    "VARBINARY": SqlClass(_type("VarBinary", _LENGTH), *_OF_BYTES),
    "ARRAY": SqlClass(_type("Array", _ELEMENT), *_OF_ARRAYS),
    "MULTISET": SqlClass(_type("Multiset", _ELEMENT), *_OF_MAPS),
    "MAP": SqlClass(_type("Map", _KEY, _VALUE), *_OF_MAPS),
    "ROW": SqlClass(_type("Row", _FIELDS), *_OF_ROWS),
}
"""Root of a SQL type -> its classes."""
