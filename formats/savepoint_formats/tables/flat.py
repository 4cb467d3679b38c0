"""Flat views of list and map states: a row per element or entry instead of one per key.

| state | columns beside the key's                        |
|-------|-------------------------------------------------|
| list  | ``list_index``, i32 from 0; ``list_value``      |
| map   | ``map_key``, ``map_value``                      |
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.errors import StateNotFoundError
from savepoint_formats.printable import alternatives
from savepoint_formats.values.element_rows import Collections

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from savepoint_formats.state_files.state import State
    from savepoint_formats.tables.tables import Table

LIST_INDEX, LIST_VALUE = "list_index", "list_value"
MAP_KEY, MAP_VALUE = "map_key", "map_value"


def flat_state(table: Table, name: str) -> State:
    """The state of a flat view. Raises ``StateNotFoundError``."""
    for state in table.states:
        if name in (state.name, state.job_name):
            return state
    known = [state.job_name for state in table.states]
    raise StateNotFoundError(f"{table.name} has no state {name!r}; {alternatives(name, known)}")


def flat_fields(name: str, collection: pa.DataType) -> list[pa.Field]:
    """Columns of a flat view of a list or map type. Raises ``StateNotFoundError`` for others."""
    if pa.types.is_map(collection):
        return [pa.field(MAP_KEY, collection.key_type), pa.field(MAP_VALUE, collection.item_type)]
    if pa.types.is_list(collection):
        return [pa.field(LIST_INDEX, pa.int32()), pa.field(LIST_VALUE, collection.value_type)]
    raise StateNotFoundError(f"state {name!r} is not a list or map, but {collection}")


def rows_of_elements(
    columns: dict[str, pa.Array], collections: pa.Array, size: int
) -> Iterator[dict[str, pa.Array]]:
    """Batches of about ``size`` bytes with a row per element of ``collections``.

    The other columns are repeated beside it. A collection may be divided between batches.
    """
    lists = _as_lists(collections)
    sizes = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), np.int64)
    ends, elements = np.cumsum(sizes), pc.list_flatten(lists)
    borders = _borders(columns, ends, elements, size)
    for start, end in pairwise(borders):
        first, last = np.searchsorted(ends, [start, end - 1], "right").tolist()
        own = np.minimum(ends[first : last + 1], end) - np.maximum(
            ends[first : last + 1] - sizes[first : last + 1], start
        )
        rows = np.repeat(np.arange(first, last + 1), own)
        flat = {name: values.take(pa.array(rows)) for name, values in columns.items()}
        items = elements.slice(start, end - start)
        if pa.types.is_map(collections.type):
            yield {**flat, MAP_KEY: items.field(0), MAP_VALUE: items.field(1)}
        else:
            indexes = np.arange(start, end) - (ends - sizes)[rows]
            yield {**flat, LIST_INDEX: pa.array(indexes.astype(np.int32)), LIST_VALUE: items}


def _borders(
    columns: dict[str, pa.Array], ends: NDArray[np.int64], elements: pa.Array, size: int
) -> list[int]:
    """Indexes of elements that divide the rows into batches of about ``size`` bytes."""
    count = int(ends[-1]) if len(ends) else 0
    of_element = elements.nbytes / max(count, 1)
    of_rows = sum(_row_sizes(values) for values in columns.values()) + of_element + 1
    sizes = np.diff(ends, prepend=0)
    bytes_before = np.cumsum(sizes * of_rows)
    total = float(bytes_before[-1]) if count else 0.0
    wanted = np.arange(size, total, size)
    rows = np.searchsorted(bytes_before, wanted, "right")
    inner = ends[rows] - np.ceil((bytes_before[rows] - wanted) / of_rows[rows]).astype(np.int64)
    return np.unique([0, *inner.tolist(), count]).tolist() if count else []


def _row_sizes(values: pa.Array) -> NDArray[np.float64]:
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        return np.asarray(pc.fill_null(pc.binary_length(values), 0), np.float64)
    return np.full(len(values), values.nbytes / max(len(values), 1))


def _as_lists(collections: pa.Array) -> pa.ListArray:
    if not pa.types.is_map(collections.type):
        return collections
    maps = Collections(collections)
    return maps.with_elements(maps.elements)
