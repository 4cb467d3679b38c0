"""Serializer snapshots of the sorted maps that ranks keep, with a comparator that Flink compiles.

The comparator holds a class as text, because Flink's planner writes one for each order. New state
has a class of its own, which orders in the same way. Flink compiles it when it restores the state,
and takes the planner's class from then on.

Flink: ``SortedMapSerializerSnapshot``, ``ComparableRecordComparator``, ``GeneratedRecordComparator``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_formats.java.stream import SERIALIZABLE, JavaArray, JavaClass, JavaObject
from savepoint_formats.java.stream_writer import java_object_bytes
from savepoint_formats.snapshots import constructed
from savepoint_formats.snapshots.constructed_sql import row_data
from savepoint_formats.snapshots.fields import JavaBytes
from savepoint_formats.snapshots.logical_type import TYPE, LogicalTypeObjects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_formats.layout import LogicalType
    from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot

_RUNTIME = "org.apache.flink.table.runtime."
_CLASS_NAME = "HistoryOrder"
_TEXT, _FLAGS, _NUMBERS = "Ljava/lang/String;", "[Z", "[I"
_GENERATED = "Lorg/apache/flink/table/runtime/generated/GeneratedRecordComparator;"

_COMPARATOR = JavaClass(
    f"{_RUNTIME}operators.rank.ComparableRecordComparator",
    SERIALIZABLE,
    (
        (_NUMBERS, "compareKeyPositions"),
        (f"[{TYPE}", "compareKeyTypes"),
        (_FLAGS, "compareOrders"),
        (_GENERATED, "generatedRecordComparator"),
        (_FLAGS, "nullsIsLast"),
    ),
    uid=4386377835781068140,
)
_GENERATED_CLASS = JavaClass(
    f"{_RUNTIME}generated.GeneratedClass",
    SERIALIZABLE,
    (
        (_TEXT, "className"),
        (_TEXT, "code"),
        ("[Ljava/lang/Object;", "references"),
        (_TEXT, "splitCode"),
    ),
    uid=7897406074992879593,
)
_GENERATED_COMPARATOR = JavaClass(
    f"{_RUNTIME}generated.GeneratedRecordComparator", SERIALIZABLE, (), (_GENERATED_CLASS,), 2
)
_INT_ARRAY = JavaClass(_NUMBERS, SERIALIZABLE, uid=5600894804908749477)
_BOOLEAN_ARRAY = JavaClass(_FLAGS, SERIALIZABLE, uid=6309297032502205922)
_OBJECT_ARRAY = JavaClass("[Ljava.lang.Object;", SERIALIZABLE, uid=-8012369246846506644)
_TYPE_ARRAY = JavaClass(f"[{TYPE}".replace("/", "."), SERIALIZABLE, uid=1744097763440828726)

_NUMBER_GETTERS = {
    "TINYINT": "getByte",
    "SMALLINT": "getShort",
    "INTEGER": "getInt",
    "BIGINT": "getLong",
    "FLOAT": "getFloat",
    "DOUBLE": "getDouble",
    "DATE": "getInt",
    "TIME_WITHOUT_TIME_ZONE": "getInt",
}
_OBJECT_GETTERS = {
    "CHAR": "getString({index})",
    "VARCHAR": "getString({index})",
    "DECIMAL": "getDecimal({index}, {precision}, {scale})",
    "TIMESTAMP_WITHOUT_TIME_ZONE": "getTimestamp({index}, {precision})",
    "TIMESTAMP_WITH_LOCAL_TIME_ZONE": "getTimestamp({index}, {precision})",
}

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
        "references": JavaArray(_OBJECT_ARRAY),
        "splitCode": code,
    }
    ascending = [column.is_ascending for column in columns]
    null_last = [column.is_null_last for column in columns]
    return JavaObject(
        _COMPARATOR,
        {
            "compareKeyPositions": JavaArray(_INT_ARRAY, list(range(len(columns)))),
            "compareKeyTypes": JavaArray(_TYPE_ARRAY, [types.of(it.type) for it in columns]),
            "compareOrders": JavaArray(_BOOLEAN_ARRAY, ascending),
            "generatedRecordComparator": JavaObject(_GENERATED_COMPARATOR, generated),
            "nullsIsLast": JavaArray(_BOOLEAN_ARRAY, null_last),
        },
    )


def _compared(index: int, column: SortColumn) -> str:
    root = column.type.root
    if root in _NUMBER_GETTERS:
        a, b = (f"{row}.{_NUMBER_GETTERS[root]}({index})" for row in "ab")
        compared = f"{a} > {b} ? 1 : ({a} < {b} ? -1 : 0)"
    elif root in _OBJECT_GETTERS:
        precision, scale = column.type.precision, column.type.scale
        getter = _OBJECT_GETTERS[root].format(index=index, precision=precision, scale=scale)
        compared = f"a.{getter}.compareTo(b.{getter})"
    else:
        raise ValueError(f"an order by the SQL type {root}")
    null = 1 if column.is_null_last else -1
    sign = "" if column.is_ascending else "-"
    return _COLUMN % {"index": index, "null": null, "compared": compared, "sign": sign}
