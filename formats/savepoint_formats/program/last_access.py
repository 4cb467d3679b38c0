"""Values with a time to live: columns of values and of times become columns of both.

What TTL stores has a time with each value, each element of a list, and each value of a map; a row
of a DataFrame has one time for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.layout import MapOf, Nullable, Repeated, Ttl
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.collections import Collections

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout


def with_last_access(values: pa.Array, times: pa.Array, stored: Layout) -> pa.Array:
    """The values as ``stored`` has them, each with the time of its row.

    Args:
        values: Of the type without times.
        times: When each row was accessed last, ms since the epoch; no nulls.
        stored: What the serializer writes.
    """
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
