"""Names of types: one table for ``Types``, for types as text, and for the types of keys.

The serializer's snapshot determines the values of a type in Arrow and Spark. The column here is for
readers, and a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.snapshots import constructed

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.snapshots import TypeSerializerSnapshot


@dataclass(frozen=True, slots=True)
class PlainType:
    """A type without inner types: its serializer's snapshot, and the type of its values in Spark.

    ``is_of_keys`` says whether keys in a column of this type are most likely of it.
    """

    make: Callable[[], TypeSerializerSnapshot]
    column: str
    is_of_keys: bool = False


@dataclass(frozen=True, slots=True)
class CompoundType:
    """A type with ``count`` inner types; ``make`` takes the snapshots of their serializers."""

    make: Callable[..., TypeSerializerSnapshot]
    count: int = 1


PLAIN_TYPES = {
    "STRING": PlainType(constructed.string, "STRING", is_of_keys=True),
    "CHAR": PlainType(constructed.char, "STRING"),
    "BOOLEAN": PlainType(constructed.boolean, "BOOLEAN", is_of_keys=True),
    "BYTE": PlainType(constructed.byte, "TINYINT", is_of_keys=True),
    "SHORT": PlainType(constructed.short, "SMALLINT", is_of_keys=True),
    "INT": PlainType(constructed.integer, "INT", is_of_keys=True),
    "LONG": PlainType(constructed.long, "BIGINT", is_of_keys=True),
    "FLOAT": PlainType(constructed.single, "FLOAT", is_of_keys=True),
    "DOUBLE": PlainType(constructed.double, "DOUBLE", is_of_keys=True),
    "BIG_INT": PlainType(constructed.big_int, "STRING"),
    "BIG_DEC": PlainType(constructed.big_dec, "STRING"),
    "DATE": PlainType(constructed.date, "TIMESTAMP"),
    "SQL_DATE": PlainType(constructed.sql_date, "TIMESTAMP"),
    "SQL_TIME": PlainType(constructed.sql_time, "TIMESTAMP"),
    "SQL_TIMESTAMP": PlainType(constructed.sql_timestamp, "TIMESTAMP"),
    "INSTANT": PlainType(constructed.instant, "TIMESTAMP"),
    "LOCAL_DATE": PlainType(constructed.local_date, "DATE"),
    "LOCAL_TIME": PlainType(constructed.local_time, "STRING"),
    "LOCAL_DATE_TIME": PlainType(constructed.local_date_time, "TIMESTAMP_NTZ"),
    "VARIANT": PlainType(
        constructed.variant, "STRUCT<json: STRING, metadata: BINARY, value: BINARY>"
    ),
    "VOID": PlainType(constructed.void, "VOID"),
    "TIME_WINDOW": PlainType(constructed.time_window, "STRUCT<start: BIGINT, end: BIGINT>"),
    "GLOBAL_WINDOW": PlainType(constructed.global_window, "VOID"),
}

COMPOUND_TYPES = {
    "LIST": CompoundType(constructed.list_of),
    "SET": CompoundType(constructed.set_of),
    "NULLABLE": CompoundType(constructed.nullable),
    "PRIMITIVE_ARRAY": CompoundType(constructed.primitive_array),
    "BASIC_ARRAY": CompoundType(constructed.basic_array),
    "MAP": CompoundType(constructed.map_of, 2),
    "EITHER": CompoundType(constructed.either, 2),
}
