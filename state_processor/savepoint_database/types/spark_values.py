"""Batches with other types: for Spark and back, for files and for people. Each is a ``Form``.

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

Both types of a conversion may differ in their leaves and in the names of fields. A map may also
become a list of entries, ``struct<key, value>``, or come from one. Precise times are leaves.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.errors import (
    InexactTimeError,
    UnencodableError,
    ValueOutOfRangeError,
    within,
)
from savepoint_formats.values import (
    NANOS,
    NANOS_PER_SECOND,
    SECONDS,
    Nanoseconds,
    as_precise,
    is_precise,
    mapped,
    precise_times,
    precise_type,
    seconds_and_nanos,
    texts_of,
    times_of_day,
    timestamps_of,
    zone_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    ConvertLeaf = Callable[[pa.Array, pa.DataType], pa.Array]


def converted(array: pa.Array, wanted: pa.DataType, leaf: ConvertLeaf) -> pa.Array:
    """The array as another type; ``leaf`` converts inner arrays whose types differ."""
    if array.type == wanted:
        return array
    if is_precise(array.type) or is_precise(wanted):
        return leaf(array, wanted)
    if pa.types.is_struct(wanted) and pa.types.is_struct(array.type):
        return _struct(array, wanted, leaf)
    if pa.types.is_list(wanted) and pa.types.is_list(array.type):
        elements = converted(array.values, wanted.value_type, leaf)
        return pa.ListArray.from_arrays(bounds(array), elements, type=wanted)
    if pa.types.is_list(wanted) and pa.types.is_map(array.type):
        entries = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
        elements = converted(entries, wanted.value_type, leaf)
        return pa.ListArray.from_arrays(bounds(array), elements, type=wanted)
    if pa.types.is_map(wanted):
        is_map = pa.types.is_map(array.type)
        keys, items = (array.keys, array.items) if is_map else array.values.flatten()
        return pa.MapArray.from_arrays(
            bounds(array),
            converted(keys, wanted.key_type, leaf),
            converted(items, wanted.item_type, leaf),
            type=wanted,
        )
    return leaf(array, wanted)


def is_nested(data_type: pa.DataType) -> bool:
    """Whether a type has inner types."""
    return bool(pa.types.is_nested(data_type))


def entries_type(key: pa.DataType, value: pa.DataType) -> pa.DataType:
    """A map as a list of entries."""
    return pa.list_(pa.struct({"key": key, "value": value}))


def leaves(array: pa.Array) -> Iterator[pa.Array]:
    """The arrays inside an array, without values under nulls."""
    if is_precise(array.type):
        yield array
    elif pa.types.is_map(array.type):
        for inner in _flat_map(array):
            yield from leaves(inner)
    elif pa.types.is_list(array.type):
        yield from leaves(array.flatten())
    elif pa.types.is_struct(array.type):
        for inner in array.flatten():
            yield from leaves(inner)
    else:
        yield array


def _flat_map(array: pa.MapArray) -> tuple[pa.Array, pa.Array]:
    """Keys and values of all entries, without entries under nulls."""
    offsets = bounds(array)
    keys, items = (
        pa.ListArray.from_arrays(offsets, part).flatten() for part in (array.keys, array.items)
    )
    return keys, items


def _struct(array: pa.StructArray, wanted: pa.StructType, leaf: ConvertLeaf) -> pa.StructArray:
    fields = [converted(array.field(index), field.type, leaf) for index, field in enumerate(wanted)]
    if not fields:
        return array
    return pa.StructArray.from_arrays(fields, fields=list(wanted), mask=array.is_null())


def bounds(array: pa.ListArray | pa.MapArray) -> pa.Array:
    """Offsets that are null where the value is."""
    is_null = pa.concat_arrays([array.is_null(), pa.array([False])])
    return pc.if_else(is_null, pa.scalar(None, pa.int32()), array.offsets)


PARTS = pa.struct({SECONDS: pa.int64(), NANOS: pa.int32()})
"""A time with nanoseconds as a struct of Spark."""

_MICROS_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}
_LIMITS = np.iinfo(np.int64)


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


class Form(NamedTuple):
    """A form of values: the type of each leaf, and how values get that type."""

    leaf: Callable[[pa.DataType], pa.DataType]
    values: ConvertLeaf

    def type(self, data_type: pa.DataType) -> pa.DataType:
        """The type of values of a type in this form."""
        return mapped(data_type, self.leaf)

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """The schema of ``batch``; names of columns stay."""
        return pa.schema([pa.field(field.name, self.type(field.type)) for field in schema])

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch in this form; an error names a column that can't have it."""
        schema = self.schema(batch.schema)
        if schema == batch.schema:
            return batch
        arrays = []
        for field, array in zip(schema, batch.columns, strict=True):
            with within(f"column {field.name!r}"):
                arrays.append(converted(array, field.type, self.values))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def to_comparable(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with times that conditions can compare.

    They are in nanoseconds, or in microseconds where a time of the column needs their range.
    """
    columns = []
    for field, array in zip(batch.schema, batch.columns, strict=True):
        times = (leaf for leaf in leaves(array) if is_precise(leaf.type))
        unit = "us" if any(timestamps_of(leaf, "ns")[1].any() for leaf in times) else "ns"
        column = pa.RecordBatch.from_arrays([array], [field.name])
        columns.append(COUNTED[unit].batch(column).column(0))
    fields = zip(batch.schema, columns, strict=True)
    schema = pa.schema([field.with_type(column.type) for field, column in fields])
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def from_spark(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """An array of Spark's as a type of ``savepoint_formats``; reverses ``SPARK``.

    Raises ``ValueOutOfRangeError`` for a time that does not fit, ``UnencodableError`` for a text that is not UTF-8.
    """
    expect_valid(values)
    return converted(values, wanted, _exact_values)


def expect_valid(values: pa.Array) -> None:
    """Raises ``UnencodableError`` with its row if a text is not UTF-8, which Arrow does not check."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid as error:
        raise UnencodableError(
            f"{' '.join(str(error).split())}: cast or clean it first", "$", _first_invalid(values)
        ) from error


def _first_invalid(values: pa.Array) -> int:
    """The first invalid row, by bisection."""
    start, end = 0, len(values)
    while end - start > 1:
        middle = (start + end) // 2
        try:
            values.take(pa.array(range(start, middle))).validate(full=True)
        except pa.ArrowInvalid:
            end = middle
        else:
            start = middle
    return start


def _exact_values(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    try:
        if is_precise(wanted):
            return as_precise(values, wanted)
        if pa.types.is_time(wanted) and pa.types.is_string(values.type):
            return times_of_day(values, wanted)
        return values.cast(wanted)
    except pa.ArrowInvalid as error:
        raise ValueOutOfRangeError(str(error), str(wanted), 0) from error


def printable_rows(rows: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows as plain values: times and dates are text, maps are lists of pairs."""
    batches = rows.to_batches() if isinstance(rows, pa.Table) else [rows]
    return [row for batch in batches for row in PRINTABLE.batch(batch).to_pylist()]


def _spark_values(
    values: pa.Array, wanted: pa.DataType, *, nanoseconds: Nanoseconds = "refuse"
) -> pa.Array:
    if wanted.equals(PARTS):
        return _parts_of(values)
    if has_nanoseconds(values.type) and pa.types.is_string(wanted):
        return _time_texts(values)
    if not pa.types.is_timestamp(wanted) and not pa.types.is_duration(wanted):
        return values.cast(wanted)
    if has_nanoseconds(values.type):
        precise = _precise(values)
        counted, is_other = timestamps_of(precise, "us")
        if nanoseconds != "truncate" and is_other.any():
            raise _inexact(precise.slice(int(np.flatnonzero(is_other)[0]), 1))
        return counted.view(pa.int64()).view(wanted)
    numbers = pc.fill_null(values.view(pa.int64()), 0).to_numpy()
    unit = values.type.unit
    micros = _product(numbers, _MICROS_PER_UNIT[unit])
    if (
        nanoseconds != "truncate"
        and (is_other := micros // _MICROS_PER_UNIT[unit] != numbers).any()
    ):
        raise InexactTimeError(
            f"a time of {numbers[is_other][0]} {unit} since the epoch, beyond Spark's timestamps:"
            " read other columns, or the nearest time after with_forms(nanoseconds='truncate')"
        )
    is_null = values.is_null().to_numpy(zero_copy_only=False)
    return pa.array(micros, pa.int64(), mask=is_null).view(wanted)


def _precise(values: pa.Array) -> pa.StructArray:
    if is_precise(values.type):
        return values
    return precise_times(values.view(pa.int64()).view(pa.timestamp("ns")))


def _parts_of(values: pa.Array) -> pa.StructArray:
    seconds, nanos = seconds_and_nanos(_precise(values))
    arrays = [pa.array(seconds, pa.int64()), pa.array(nanos.astype(np.int32), pa.int32())]
    return pa.StructArray.from_arrays(arrays, fields=list(PARTS), mask=values.is_null())


def _time_texts(values: pa.Array) -> pa.Array:
    if not pa.types.is_duration(values.type):
        wanted = values.type if is_precise(values.type) else precise_type(values.type.tz)
        return texts_of(as_precise(values, wanted))
    counts = pc.fill_null(values.view(pa.int64()), 0).to_numpy()
    seconds, nanos = np.divmod(np.abs(counts), NANOS_PER_SECOND)
    digits = pc.utf8_lpad(pa.array(nanos).cast(pa.utf8()), 9, "0")
    signs = pa.array(np.where(counts < 0, "PT-", "PT"))
    whole = pa.array(seconds).cast(pa.utf8())
    texts = pc.binary_join_element_wise(signs, whole, ".", digits, "S", "")
    return pc.if_else(values.is_null(), pa.scalar(None, pa.utf8()), texts)


def _inexact(value: pa.StructArray) -> InexactTimeError:
    (text,) = texts_of(value).to_pylist()
    return InexactTimeError(
        f"the time {text}, which does not fit a timestamp of microseconds: read it after"
        " with_forms(nanoseconds='struct') or 'text' (--nanoseconds), which are exact and can"
        " be written again, or with 'truncate' to lose digits"
    )


def _product(numbers: NDArray[np.int64], factor: int) -> NDArray[np.int64]:
    """The numbers times a factor; out of range, the smallest or largest number."""
    limit = _LIMITS.max // factor
    products = np.clip(numbers, -limit, limit) * factor
    products[numbers > limit] = _LIMITS.max
    products[numbers < -limit] = _LIMITS.min
    return products


def _texts(values: pa.Array, _wanted: pa.DataType) -> pa.Array:
    return texts_of(values) if is_precise(values.type) else values.cast(pa.utf8())


def _spark_forms(is_asked: Callable[[pa.DataType], bool]) -> dict[Nanoseconds, Form]:
    def form(nanoseconds: Nanoseconds) -> Form:
        return Form(
            lambda leaf: spark_leaf(leaf, nanoseconds) if is_asked(leaf) else leaf,
            partial(_spark_values, nanoseconds=nanoseconds),
        )

    return {nanoseconds: form(nanoseconds) for nanoseconds in get_args(Nanoseconds)}


SPARK = _spark_forms(lambda _: True)
"""Values for Spark, by the form of nanoseconds; ``refuse`` raises ``InexactTimeError`` for a time that differs."""

EXPORTED = _spark_forms(is_precise)
"""Values for files, by the form of nanoseconds: times with nanoseconds as in Spark, others as they are."""

PYTHON = Form(lambda leaf: leaf if is_precise(leaf) else spark_leaf(leaf), _spark_values)
"""Values for ``python_values``: with Spark's types, but precise times stay."""

PRINTABLE = Form(
    lambda leaf: pa.utf8() if pa.types.is_temporal(leaf) or is_precise(leaf) else leaf, _texts
)
"""Values for people: times, dates and durations are texts, to the last digit."""

TIME_TEXTS = Form(lambda leaf: pa.utf8() if is_precise(leaf) else leaf, _texts)
"""Values that are read from texts: times with nanoseconds remain texts."""


def _counted_form(unit: str) -> Form:
    return Form(
        lambda leaf: pa.timestamp(unit, zone_of(leaf)) if is_precise(leaf) else leaf,
        lambda values, _wanted: timestamps_of(values, unit)[0],
    )


COUNTED = {unit: _counted_form(unit) for unit in ("ns", "us")}
"""Values whose times are numbers of units."""
