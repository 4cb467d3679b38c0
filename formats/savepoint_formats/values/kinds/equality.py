"""Values that can be distinguished: Python objects that are equal where Java's are."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

_INTEGERS = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


def comparable(array: pa.Array) -> list[Hashable]:
    """A hashable object for each value; equal ones for equal values of any one type.

    Java compares floating point numbers by their bits. So are dates and times compared here, as
    Python has not all of them.
    """
    kind = array.type
    if pa.types.is_struct(kind):
        fields = [comparable(field) for field in array.flatten()]
        rows = list(zip(*fields, strict=True)) if fields else [()] * len(array)
        return _with_nulls(rows, array)
    if pa.types.is_map(kind):
        entries = zip(comparable(array.keys), comparable(array.items), strict=True)
        return _with_nulls(list(map(frozenset, _slices(list(entries), array))), array)
    if pa.types.is_list(kind):
        return _with_nulls(_slices(comparable(array.values), array), array)
    if pa.types.is_floating(kind) or pa.types.is_temporal(kind):
        array = array.view(_INTEGERS[kind.bit_width])
    return list(array.to_pylist())


def _slices(
    values: Sequence[Hashable], array: pa.ListArray | pa.MapArray
) -> list[tuple[Hashable, ...]]:
    offsets = array.offsets.to_pylist()
    return [tuple(values[start:end]) for start, end in pairwise(offsets)]


def _with_nulls(values: Sequence[Hashable], array: pa.Array) -> list[Hashable]:
    is_valid = array.is_valid().to_pylist()
    return [value if valid else None for value, valid in zip(values, is_valid, strict=True)]
