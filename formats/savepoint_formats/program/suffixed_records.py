"""Keys and namespaces whose serializer is not known, told apart by the sizes behind them.

Flink writes the size of a key behind the key, and that of its namespace behind the namespace, if
both vary in length. So a record is divided from its end, all records of a chunk at once:

| bytes of a record            | known by                                             |
|------------------------------|------------------------------------------------------|
| key                          | the size behind it, which must reach to the start    |
| its size, in 1 to 4 bytes    | the end of the namespace's bytes                     |
| namespace                    | the size behind it                                   |
| its size, in 1 to 4 bytes    | the end of the record                                |

A record that can be divided in several ways, or in none, is left to the general path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.layout import Opaque, Struct, nodes_of
from savepoint_formats.program.byte_ranges import Ranges, bytes_of
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.state_entries import Suffixed

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.layout import Layout

    Positions = npt.NDArray[np.int64]

_WIDTHS = range(1, 5)
"""Bytes of a size."""


def divided_parts(layout: Layout) -> tuple[Layout, ...]:
    """The layouts of key and namespace, if one of them is not known; empty for other records."""
    match layout:
        case Struct(_, (Suffixed(key, False), Suffixed(namespace, False))):
            parts = key, namespace
            if all(isinstance(it, Opaque) or not any(nodes_of(it, Opaque)) for it in parts):
                return parts
    return ()


def divided_records(
    chunk: Chunk,
    ranges: tuple[Positions, Positions],
    layouts: tuple[Layout, ...],
    decode: Callable[[Layout, Ranges], tuple[pa.Array, Positions]],
) -> tuple[pa.StructArray, Positions]:
    """Key and namespace of records that can be divided in just one way, and their numbers.

    ``decode`` gives the values of a layout that fit, and their numbers.
    """
    starts, ends = ranges
    is_inside = (starts >= 0) & (starts <= ends) & (ends <= len(chunk))
    if not is_inside.all():
        # The general path says what is wrong.
        starts, ends = starts[:0], ends[:0]
    numbers, parts = _divided(chunk, starts, ends)
    columns = [
        (_undecoded(chunk, part, layout), np.arange(len(part)))
        if isinstance(layout, Opaque)
        else decode(layout, part)
        for layout, part in zip(layouts, parts, strict=True)
    ]
    both = np.intersect1d(columns[0][1], columns[1][1], assume_unique=True)
    arrays = [values.take(pa.array(np.searchsorted(fits, both))) for values, fits in columns]
    return pa.StructArray.from_arrays(arrays, names=["key", "namespace"]), numbers[both]


def _divided(
    chunk: Chunk, starts: Positions, ends: Positions
) -> tuple[Positions, tuple[Ranges, Ranges]]:
    """The numbers of the records that can be divided in just one way, and both of their parts."""
    ways = np.zeros(len(starts), np.int64)
    key_ends, namespace_starts, namespace_ends = (np.zeros_like(starts) for _ in range(3))
    for width in _WIDTHS:
        namespace, may_be = _sizes_before(chunk, starts, ends, width)
        namespace_end = ends - width
        middle = np.where(may_be, namespace_end - namespace, starts)
        for key_width in _WIDTHS:
            key, is_key = _sizes_before(chunk, starts, middle, key_width)
            fits = may_be & is_key & (starts + key + key_width == middle)
            ways += fits
            key_ends[fits] = (middle - key_width)[fits]
            namespace_starts[fits], namespace_ends[fits] = middle[fits], namespace_end[fits]
    numbers = np.flatnonzero(ways == 1)
    places = (it[numbers] for it in (starts, key_ends, namespace_starts, namespace_ends))
    start, key_end, namespace_start, namespace_end = places
    parts = Ranges(start, key_end), Ranges(namespace_start, namespace_end)
    return numbers, parts


def _undecoded(chunk: Chunk, ranges: Ranges, layout: Opaque) -> pa.StructArray:
    """Values of an unknown serializer: their bytes, and the reason."""
    reasons = pa.repeat(pa.scalar(layout.note), len(ranges))
    fields = list(arrow_type(layout))
    columns = [bytes_of(chunk, ranges).cast(fields[0].type), reasons.cast(fields[1].type)]
    return pa.StructArray.from_arrays(columns, fields=fields)


def _sizes_before(
    chunk: Chunk, starts: Positions, ends: Positions, width: int
) -> tuple[Positions, npt.NDArray[np.bool_]]:
    """The number in the last bytes of each record, and whether it is a size with this width."""
    has_room = ends - starts >= width
    places = np.where(has_room, ends - width, 0)[:, np.newaxis] + np.arange(width)
    places = np.minimum(places, max(len(chunk) - 1, 0))
    digits = chunk.data[places].astype(np.int64) << 8 * np.arange(width)
    sizes: Positions = digits.sum(axis=1)
    # A size takes no more bytes than it needs.
    is_size = has_room & (sizes <= ends - starts - width)
    if width > 1:
        is_size &= sizes >> 8 * (width - 1) > 0
    return sizes, is_size
