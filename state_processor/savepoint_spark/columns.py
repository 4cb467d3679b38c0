"""Columns of Spark: their types in Arrow, and whether they fit a type of Flink.

A column fits if every value of its type is also a value of the wanted type: ``INT`` fits
``BIGINT``, ``DECIMAL(8, 2)`` fits ``DECIMAL(10, 2)``. Users cast what may lose something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from savepoint_database.types import (
    PARTS,
    PLAIN_TYPES,
    SPARK,
    TypeInformation,
    Types,
    all_places,
    field_places,
)
from savepoint_formats.errors import ColumnNotFoundError, ColumnTypeError
from savepoint_formats.layout import as_records, with_open_objects, with_open_pojos, without_ttl
from savepoint_formats.printable import alternatives
from savepoint_formats.snapshots import ELEMENT, MAP_VALUE
from savepoint_formats.values import ROW_KIND, ROW_KINDS, UNDECODED, VALUE, arrow_type, is_precise

if TYPE_CHECKING:
    from pyspark.sql import Column

    from savepoint_formats.layout import Layout
    from savepoint_formats.values import Nanoseconds

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

_INSERT = ROW_KINDS[0]
_MAP_KEY = "key"

_WHOLE_NUMBERS = (ByteType, ShortType, IntegerType, LongType)
# Narrower types whose values all fit, without losing digits in a float.
_WIDENED: dict[type[DataType], tuple[type[DataType], ...]] = {
    ShortType: _WHOLE_NUMBERS[:1],
    IntegerType: _WHOLE_NUMBERS[:2],
    LongType: _WHOLE_NUMBERS[:3],
    FloatType: _WHOLE_NUMBERS[:2],
    DoubleType: (*_WHOLE_NUMBERS[:3], FloatType),
}
_KEY_TYPES = {plain.column.lower(): name for name, plain in PLAIN_TYPES.items() if plain.is_of_keys}


def spark_schema(schema: pa.Schema, nanoseconds: Nanoseconds = "refuse") -> StructType:
    """The schema of the DataFrame that batches of ``schema`` become, with its metadata."""
    # The default depends on the release of Spark.
    converted = from_arrow_schema(SPARK[nanoseconds].schema(schema), prefer_timestamp_ntz=True)
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


def task_columns(schema: StructType) -> StructType:
    """The columns of types that tasks take and give; for instance no ``VARIANT``."""

    def is_taken(field: StructField) -> bool:
        try:
            arrow_type_of(field.dataType)
        except ColumnTypeError:
            return False
        return True

    return StructType(list(filter(is_taken, schema)))


def _arrow_field(name: str, kind: DataType, is_nullable: bool) -> pa.Field:
    try:
        return pa.field(name, arrow_type_of(kind), is_nullable)
    except ColumnTypeError as error:
        raise ColumnTypeError(f"{name!r}: {error}") from error


def arrow_type_of(kind: DataType) -> pa.DataType:
    """The type in which a task sees a column of Spark, or ``ColumnTypeError``."""
    # Spark's own function for this takes other arguments in each release.
    match kind:
        case ArrayType():
            return pa.list_(_arrow_field("element", kind.elementType, kind.containsNull))
        case MapType():
            key = _arrow_field("key", kind.keyType, False)
            return pa.map_(key, _arrow_field("value", kind.valueType, kind.valueContainsNull))
        case StructType():
            return pa.struct(list(arrow_schema(kind)))
        case DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case spark_types.UserDefinedType():
            return arrow_type_of(kind.sqlType())
    data_type = _ARROW_TYPES.get(type(kind).__name__)
    if data_type is None:
        raise ColumnTypeError(f"a column of type {kind.simpleString()}, which no function takes")
    return data_type


_PARTS = spark_type_of(PARTS)


def natural_type(name: str, data_type: DataType) -> TypeInformation:
    """The most likely Flink type of a key column; ``ColumnTypeError`` if there isn't just one."""
    words = data_type.simpleString()
    if words not in _KEY_TYPES:
        raise ColumnTypeError(
            f"column {name!r} is {words}, which may be keys of several types in Flink: add"
            " key_type=Types. …"
        )
    key_type: TypeInformation = getattr(Types, _KEY_TYPES[words])()
    return key_type


def expect_frame(data: object) -> None:
    """Raises ``TypeError`` for anything but a DataFrame of Spark."""
    if not isinstance(data, DataFrame):
        kind = f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}"
        raise TypeError(
            f"a {kind} is no DataFrame of Spark: make one by spark.createDataFrame(data)"
        )


def column_of(data: DataFrame, name: str) -> tuple[Column, DataType]:
    """A column and its type, or ``ColumnNotFoundError`` with a list of the columns."""
    if name not in data.columns:
        known = alternatives(name, data.columns)
        raise ColumnNotFoundError(f"the DataFrame has no column {name!r}; {known}")
    quoted = name.replace("`", "``")
    return data[f"`{quoted}`"], data.schema[name].dataType


def with_hidden(data: DataFrame, name: str, column: Column) -> DataFrame:
    """The rows with a column of the product's own; ``ValueError`` if they have one of its name."""
    if name.casefold() in map(str.casefold, data.columns):
        raise ValueError(f"the rows have a column {name!r}, a name that windows need: rename it")
    return data.withColumn(name, column)


def fitted(data: DataFrame, name: str, wanted: Layout, what: str) -> Column:
    """A column, cast so that Arrow takes it for the values of a layout; ``what`` names their receiver.

    Raises ``ColumnNotFoundError`` or ``ColumnTypeError``.
    """
    column, data_type = column_of(data, name)
    target = _spark_type_like(data_type, arrow_type(wanted))
    is_undecoded = UNDECODED in data_type.simpleString() and UNDECODED not in target.simpleString()
    if is_undecoded and not fits(data_type, target):
        raise ColumnTypeError(
            f"column {name!r} has fields {UNDECODED}, of values that were not decoded, where"
            f" {what} takes {spark_type(wanted).simpleString()}: leave it out, and"
            " its state passes through as it is; or drop these fields, if they are null in"
            " all rows"
        )
    return fitting(column, data_type, target, f"column {name!r}", what)


def fitting(column: Column, data_type: DataType, wanted: DataType, name: str, what: str) -> Column:
    """A column, cast to a type that has all its values; structs go by the names of their fields.

    ``name`` and ``what`` name the column and its receiver in a ``ColumnTypeError``.
    """
    if difference := misfit(data_type, wanted):
        if _has_struct(data_type) or _has_struct(wanted):
            raise ColumnTypeError(
                f"{name} does not fit {what}: {difference}. Make it with F.struct, where each field"
                " has its name and type"
            )
        raise ColumnTypeError(
            f"{name} is {data_type.simpleString()}, but {what} takes {wanted.simpleString()}: cast it"
            " first"
        )
    return as_type(column, data_type, wanted)


def shown_layout(data: DataFrame, name: str, layout: Layout) -> Layout:
    """The layout of a state as a column shows it, with or without bytes of undecoded values."""
    data_type = column_of(data, name)[1]
    others = (
        with_open_pojos(layout),
        with_open_objects(layout, is_open=False),
        with_open_objects(layout, is_open=True),
    )
    shown = (other for other in others if other != layout and _shows(data_type, other))
    return next(shown, layout)


def _shows(data_type: DataType, layout: Layout) -> bool:
    """Whether a column has the values of a state, with times of last access or without."""
    types = (arrow_type(as_records(form)) for form in (layout, without_ttl(layout)))
    return any(fits(data_type, _spark_type_like(data_type, stored_type)) for stored_type in types)


def as_type(column: Column, data_type: DataType, wanted: DataType) -> Column:
    """Casts a column that fits; rows without a kind become inserts, values of codecs are new ones."""
    if data_type == wanted:
        return column
    match data_type, wanted:
        case StructType(), StructType():
            # Spark casts structs by position.
            fields = [
                (
                    F.lit(_INSERT if field.name == ROW_KIND else None)
                    if place is None
                    else as_type(
                        column.getField(data_type.names[place]),
                        data_type[place].dataType,
                        field.dataType,
                    )
                ).alias(field.name)
                for place, field in zip(
                    all_places(data_type.names, wanted.names), wanted, strict=True
                )
            ]
            return F.when(column.isNotNull(), F.struct(*fields)).cast(wanted)
        case _, StructType() if _is_of_codec(wanted):
            inner = as_type(column, data_type, wanted[0].dataType)
            parts = inner.alias(VALUE), F.lit(None).alias(UNDECODED)
            return F.when(column.isNotNull(), F.struct(*parts)).cast(wanted)
        case ArrayType(), ArrayType() if _has_struct(wanted):
            return F.transform(
                column, lambda element: as_type(element, data_type.elementType, wanted.elementType)
            )
        case MapType(), MapType() if _has_struct(wanted):
            keyed = F.transform_keys(
                column, lambda key, _: as_type(key, data_type.keyType, wanted.keyType)
            )
            return F.transform_values(
                keyed, lambda _, value: as_type(value, data_type.valueType, wanted.valueType)
            )
        case _:
            return column.cast(wanted)


def _is_of_codec(wanted: StructType) -> bool:
    """Whether a struct holds the value of a codec whose type is no struct; the value itself fits, too."""
    return wanted.names == [VALUE, UNDECODED]


def _has_struct(data_type: DataType) -> bool:
    return "struct<" in data_type.simpleString()


def _spark_type_like(data_type: DataType, wanted: pa.DataType) -> DataType:
    """Spark's type for an Arrow type; a column decides the form of times with nanoseconds."""
    if is_precise(wanted) and isinstance(data_type, StringType):
        return StringType()
    if is_precise(wanted) and isinstance(data_type, StructType):
        return _PARTS
    target = spark_type_of(wanted)
    match data_type, target:
        case ArrayType(), ArrayType():
            return ArrayType(_spark_type_like(data_type.elementType, wanted.value_type))
        case MapType(), MapType():
            return MapType(
                _spark_type_like(data_type.keyType, wanted.key_type),
                _spark_type_like(data_type.valueType, wanted.item_type),
            )
        case StructType(), StructType():
            types = [*(field.dataType for field in data_type), NullType()]
            return StructType(
                [
                    StructField(
                        field.name, _spark_type_like(types[place], wanted.field(index).type)
                    )
                    for index, (place, field) in enumerate(
                        zip(_known_places(data_type, target), target, strict=True)
                    )
                ]
            )
        case _:
            return target


def spark_type(layout: Layout, nanoseconds: Nanoseconds = "refuse") -> DataType:
    """Spark's type for the values of a layout."""
    return spark_type_of(arrow_type(layout), nanoseconds)


def _known_places(data_type: StructType, wanted: StructType) -> list[int]:
    """The place of each wanted field; -1 for a missing one, which ``misfit`` refuses."""
    try:
        places = field_places(tuple(data_type.names), tuple(wanted.names))
    except ValueError:
        return [-1] * len(wanted)
    return [-1 if place is None else place for place in places]


def fits(data_type: DataType, wanted: DataType) -> bool:
    """Whether every value of a type is also a value of another."""
    return misfit(data_type, wanted) is None


def misfit(data_type: DataType, wanted: DataType, path: tuple[str, ...] = ()) -> str | None:
    """Why not every value of a type is also a value of another; None if it is.

    ``path`` leads to the type, through names of fields.
    """
    match data_type, wanted:
        case ArrayType(), ArrayType():
            return misfit(data_type.elementType, wanted.elementType, (*path, ELEMENT))
        case MapType(), MapType():
            return misfit(data_type.keyType, wanted.keyType, (*path, _MAP_KEY)) or misfit(
                data_type.valueType, wanted.valueType, (*path, MAP_VALUE)
            )
        case StructType(), StructType():
            try:
                places = all_places(data_type.names, wanted.names)
            except ValueError as error:
                return f"{'.'.join(path)}: {error}" if path else str(error)
            inner = (
                misfit(data_type[place].dataType, field.dataType, (*path, field.name))
                for place, field in zip(places, wanted, strict=True)
                if place is not None
            )
            return next(filter(None, inner), None)
        case _, StructType() if _is_of_codec(wanted):
            return misfit(data_type, wanted[0].dataType, path)
    if _fits_alone(data_type, wanted):
        return None
    name = ".".join(path) or "it"
    return f"{name} is {data_type.simpleString()}, expected {wanted.simpleString()}"


def _fits_alone(data_type: DataType, wanted: DataType) -> bool:
    """``fits`` for types of which at least one has no inner types."""
    match data_type, wanted:
        case NullType(), _:
            return True
        case DecimalType(), DecimalType():
            digits = wanted.precision - wanted.scale
            return (
                data_type.scale <= wanted.scale and data_type.precision - data_type.scale <= digits
            )
        case StringType() | spark_types.CharType() | spark_types.VarcharType(), StringType():
            return True
        case _:
            return data_type == wanted or type(data_type) in _WIDENED.get(type(wanted), ())
