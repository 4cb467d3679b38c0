"""Flat views of list and map states: a row per element or entry instead of one per key.

| state | columns besides those of the key                |
|-------|-------------------------------------------------|
| list  | ``list_index``, i32 from 0; ``list_value``      |
| map   | ``map_key``, ``map_value``                      |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.errors import StateNotFoundError
from savepoint_formats.printable import alternatives

if TYPE_CHECKING:
    from savepoint_formats.state_files.state import State
    from savepoint_formats.tables.tables import Table

LIST_INDEX, LIST_VALUE = "list_index", "list_value"
MAP_KEY, MAP_VALUE = "map_key", "map_value"


def flat_state(table: Table, name: str) -> State:
    """The state of a flat view. Raises ``StateNotFoundError`` if the table has no such state."""
    for state in table.states:
        if state.name == name:
            return state
    known = [state.name for state in table.states]
    raise StateNotFoundError(f"{table.name} has no state {name!r}; {alternatives(name, known)}")


def flat_fields(name: str, collection: pa.DataType) -> list[pa.Field]:
    """The columns of a flat view of lists or maps of this type.

    Raises:
        StateNotFoundError: It is a type of something else.
    """
    if pa.types.is_map(collection):
        return [
            pa.field(MAP_KEY, collection.key_type),
            pa.field(MAP_VALUE, collection.item_type),
        ]
    if pa.types.is_list(collection):
        return [pa.field(LIST_INDEX, pa.int32()), pa.field(LIST_VALUE, collection.value_type)]
    raise StateNotFoundError(f"state {name!r} is no list or map, but {collection}")


def flattened(columns: dict[str, pa.Array], collections: pa.Array) -> dict[str, pa.Array]:
    """A row per element of ``collections``, with the other columns of its row beside it."""
    lists = _as_lists(collections)
    sizes = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), np.int64)
    rows = pa.array(np.repeat(np.arange(len(lists)), sizes))
    flat = {name: values.take(rows) for name, values in columns.items()}
    elements = pc.list_flatten(lists)
    if pa.types.is_map(collections.type):
        return {**flat, MAP_KEY: elements.field(0), MAP_VALUE: elements.field(1)}
    firsts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    indexes = (np.arange(len(rows)) - firsts).astype(np.int32)
    return {**flat, LIST_INDEX: pa.array(indexes), LIST_VALUE: elements}


def _as_lists(collections: pa.Array) -> pa.ListArray:
    """Maps as lists of their entries; lists as they are."""
    if not pa.types.is_map(collections.type):
        return collections
    fields = [collections.type.key_field, collections.type.item_field]
    entries = pa.StructArray.from_arrays([collections.keys, collections.items], fields=fields)
    return pa.ListArray.from_arrays(collections.offsets, entries, mask=collections.is_null())
