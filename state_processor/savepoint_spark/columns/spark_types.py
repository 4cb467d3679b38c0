"""Spark's types of columns that are read, and Arrow's types of columns that tasks get."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import types
from pyspark.sql.pandas.types import from_arrow_schema

from savepoint_database.types.schema import mapped_schema, spark_leaf
from savepoint_formats.errors import ColumnTypeError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

    from savepoint_formats.values.kinds.precise_times import Nanoseconds

_ARROW_TYPES = {
    "BinaryType": pa.binary(),
    "BooleanType": pa.bool_(),
    "ByteType": pa.int8(),
    "DateType": pa.date32(),
    "DayTimeIntervalType": pa.duration("us"),
    "DoubleType": pa.float64(),
    "FloatType": pa.float32(),
    "IntegerType": pa.int32(),
    "LongType": pa.int64(),
    "NullType": pa.null(),
    "ShortType": pa.int16(),
    "StringType": pa.utf8(),
    "TimeType": pa.time64("ns"),
    "TimestampNTZType": pa.timestamp("us"),
    "TimestampType": pa.timestamp("us", "UTC"),
}
"""Spark's types without inner types, by their names."""


def spark_schema(schema: pa.Schema, nanoseconds: Nanoseconds = "refuse") -> StructType:
    """The schema of the DataFrame that batches of ``schema`` become, with its metadata."""
    leaf = partial(spark_leaf, nanoseconds=nanoseconds)
    # The default depends on the release of Spark.
    converted = from_arrow_schema(mapped_schema(schema, leaf), prefer_timestamp_ntz=True)
    for field, arrow_field in zip(converted.fields, schema, strict=True):
        field.metadata = {
            name.decode(): value.decode() for name, value in (arrow_field.metadata or {}).items()
        }
    return converted


def spark_type_of(data_type: pa.DataType, nanoseconds: Nanoseconds = "refuse") -> DataType:
    """Spark's type of a column of an Arrow type."""
    return spark_schema(pa.schema({"value": data_type}), nanoseconds)["value"].dataType


def arrow_schema(schema: StructType) -> pa.Schema:
    """The schema of batches between Spark and Python, or ``ColumnTypeError``."""
    return pa.schema([_arrow_field(field.name, field.dataType, field.nullable) for field in schema])


def _arrow_field(name: str, kind: DataType, is_nullable: bool) -> pa.Field:
    try:
        return pa.field(name, arrow_type_of(kind), is_nullable)
    except ColumnTypeError as error:
        raise ColumnTypeError(f"{name!r}: {error}") from error


def arrow_type_of(kind: DataType) -> pa.DataType:
    """The type in which a task sees a column of Spark, or ``ColumnTypeError``."""
    # Spark's own function for this takes other arguments in each release.
    match kind:
        case types.ArrayType():
            return pa.list_(_arrow_field("element", kind.elementType, kind.containsNull))
        case types.MapType():
            key = _arrow_field("key", kind.keyType, False)
            return pa.map_(key, _arrow_field("value", kind.valueType, kind.valueContainsNull))
        case types.StructType():
            return pa.struct(list(arrow_schema(kind)))
        case types.DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case types.UserDefinedType():
            return arrow_type_of(kind.sqlType())
    data_type = _ARROW_TYPES.get(type(kind).__name__)
    if data_type is None:
        raise ColumnTypeError(f"a column of type {kind.simpleString()}, which no function takes")
    return data_type
