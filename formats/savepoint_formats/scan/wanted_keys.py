"""Keys that a user gives, as values of the type of a key column.

| column          | forms of a key                                                            |
|-----------------|---------------------------------------------------------------------------|
| number, boolean | a number or a boolean, or its text                                        |
| text            | a text, or a number                                                       |
| bytes           | bytes, or hexadecimal digits                                              |
| date, time      | an object of ``datetime``, or its text as in SQL                          |
| precise time    | the same, or a dict of ``seconds`` and ``nanos``; see ``precise_times``   |
| struct          | a dict with all fields in any order, or its JSON                          |
| list            | a list, or its JSON                                                       |
| map             | a dict, a list of pairs, or the JSON of either                            |

Fields, elements and entries have these forms too. So the values of ``to_pylist`` are keys, and the
texts of ``savepoint key``.
"""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_formats.errors import KeyTypeError
from savepoint_formats.printable import alternatives
from savepoint_formats.values.kinds.precise_times import as_precise, is_precise, times_of_day

if TYPE_CHECKING:
    from collections.abc import Iterable

_REFUSALS = (ValueError, TypeError, NotImplementedError, OverflowError, RecursionError)


def keys_of(keys: Iterable[Any], key_type: pa.DataType) -> pa.Array:
    """Keys as values of the type of the key column.

    Raises ``KeyTypeError`` for a key that is not of this type, or would lose digits.
    """
    return pa.concat_arrays([pa.array([], key_type), *(_key(key, key_type) for key in keys)])


def _key(key: Any, key_type: pa.DataType) -> pa.Array:
    try:
        return _value(key, key_type)
    except _REFUSALS as error:
        reason = f": {error}" if pa.types.is_nested(key_type) else ""
        raise KeyTypeError(f"{key!r} is not a key of type {key_type}{reason}") from error


def _value(value: Any, wanted: pa.DataType) -> pa.Array:
    """An array with the value only."""
    if value is None:
        return pa.nulls(1, wanted)
    if is_precise(wanted):
        return as_precise(pa.array([value]), wanted)
    if not pa.types.is_nested(wanted):
        return _scalar(value, wanted)
    if isinstance(value, str):
        # A BigDecimal has as many digits as it is written with.
        value = json.loads(value, parse_float=Decimal)
    if pa.types.is_struct(wanted):
        return _struct(value, wanted)
    return _collection(value, wanted)


def _scalar(value: Any, wanted: pa.DataType) -> pa.Array:
    if isinstance(value, str):
        if pa.types.is_binary(wanted):
            return pa.array([bytes.fromhex(value)], wanted)
        if pa.types.is_time(wanted):
            return times_of_day(pa.array([value]), wanted)
        if pa.types.is_duration(wanted):
            value = int(value)
    if pa.types.is_string(wanted) and isinstance(value, int | Decimal):
        # Arrow's own integers end at 64 bits.
        return pa.array([str(value)], wanted)
    if pa.types.is_floating(wanted) and isinstance(value, Decimal):
        value = float(value)
    if pa.types.is_decimal(wanted) and isinstance(value, int | float):
        value = Decimal(str(value))
    array = pa.array([value])
    if pa.types.is_temporal(array.type) and not pa.types.is_temporal(wanted):
        raise TypeError(f"{value!r} is a time")
    return array.cast(wanted)


def _struct(value: Any, wanted: pa.StructType) -> pa.Array:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not a dict of its fields")
    names = [field.name for field in wanted]
    unknown = [name for name in value if name not in names]
    if unknown:
        raise ValueError(f"there is no field {unknown[0]!r}; {alternatives(unknown[0], names)}")
    missing = [name for name in names if name not in value]
    if missing:
        raise ValueError(f"it lacks {', '.join(missing)}")
    fields = [_value(value[field.name], field.type) for field in wanted]
    return pa.StructArray.from_arrays(fields, fields=list(wanted)) if fields else pa.array([{}])


def _collection(value: Any, wanted: pa.DataType) -> pa.Array:
    if isinstance(value, dict) and pa.types.is_map(wanted):
        value = list(value.items())
    if not isinstance(value, list | tuple):
        raise TypeError(f"{value!r} is not a list of its elements")
    bounds = pa.array([0, len(value)], pa.int32())
    if pa.types.is_map(wanted):
        parts = list(zip(*value, strict=True)) or [(), ()]
        keys, items = parts
        return pa.MapArray.from_arrays(
            bounds,
            _elements(keys, wanted.key_type),
            _elements(items, wanted.item_type),
            type=wanted,
        )
    return pa.ListArray.from_arrays(bounds, _elements(value, wanted.value_type), type=wanted)


def _elements(values: Iterable[Any], wanted: pa.DataType) -> pa.Array:
    return pa.concat_arrays(
        chain([pa.array([], wanted)], (_value(value, wanted) for value in values))
    )
