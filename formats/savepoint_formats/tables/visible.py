"""Decoded values in the form that users see: keys without a row kind, plain records.

A row that is a key has a row kind, which means nothing there. Elements of a window with an evictor
are stored as stream elements, but all are records. ``values/time_to_live.py`` handles values with a
time to live.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.errors import StateTypeError
from savepoint_formats.layout import Layout, Repeated, stream_record
from savepoint_formats.python_state.stored_forms import KEY_FIELD
from savepoint_formats.tables.framed_values import in_frames, is_framed, without_frames
from savepoint_formats.values.arrow_types import (
    ROW_KIND,
    ROW_KINDS,
    arrow_type,
    visible_key_type,
)
from savepoint_formats.values.element_rows import Collections
from savepoint_formats.values.time_to_live import without_times

if TYPE_CHECKING:
    from savepoint_formats.state_files.state import State


def visible_values(state: State, values: pa.Array, *, with_times: bool) -> pa.Array:
    """Decoded values of a state as users see them; ``with_times`` shows times of TTL.

    Raises ``StateTypeError`` if a value can't be shown.
    """
    instances = state.instances
    if instances != state.stored:
        values = joined_instances(values)
    if state.timed_value != instances:
        values = visible_elements(values, instances)
    return values if with_times else without_times(values, state.timed_value)


def joined_instances(values: pa.ListArray) -> pa.ListArray:
    """Flattens lists of lists by one level; null stays null."""
    inner = values.values
    sizes = pc.fill_null(pc.list_value_length(inner), 0)
    bounds = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    is_null = pa.concat_arrays([values.is_null(), pa.array([False])])
    offsets = pc.if_else(is_null, pa.scalar(None, pa.int32()), bounds.take(values.offsets))
    return pa.ListArray.from_arrays(offsets, inner.flatten())


def visible_elements(values: pa.Array, stored: Layout) -> pa.Array:
    """Decoded elements as ``as_records`` says: stream elements as records ``struct<timestamp, value>``.

    Raises ``StateTypeError`` if a stream element is not a record.
    """
    if is_framed(stored):
        return without_frames(values, stored)
    if not isinstance(stored, Repeated) or stream_record(stored.element) is None:
        return values
    lists = Collections(values)
    elements = lists.elements
    timed, untimed, *others = elements.flatten()
    for field, other in zip(list(elements.type)[2:], others, strict=True):
        if other.null_count < len(other):
            raise StateTypeError(f"a list of records has a stream element {field.name!r}")
    times, timed_values = timed.flatten()
    parts = [times, pc.if_else(timed.is_valid(), timed_values, untimed)]
    records = pa.StructArray.from_arrays(parts, fields=list(timed.type))
    return pa.ListArray.from_arrays(lists.offsets, records)


def stream_elements(values: pa.Array, stored: Layout) -> pa.Array:
    """The inverse of ``visible_elements``."""
    if is_framed(stored):
        return in_frames(values, stored)
    if not isinstance(stored, Repeated) or stream_record(stored.element) is None:
        return values
    lists = Collections(values)
    timestamps, items = lists.elements.flatten()
    timed, untimed, *others = list(arrow_type(stored.element))
    with_time = [timestamps, items]
    no_time = timestamps.is_null()
    elements = pa.StructArray.from_arrays(
        [
            pa.StructArray.from_arrays(with_time, fields=list(timed.type), mask=no_time),
            pc.if_else(no_time, items, pa.scalar(None, items.type)),
            *(pa.nulls(len(items), field.type) for field in others),
        ],
        fields=[timed, untimed, *others],
        mask=lists.elements.is_null(),
    )
    return pa.ListArray.from_arrays(lists.offsets, elements)


def visible_key(keys: pa.Array) -> pa.Array:
    """Decoded keys without the row kind."""
    wanted = visible_key_type(keys.type)
    if wanted == keys.type:
        return keys
    if keys.type.field(0).name == KEY_FIELD:
        return visible_key(pc.struct_field(keys, KEY_FIELD))
    fields = [pc.struct_field(keys, field.name) for field in wanted]
    return pa.StructArray.from_arrays(fields, fields=list(wanted), mask=keys.is_null())


def stored_key(keys: pa.Array, stored: pa.DataType) -> pa.Array:
    """The inverse of ``visible_key``; all row kinds are inserts."""
    if not pa.types.is_struct(stored) or visible_key_type(stored) == stored:
        return keys
    kinds = pa.repeat(pa.scalar(ROW_KINDS[0], stored.field(ROW_KIND).type), len(keys))
    if stored.field(0).name == KEY_FIELD:
        row = stored_key(keys, stored.field(0).type)
        return pa.StructArray.from_arrays([row, kinds], fields=list(stored))
    fields = [*keys.type, stored.field(ROW_KIND)]
    return pa.StructArray.from_arrays([*keys.flatten(), kinds], fields=fields)
