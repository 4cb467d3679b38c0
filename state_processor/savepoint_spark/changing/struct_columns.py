"""Columns of a DataFrame after a change of fields, and without times of last access."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.layout import Layout, MapOf, Nullable, Repeated, Ttl, without_ttl
from savepoint_formats.snapshots.struct_edit import ELEMENT, MAP_VALUE
from savepoint_formats.values.kryo.structs import UNDECODED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import Column
    from pyspark.sql.types import DataType

    from savepoint_formats.snapshots.struct_edit import StructEdit

TIMESTAMP, VALUE = "timestamp", "value"


UNCHANGEABLE = (
    "a value is of a subclass of a POJO that no snapshot describes, which has the fields of the POJO,"
    " too: its bytes would keep the old ones. Replace such values by update_state first, and change the"
    " fields in the new savepoint"
)

# Spark puts its own words in front. On a line of its own, typed_errors finds the message.
_RAISED = f"\n{SchemaChangeError.__module__}.{SchemaChangeError.__qualname__}: {UNCHANGEABLE}\n"


def edited_column(
    column: Column, shown: DataType, wanted: DataType, edit: StructEdit, new: Mapping[str, Column]
) -> Column:
    """The values after a change of fields; the job fails for a value that was not decoded.

    ``shown`` and ``wanted`` are the types before and after; ``new`` has the values of new fields,
    null by default.
    """
    origins = dict(edit.origins)

    def struct(inner: Column, target: DataType) -> Column:
        assert isinstance(target, StructType)  # where an edit leads to
        fields = []
        for field in target:
            # The kind of a row of SQL is no field.
            origin = origins.get(field.name, field.name)
            value = new.get(field.name, F.lit(None)) if origin is None else inner.getField(origin)
            fields.append(value.cast(field.dataType).alias(field.name))
        return F.when(inner.isNotNull(), F.struct(*fields))

    return _at(column, shown, wanted, edit.steps, struct)


def _at(
    column: Column,
    shown: DataType,
    wanted: DataType,
    steps: tuple[str, ...],
    change: Callable[[Column, DataType], Column],
) -> Column:
    """The values with a change of what the steps lead to."""
    if isinstance(shown, StructType) and UNDECODED in shown.names:
        is_lost = column.getField(UNDECODED).isNotNull()
        decoded = StructType([field for field in shown if field.name != UNDECODED])
        refused = F.raise_error(F.lit(_RAISED)).cast(wanted)
        return F.when(is_lost, refused).otherwise(_at(column, decoded, wanted, steps, change))
    match steps, wanted:
        case (), _:
            return change(column, wanted)
        case (step, *rest), ArrayType() if step == ELEMENT:
            have, element = type_at(shown, (step,)), wanted.elementType
            return F.transform(column, lambda item: _at(item, have, element, tuple(rest), change))
        case (step, *rest), MapType() if step == MAP_VALUE:
            have, value = type_at(shown, (step,)), wanted.valueType
            return F.transform_values(
                column, lambda _key, item: _at(item, have, value, tuple(rest), change)
            )
        case (step, *rest), StructType():
            have = type_at(shown, (step,))
            fields = [
                _at(column.getField(field.name), have, field.dataType, tuple(rest), change)
                if field.name == step
                else column.getField(field.name)
                for field in wanted
            ]
            named = (field.alias(name) for field, name in zip(fields, wanted.names, strict=True))
            return F.when(column.isNotNull(), F.struct(*named))
    raise TypeError(f"{wanted.simpleString()} has no {steps[0]!r}")


def type_at(whole: DataType, steps: tuple[str, ...]) -> DataType:
    """The type that the steps lead to."""
    for step in steps:
        match whole:
            case ArrayType():
                whole = whole.elementType
            case MapType():
                whole = whole.valueType
            case StructType():
                whole = whole[step].dataType
    return whole


def has_times(stored: Layout) -> bool:
    """Whether values have the time of their last access."""
    return without_ttl(stored) != stored


def without_times(column: Column, stored: Layout) -> Column:
    """Values with TTL as the job sees them."""
    match stored:
        case Ttl():
            return column.getField(VALUE)
        case Repeated(Ttl()):
            return F.transform(column, lambda timed: timed.getField(VALUE))
        case MapOf(_, Ttl() | Nullable(Ttl())):
            return F.transform_values(column, lambda _key, timed: timed.getField(VALUE))
        case _:
            return column


def with_times(column: Column, before: Column, stored: Layout, now_ms: int) -> Column:
    """New values with the old times of access; new ones and those in collections get ``now_ms``."""

    def timed(value: Column, time: Column) -> Column:
        return F.when(value.isNotNull(), F.struct(time.alias(TIMESTAMP), value.alias(VALUE)))

    now = F.timestamp_millis(F.lit(now_ms))
    match stored:
        case Ttl():
            return timed(column, F.coalesce(before.getField(TIMESTAMP), now))
        case Repeated(Ttl()):
            return F.transform(column, lambda value: timed(value, now))
        case MapOf(_, Ttl() | Nullable(Ttl())):
            return F.transform_values(column, lambda _key, value: timed(value, now))
        case _:
            return column
