"""From Arrow's types to those that Spark has.

``savepoint_formats`` speaks Arrow to the nanosecond. Spark's timestamps end at microseconds, and it
has no time of day before 4.1; what it lacks is cast here, once per batch.

| Arrow              | Arrow for Spark                                                        |
|--------------------|------------------------------------------------------------------------|
| timestamp[ms, ns]  | timestamp[us]; nanoseconds are cut off, what lies beyond is the limit  |
| duration[ms]       | duration[us]; likewise                                                 |
| time32, time64     | utf8                                                                   |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.errors import ColumnTypeError, ValueOutOfRangeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from pyspark.sql.types import DataType, StructType

    CastLeaf = Callable[[pa.Array, pa.DataType], pa.Array]

_MICROS_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}
_LIMITS = np.iinfo(np.int64)


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
"""Spark's types that are made of no others, by their names."""


def spark_arrow_type(data_type: pa.DataType) -> pa.DataType:
    """The type that a value of ``data_type`` has on its way to Spark."""
    return _mapped(data_type, _spark_leaf)


def _spark_leaf(data_type: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(data_type):
        return pa.timestamp("us", data_type.tz)
    if pa.types.is_duration(data_type):
        return pa.duration("us")
    return pa.utf8() if pa.types.is_time(data_type) else data_type


def _printable_leaf(data_type: pa.DataType) -> pa.DataType:
    return pa.utf8() if pa.types.is_temporal(data_type) else data_type


def _mapped(data_type: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """The type with ``leaf`` of all types that it is made of."""

    def mapped(field: pa.Field) -> pa.Field:
        return field.with_type(_mapped(field.type, leaf))

    if pa.types.is_list(data_type):
        return pa.list_(mapped(data_type.value_field))
    if pa.types.is_map(data_type):
        return pa.map_(mapped(data_type.key_field).type, mapped(data_type.item_field))
    if pa.types.is_struct(data_type):
        return pa.struct([mapped(field) for field in data_type])
    return leaf(data_type)


def _cast(batch: pa.RecordBatch, schema: pa.Schema, cast_leaf: CastLeaf) -> pa.RecordBatch:
    if schema == batch.schema:
        return batch
    types = [field.type for field in schema]
    arrays = [_casted(*pair, cast_leaf) for pair in zip(batch.columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _casted(array: pa.Array, wanted: pa.DataType, cast_leaf: CastLeaf) -> pa.Array:
    """The array with ``cast_leaf`` of all arrays that it is made of, where types differ."""
    if array.type == wanted:
        return array
    if pa.types.is_list(wanted):
        elements = _casted(array.values, wanted.value_type, cast_leaf)
        return pa.ListArray.from_arrays(_bounds(array), elements, type=wanted)
    if pa.types.is_map(wanted):
        keys = _casted(array.keys, wanted.key_type, cast_leaf)
        items = _casted(array.items, wanted.item_type, cast_leaf)
        return pa.MapArray.from_arrays(_bounds(array), keys, items, type=wanted)
    if pa.types.is_struct(wanted):
        fields = [
            _casted(array.field(index), field.type, cast_leaf) for index, field in enumerate(wanted)
        ]
        return pa.StructArray.from_arrays(fields, fields=list(wanted), mask=array.is_null())
    return cast_leaf(array, wanted)


def _bounds(array: pa.ListArray | pa.MapArray) -> pa.Array:
    """Offsets that are null where the value is."""
    is_null = pa.concat_arrays([array.is_null(), pa.array([False])])
    return pc.if_else(is_null, pa.scalar(None, pa.int32()), array.offsets)


def _spark_values(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    if not pa.types.is_timestamp(wanted) and not pa.types.is_duration(wanted):
        return values.cast(wanted)
    numbers = pc.fill_null(values.view(pa.int64()), 0).to_numpy()
    unit = values.type.unit
    micros = numbers // 1000 if unit == "ns" else _product(numbers, _MICROS_PER_UNIT[unit])
    is_null = values.is_null().to_numpy(zero_copy_only=False)
    return pa.array(micros, pa.int64(), mask=is_null).view(wanted)


def _product(numbers: NDArray[np.int64], factor: int) -> NDArray[np.int64]:
    """The numbers times a factor; the smallest or largest one where that is out of range."""
    limit = _LIMITS.max // factor
    products = np.clip(numbers, -limit, limit) * factor
    products[numbers > limit] = _LIMITS.max
    products[numbers < -limit] = _LIMITS.min
    return products


def _printable_values(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    return values.cast(wanted)


def _mapped_schema(schema: pa.Schema, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(field.name, _mapped(field.type, leaf)) for field in schema])


def spark_schema(schema: pa.Schema) -> StructType:
    """The schema of the DataFrame that batches of ``schema`` become, with its metadata."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415  # Spark starts slowly

    # What is right by default depends on the release of Spark.
    found = from_arrow_schema(_mapped_schema(schema, _spark_leaf), prefer_timestamp_ntz=True)
    for field, arrow_field in zip(found.fields, schema, strict=True):
        field.metadata = {
            name.decode(): value.decode() for name, value in (arrow_field.metadata or {}).items()
        }
    return found


def arrow_schema(schema: StructType) -> pa.Schema:
    """The schema of the batches in which Spark hands rows to Python, and takes them.

    Raises:
        ColumnTypeError: A column has a type that no batch has.
    """
    return pa.schema([_arrow_field(field.name, field.dataType, field.nullable) for field in schema])


def _arrow_field(name: str, kind: DataType, is_nullable: bool) -> pa.Field:
    try:
        return pa.field(name, arrow_type_of(kind), is_nullable)
    except ColumnTypeError as error:
        raise ColumnTypeError(f"{name!r}: {error}") from error


def arrow_type_of(kind: DataType) -> pa.DataType:
    """The type in which a task sees a column of Spark.

    Raises:
        ColumnTypeError: Spark hands no such columns to Python.
    """
    # A function of Spark that does this takes other arguments in each release.
    from pyspark.sql import types  # noqa: PLC0415  # Spark starts slowly

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
    found = _ARROW_TYPES.get(type(kind).__name__)
    if found is None:
        raise ColumnTypeError(f"a column of type {kind.simpleString()}, which no function takes")
    return found


def to_spark(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with Spark's types; what Spark cannot hold of a time is cut off."""
    return _cast(batch, _mapped_schema(batch.schema, _spark_leaf), _spark_values)


def from_spark(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """An array as Spark gives it, as the type that ``savepoint_formats`` has: see ``to_spark``.

    Raises:
        ValueOutOfRangeError: A time lies beyond what the type holds, or a text is no time.
    """
    return _casted(values, wanted, _exact_values)


def _exact_values(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    try:
        return values.cast(wanted)
    except pa.ArrowInvalid as error:
        raise ValueOutOfRangeError(str(error), str(wanted), 0) from error


def to_printable(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with times and dates as texts, to the last digit; durations as well."""
    return _cast(batch, _mapped_schema(batch.schema, _printable_leaf), _printable_values)
