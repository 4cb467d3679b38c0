"""Serializer snapshots of maps that SQL operators keep: sorted maps of ranks, and data views.

A sorted map has a comparator, which holds a class as text because Flink's planner writes one for each
order. New state has a class of its own, which orders in the same way. Flink compiles it when it
restores the state, and takes the planner's class from then on.

A data view is a map of an accumulator, whose entries are in a state of their own. Its keys and values
are serialized by ``ExternalSerializer``, which holds the class of Java objects beside the SQL type.

Flink: ``SortedMapSerializerSnapshot``, ``ComparableRecordComparator``, ``GeneratedRecordComparator``;
``DataViewUtils``, ``ExternalSerializer``, ``MapView``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_formats.java.stream import JavaArray, JavaClass, JavaObject
from savepoint_formats.java.stream_writer import java_object_bytes
from savepoint_formats.layout import LogicalType
from savepoint_formats.snapshots import (
    DATA_VIEW,
    OBJECT_ARRAY,
    SQL_CLASSES,
    TEXT,
    TYPE,
    TYPE_ARRAY,
    JavaBytes,
    LogicalTypeObjects,
    constructed,
    inner,
    internal,
    java_array,
    java_class,
    row_data,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.snapshots import TypeSerializerSnapshot


_RUNTIME = "org.apache.flink.table.runtime."
_CLASS_NAME = "HistoryOrder"
_GENERATED = "Lorg/apache/flink/table/runtime/generated/GeneratedRecordComparator;"

_COMPARATOR = java_class(
    f"{_RUNTIME}operators.rank.ComparableRecordComparator",
    ("[I", "compareKeyPositions"),
    (f"[{TYPE}", "compareKeyTypes"),
    ("[Z", "compareOrders"),
    (_GENERATED, "generatedRecordComparator"),
    ("[Z", "nullsIsLast"),
    uid=4386377835781068140,
)
_GENERATED_COMPARATOR = java_class(
    f"{_RUNTIME}generated.GeneratedRecordComparator",
    extends=java_class(
        f"{_RUNTIME}generated.GeneratedClass",
        (TEXT, "className"),
        (TEXT, "code"),
        ("[Ljava/lang/Object;", "references"),
        (TEXT, "splitCode"),
        uid=7897406074992879593,
    ),
    uid=2,
)
_INT_ARRAY = java_array("I", 5600894804908749477)
_BOOLEAN_ARRAY = java_array("Z", 6309297032502205922)

_ORDERED = tuple("BSIJFD")
"""Types of Java that are compared by ``>``."""
_FACTS = {
    "getString": "{index}",
    "getDecimal": "{index}, {precision}, {scale}",
    "getTimestamp": "{index}, {precision}",
}
"""Method of rows that gives an object with an order -> its arguments."""

_CLASS = """\
public class HistoryOrder implements org.apache.flink.table.runtime.generated.RecordComparator {
  public HistoryOrder(Object[] references) {}

  public int compare(
      org.apache.flink.table.data.RowData a, org.apache.flink.table.data.RowData b) {
    int order;
%s    return 0;
  }
}
"""
_COLUMN = """\
    if (a.isNullAt(%(index)d) || b.isNullAt(%(index)d)) {
      if (!b.isNullAt(%(index)d)) return %(null)d;
      if (!a.isNullAt(%(index)d)) return -(%(null)d);
    } else {
      order = %(compared)s;
      if (order != 0) return %(sign)sorder;
    }
"""


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A column of an order."""

    type: LogicalType
    is_ascending: bool
    is_null_last: bool


def sorted_map(
    columns: Sequence[SortColumn], value: TypeSerializerSnapshot
) -> TypeSerializerSnapshot:
    """A map whose keys are rows of the columns of an order.

    Raises ``ValueError`` for columns that have no order here.
    """
    comparator = _comparator(columns)
    own = {"comparator": JavaBytes(java_object_bytes(comparator), comparator)}
    keys = row_data([column.type for column in columns])
    class_name = f"{_RUNTIME}typeutils.SortedMapSerializerSnapshot"
    return constructed.snapshot_of(class_name, own, [keys, value])


def _comparator(columns: Sequence[SortColumn]) -> JavaObject:
    types = LogicalTypeObjects()
    code = _CLASS % "".join(_compared(index, column) for index, column in enumerate(columns))
    generated: dict[str, Any] = {
        "className": _CLASS_NAME,
        "code": code,
        "references": JavaArray(OBJECT_ARRAY),
        "splitCode": code,
    }
    ascending = [column.is_ascending for column in columns]
    null_last = [column.is_null_last for column in columns]
    return JavaObject(
        _COMPARATOR,
        {
            "compareKeyPositions": JavaArray(_INT_ARRAY, list(range(len(columns)))),
            "compareKeyTypes": JavaArray(TYPE_ARRAY, [types.of(it.type) for it in columns]),
            "compareOrders": JavaArray(_BOOLEAN_ARRAY, ascending),
            "generatedRecordComparator": JavaObject(_GENERATED_COMPARATOR, generated),
            "nullsIsLast": JavaArray(_BOOLEAN_ARRAY, null_last),
        },
    )


def _compared(index: int, column: SortColumn) -> str:
    sql = SQL_CLASSES.get(column.type.root)
    if sql is not None and sql.result in _ORDERED:
        a, b = (f"{row}.{sql.getter}({index})" for row in "ab")
        compared = f"{a} > {b} ? 1 : ({a} < {b} ? -1 : 0)"
    elif sql is not None and sql.getter in _FACTS:
        precision, scale = column.type.precision, column.type.scale
        facts = _FACTS[sql.getter].format(index=index, precision=precision, scale=scale)
        compared = f"a.{sql.getter}({facts}).compareTo(b.{sql.getter}({facts}))"
    else:
        raise ValueError(f"an order by the SQL type {column.type.root}")
    null = 1 if column.is_null_last else -1
    sign = "" if column.is_ascending else "-"
    return _COLUMN % {"index": index, "null": null, "compared": compared, "sign": sign}


MAP_VIEW = LogicalType("RAW", class_name=f"{DATA_VIEW}MapView")
"""Type of the place that a map has in a row of accumulators."""

_TYPES = "org.apache.flink.table.types."
_EXTERNAL_VERSION = 1
_LONGS = java_array("J", 8655923659555304851)
_DATA_TYPE = java_class(
    f"{_TYPES}DataType",
    ("Ljava/lang/Class;", "conversionClass"),
    (TYPE, "logicalType"),
    uid=-4138822262654336147,
)
_ATOMIC = java_class(f"{_TYPES}AtomicDataType", extends=_DATA_TYPE, uid=1911869481579848498)
_COLLECTION = java_class(
    f"{_TYPES}CollectionDataType",
    ("Lorg/apache/flink/table/types/DataType;", "elementDataType"),
    extends=_DATA_TYPE,
    uid=2464825922057708215,
)
LONG_ARRAY = LogicalType("ARRAY", children=(LogicalType("BIGINT", is_nullable=False),))
"""Type of counts, one for each condition of a ``DISTINCT`` aggregate; ``long[]`` in Java."""


def external(logical_type: LogicalType) -> TypeSerializerSnapshot:
    """The serializer of a key or value of a view. Raises ``ValueError`` for other types."""
    data_type = _data_type(logical_type)
    own = {
        "data_type": JavaBytes(java_object_bytes(data_type), data_type),
        "is_internal_input": False,
    }
    class_name = inner("org.apache.flink.table.runtime.typeutils.ExternalSerializer")
    nested = [internal(logical_type)]
    return constructed.snapshot_of(class_name, own, nested, outer_version=_EXTERNAL_VERSION)


def map_view(key: LogicalType, value: LogicalType) -> TypeSerializerSnapshot:
    """The serializer of a view's entries; raises the errors of ``external``."""
    return constructed.map_of(external(key), external(value))


def _data_type(logical_type: LogicalType) -> JavaObject:
    types = LogicalTypeObjects()
    if logical_type == LONG_ARRAY:
        (element,) = logical_type.children
        long = {"conversionClass": JavaClass("long"), "logicalType": types.of(element)}
        array = {"conversionClass": _LONGS, "logicalType": types.of(logical_type)}
        return JavaObject(_COLLECTION, {**array, "elementDataType": JavaObject(_ATOMIC, long)})
    sql = SQL_CLASSES.get(logical_type.root)
    if sql is None or sql.values is None:
        raise ValueError(f"the SQL type {logical_type.root} in a data view")
    own = {"conversionClass": sql.values, "logicalType": types.of(logical_type)}
    return JavaObject(_ATOMIC, own)
