"""Values that PyFlink stores in a list of frames, as the job has them; and back.

| layout                                  | column                                             |
|-----------------------------------------|----------------------------------------------------|
| ``Repeated(Framed(Packed(x, True)))``   | the value in the first frame, as PyFlink reads it  |
| ``Repeated(Framed(Packed(x)))``         | the elements of all frames                         |

With a time to live each frame has a time, and so each element of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.layout import Framed, Packed, Repeated, Ttl

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout


def _frame(stored: Layout) -> Packed | None:
    match stored:
        case Repeated(Framed(Packed() as packed)) | Repeated(Ttl(Framed(Packed() as packed))):
            return packed
        case _:
            return None


def is_framed(stored: Layout) -> bool:
    """Whether a state is a list of frames."""
    return _frame(stored) is not None


def without_frames(values: pa.ListArray, stored: Layout) -> pa.Array:
    """Values or lists of the job; null where there is no frame."""
    packed = _frame(stored)
    sizes = pc.fill_null(pc.list_value_length(values), 0)
    if packed is not None and packed.is_single:
        first = pc.if_else(pc.greater(sizes, 0), values.offsets[:-1], pa.scalar(None, pa.int32()))
        return values.values.take(first)
    frames = values.values
    is_timed = isinstance(stored, Repeated) and isinstance(stored.element, Ttl)
    lists = pc.struct_field(frames, "value") if is_timed else frames
    elements = lists.flatten()
    if is_timed:
        times = pc.struct_field(frames, "timestamp").take(pc.list_parent_indices(lists))
        elements = pa.StructArray.from_arrays([times, elements], names=["timestamp", "value"])
    counts = np.asarray(pc.fill_null(pc.list_value_length(lists), 0))
    borders = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return _lists(pa.array(borders).take(values.offsets), elements, values.is_null())


def in_frames(values: pa.Array, stored: Layout) -> pa.ListArray:
    """The inverse of ``without_frames``: a list has one frame, or one per element if they have times."""
    packed = _frame(stored)
    if packed is not None and packed.is_single:
        return _one_each(values, values.is_null())
    if isinstance(stored, Repeated) and isinstance(stored.element, Ttl):
        elements = values.values
        times, items = (pc.struct_field(elements, name) for name in ("timestamp", "value"))
        lists = _one_each(items, pa.repeat(pa.scalar(False), len(items)))
        frames = pa.StructArray.from_arrays([times, lists], names=["timestamp", "value"])
        return _lists(values.offsets, frames, values.is_null())
    is_empty = pc.equal(pc.fill_null(pc.list_value_length(values), 0), 0)
    return _one_each(values, is_empty)


def _one_each(values: pa.Array, is_none: pa.Array) -> pa.ListArray:
    """A list of one element for each value, null for some."""
    is_there = ~np.asarray(is_none)
    borders = np.concatenate([[0], np.cumsum(is_there)]).astype(np.int32)
    return _lists(pa.array(borders), values.filter(pa.array(is_there)), is_none)


def _lists(offsets: pa.Array, elements: pa.Array, is_null: pa.Array) -> pa.ListArray:
    mask = pa.concat_arrays([pa.array(is_null), pa.array([False])])
    return pa.ListArray.from_arrays(
        pc.if_else(mask, pa.scalar(None, pa.int32()), offsets), elements
    )
