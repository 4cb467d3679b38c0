"""Values of a column, one by one, for the general path."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value

_INTEGERS = {32: pa.int32(), 64: pa.int64()}


def plain_values(array: pa.Array) -> list[Value]:
    """All values, as ``to_pylist`` gives them, but dates and times as Arrow's integers.

    Python has not all of them: its dates end with the year 9999, its times at microseconds.
    """
    kind = array.type
    if pa.types.is_temporal(kind):
        return list(array.view(_INTEGERS[kind.bit_width]).to_pylist())
    if pa.types.is_struct(kind) and kind.num_fields:
        names = [field.name for field in kind]
        columns = [plain_values(array.field(index)) for index in range(kind.num_fields)]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        return _with_nulls(rows, array)
    if pa.types.is_map(kind) or pa.types.is_list(kind):
        return _with_nulls(_lists(array), array)
    return list(array.to_pylist())


def _lists(array: pa.ListArray | pa.MapArray) -> list[Value]:
    """A list of elements, or of pairs of key and value, for each row."""
    offsets = array.offsets.to_pylist()
    first, end = offsets[0], offsets[-1]
    elements: list[Value]
    if pa.types.is_map(array.type):
        keys, items = plain_values(array.keys[first:end]), plain_values(array.items[first:end])
        elements = list(zip(keys, items, strict=True))
    else:
        elements = plain_values(array.values[first:end])
    return [elements[start - first : stop - first] for start, stop in pairwise(offsets)]


def _with_nulls(values: list[Value], array: pa.Array) -> list[Value]:
    if not array.null_count:
        return values
    is_valid = array.is_valid().to_pylist()
    return [value if valid else None for value, valid in zip(values, is_valid, strict=True)]
