"""Values of a column as Python objects, for the general path and for comparing them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.values.element_rows import Collections

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from savepoint_formats.values.kinds.codec import Value

    Leaf = Callable[[pa.Array], list[Value] | None]

_INTEGERS = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


def plain_values(array: pa.Array) -> list[Value]:
    """The values as ``to_pylist`` gives them, but Arrow's integers for dates and times.

    Python's dates end with the year 9999, its times at microseconds.
    """
    return values_with(array, lambda leaf: _integers(leaf, pa.types.is_temporal(leaf.type)))


def comparable(array: pa.Array) -> list[Hashable]:
    """Hashable objects; equal ones for values that Java takes for equal.

    Java compares floating point numbers by their bits.
    """

    def bits(leaf: pa.Array) -> list[Value] | None:
        is_number = pa.types.is_floating(leaf.type) or pa.types.is_temporal(leaf.type)
        return _integers(leaf, is_number)

    values = values_with(array, bits)
    if not pa.types.is_nested(array.type):
        return values
    return [_hashable(value, array.type) for value in values]


def values_with(array: pa.Array, leaf: Leaf) -> list[Value]:
    """The values of ``to_pylist``, except for columns for which ``leaf`` gives a list."""
    values = leaf(array)
    if values is not None:
        return values
    kind = array.type
    if pa.types.is_struct(kind) and kind.num_fields:
        names = [field.name for field in kind]
        columns = [values_with(array.field(index), leaf) for index in range(kind.num_fields)]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        return _with_nulls(rows, array)
    if pa.types.is_map(kind) or pa.types.is_list(kind):
        return _with_nulls(_lists(array, leaf), array)
    return list(array.to_pylist())


def _integers(array: pa.Array, is_wanted: bool) -> list[Value] | None:
    return list(array.view(_INTEGERS[array.type.bit_width]).to_pylist()) if is_wanted else None


def _hashable(value: Value, kind: pa.DataType) -> Hashable:
    if value is None or not pa.types.is_nested(kind):
        return value  # type: ignore[no-any-return]
    if pa.types.is_struct(kind):
        return tuple(_hashable(value[field.name], field.type) for field in kind)
    if pa.types.is_map(kind):
        return frozenset(
            (_hashable(key, kind.key_type), _hashable(item, kind.item_type)) for key, item in value
        )
    return tuple(_hashable(element, kind.value_type) for element in value)


def _lists(array: pa.ListArray | pa.MapArray, leaf: Leaf) -> list[Value]:
    """Elements of each row; of a map, pairs of key and value."""
    collections = Collections(array)
    elements: list[Value]
    if pa.types.is_map(array.type):
        keys, items = (values_with(it, leaf) for it in (collections.keys, collections.items))
        elements = list(zip(keys, items, strict=True))
    else:
        elements = values_with(collections.elements, leaf)
    ends = np.cumsum(collections.lengths).tolist()
    return [elements[start:end] for start, end in pairwise([0, *ends])]


def _with_nulls(values: list[Value], array: pa.Array) -> list[Value]:
    if not array.null_count:
        return values
    is_valid = array.is_valid().to_pylist()
    return [value if valid else None for value, valid in zip(values, is_valid, strict=True)]
