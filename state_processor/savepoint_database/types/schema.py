"""Arrow's types as Spark's.

``savepoint_formats`` has times of any year to the nanosecond. Spark's timestamps end at
microseconds, and it has no time of day before 4.1. Such types are cast here, once per batch.

| Arrow                        | Arrow for Spark                                              |
|------------------------------|--------------------------------------------------------------|
| timestamp[ms], duration[ms]  | timestamp[us], duration[us]                                  |
| precise time, timestamp[ns], | by ``Nanoseconds``: timestamp[us] or duration[us], struct of |
| duration[ns]                 | seconds and nanos, or utf8                                   |
| time32, time64               | utf8                                                         |

No digit is lost silently: a value that differs in microseconds raises ``InexactTimeError``, unless
the user asks for ``truncate``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.values.kinds.precise_times import is_precise, mapped, zone_of
from savepoint_formats.values.kinds.times import NANOS, SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.values.kinds.precise_times import Nanoseconds

PARTS = pa.struct({SECONDS: pa.int64(), NANOS: pa.int32()})
"""A time with nanoseconds as a struct of Spark."""


def spark_arrow_type(data_type: pa.DataType, nanoseconds: Nanoseconds = "refuse") -> pa.DataType:
    """Type of a value on its way to Spark."""
    return mapped(data_type, partial(spark_leaf, nanoseconds=nanoseconds))


def spark_leaf(data_type: pa.DataType, nanoseconds: Nanoseconds = "refuse") -> pa.DataType:
    """Type for Spark of a type without fields."""
    if has_nanoseconds(data_type) and nanoseconds == "struct":
        return PARTS
    if has_nanoseconds(data_type) and nanoseconds == "text":
        return pa.utf8()
    if is_precise(data_type):
        return pa.timestamp("us", zone_of(data_type))
    if pa.types.is_timestamp(data_type):
        return pa.timestamp("us", data_type.tz)
    if pa.types.is_duration(data_type):
        return pa.duration("us")
    return pa.utf8() if pa.types.is_time(data_type) else data_type


def has_nanoseconds(data_type: pa.DataType) -> bool:
    """Whether a type is that of times or durations with nanoseconds."""
    is_counted = pa.types.is_timestamp(data_type) or pa.types.is_duration(data_type)
    return is_precise(data_type) or (is_counted and data_type.unit == "ns")


def python_leaf(data_type: pa.DataType) -> pa.DataType:
    """Type for Python of a type without fields; times with nanoseconds stay as they are."""
    return data_type if is_precise(data_type) else spark_leaf(data_type)


def printable_leaf(data_type: pa.DataType) -> pa.DataType:
    """Type for texts of a type without fields."""
    is_time = pa.types.is_temporal(data_type) or is_precise(data_type)
    return pa.utf8() if is_time else data_type


def mapped_schema(schema: pa.Schema, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.Schema:
    """The schema with ``leaf`` applied to all types without fields."""
    return pa.schema([pa.field(field.name, mapped(field.type, leaf)) for field in schema])


def exported_schema(schema: pa.Schema, nanoseconds: Nanoseconds) -> pa.Schema:
    """Schema of the batches of ``to_exported``."""

    def leaf(data_type: pa.DataType) -> pa.DataType:
        return spark_leaf(data_type, nanoseconds) if is_precise(data_type) else data_type

    return mapped_schema(schema, leaf)


def with_time_texts(data_type: pa.DataType) -> pa.DataType:
    """Type of values read from texts: times with nanoseconds remain texts."""
    return mapped(data_type, lambda leaf: pa.utf8() if is_precise(leaf) else leaf)
