"""Values with a time to live: hides the times of their last access, and puts them back.

TTL stores ``struct<timestamp, value>``: a time with each value, each element of a list, and each value
of a map. A reader sees the values; a row of a DataFrame has one time for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.layout import MapOf, Nullable, Repeated, Ttl
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.element_rows import Collections

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout


def without_times(values: pa.Array, stored: Layout) -> pa.Array:
    """Decoded values of a stored layout, without the times."""
    match stored:
        case Ttl():
            return pc.struct_field(values, "value")
        case Repeated(Ttl()):
            elements = pc.struct_field(values.values, "value")
            return pa.ListArray.from_arrays(_bounds(values), elements)
        case MapOf(_, Ttl() | Nullable(Ttl())) if pa.types.is_map(values.type):
            items = pc.struct_field(values.items, "value")
            return pa.MapArray.from_arrays(_bounds(values), values.keys, items)
        case MapOf(_, Ttl() | Nullable(Ttl())):
            # A map whose keys can be null is a list of its entries.
            key, value = values.type.value_type
            items = pc.struct_field(values.values, [1, 1])
            fields = [key, value.with_type(items.type)]
            keys = pc.struct_field(values.values, "key")
            entries = pa.StructArray.from_arrays([keys, items], fields=fields)
            return pa.ListArray.from_arrays(_bounds(values), entries)
        case _:
            return values


def with_times(values: pa.Array, times: pa.Array, stored: Layout) -> pa.Array:
    """The mirror of ``without_times``; ``times`` has ms since the epoch for each row, no nulls."""
    wanted = arrow_type(stored)
    times = times.cast(pa.timestamp("ms", "UTC"))
    match stored:
        case Ttl():
            return _timed(values, times, wanted, mask=values.is_null())
        case Repeated(Ttl()):
            lists = Collections(values)
            elements = _timed(lists.elements, times.take(pa.array(lists.rows)), wanted.value_type)
            return pa.ListArray.from_arrays(lists.offsets, elements, type=wanted)
        case MapOf(_, Nullable(Ttl())):
            maps = Collections(values)
            items = _timed(maps.items, times.take(pa.array(maps.rows)), wanted.item_type)
            return pa.MapArray.from_arrays(maps.offsets, maps.keys, items, type=wanted)
        case _:
            raise ValueError(f"{stored} has no time to live")


def _timed(
    values: pa.Array, times: pa.Array, wanted: pa.DataType, mask: pa.Array | None = None
) -> pa.Array:
    return pa.StructArray.from_arrays([times, values], fields=list(wanted), mask=mask)


def _bounds(values: pa.ListArray | pa.MapArray) -> pa.Array:
    """Offsets that are null where the value is."""
    is_null = pa.concat_arrays([values.is_null(), pa.array([False])])
    return pc.if_else(is_null, pa.scalar(None, pa.int32()), values.offsets)
