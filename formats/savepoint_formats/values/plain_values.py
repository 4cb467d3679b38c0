"""Values of a column, one by one, for the general path."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.values.kinds.codec import Value

    Leaf = Callable[[pa.Array], list[Value] | None]

_INTEGERS = {32: pa.int32(), 64: pa.int64()}


def plain_values(array: pa.Array) -> list[Value]:
    """All values, as ``to_pylist`` gives them, but dates and times as Arrow's integers.

    Python has not all of them: its dates end with the year 9999, its times at microseconds.
    """
    return values_with(array, _integers)


def values_with(array: pa.Array, leaf: Leaf) -> list[Value]:
    """All values, as ``to_pylist`` gives them, but for those that ``leaf`` does not give None for."""
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


def _integers(array: pa.Array) -> list[Value] | None:
    if not pa.types.is_temporal(array.type):
        return None
    return list(array.view(_INTEGERS[array.type.bit_width]).to_pylist())


def _lists(array: pa.ListArray | pa.MapArray, leaf: Leaf) -> list[Value]:
    """A list of elements, or of pairs of key and value, for each row."""
    offsets = array.offsets.to_pylist()
    first, end = offsets[0], offsets[-1]
    elements: list[Value]
    if pa.types.is_map(array.type):
        keys = values_with(array.keys[first:end], leaf)
        items = values_with(array.items[first:end], leaf)
        elements = list(zip(keys, items, strict=True))
    else:
        elements = values_with(array.values[first:end], leaf)
    return [elements[start - first : stop - first] for start, stop in pairwise(offsets)]


def _with_nulls(values: list[Value], array: pa.Array) -> list[Value]:
    if not array.null_count:
        return values
    is_valid = array.is_valid().to_pylist()
    return [value if valid else None for value, valid in zip(values, is_valid, strict=True)]
