"""Arrow arrays of lists, maps and structs with other leaves, or with other shapes of maps.

Both types of a conversion may differ in their leaves and in the names of fields. A map may also
become a list of entries, ``struct<key, value>``, or come from one. Precise times are leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.values.kinds.precise_times import is_precise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
