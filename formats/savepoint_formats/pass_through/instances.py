"""Joins instances of a key of local state into one entry, without decoding them.

| state | an entry's value                    | value of several instances                           |
|-------|-------------------------------------|------------------------------------------------------|
| list  | elements with a comma between them  | the values, with a comma between them                |
| map   | a null flag, then a list: its size  | a new flag and size, then the elements of all; null  |
|       | in 4 bytes, and its elements        | has none                                             |
| timer | nothing                             | nothing: timers are a set                            |

Instances keep the order of entries; keys are in the order of their first instances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.program.spans import Spans, bytes_of, large_binary, spans_in
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.values.state_entries import DELIMITER

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Positions = NDArray[np.int64]

_FLAG_SIZE = 1
LIST_START = 5
"""Where the elements of a map's value begin: behind the null flag and the size of the list."""


def appended(entries: StoredEntries, kind: StateKind) -> StoredEntries:
    """Entries of a local state with each key once; ``kind`` is that of the stored state."""
    numbers, keys = _numbered(entries.keys)
    if len(keys) == len(entries):
        return entries
    match kind:
        case StateKind.LIST:
            order, starts = _grouped(numbers, len(keys))
            return StoredEntries(keys, _joined_lists(entries.values, order, starts))
        case StateKind.MAP:
            order, starts = _grouped(numbers, len(keys))
            return StoredEntries(keys, _joined_maps(entries.values, order, starts))
        case StateKind.TIMERS:
            return StoredEntries(keys, entries.values[: len(keys)])
        case _:
            raise ValueError(f"a {kind.value} state has one value, and no instances")


def _numbered(keys: pa.LargeBinaryArray) -> tuple[Positions, pa.LargeBinaryArray]:
    distinct = keys.dictionary_encode()
    return distinct.indices.to_numpy().astype(np.int64), distinct.dictionary


def _grouped(numbers: Positions, count: int) -> tuple[Positions, Positions]:
    """Entries sorted by key number, and borders between keys."""
    order = np.argsort(numbers, kind="stable")
    sizes = np.bincount(numbers, minlength=count)
    return order, np.append(0, np.cumsum(sizes))


def _joined_lists(
    values: pa.LargeBinaryArray, order: Positions, starts: Positions
) -> pa.LargeBinaryArray:
    data, spans = spans_in(values)
    comma = len(data)
    chunk = Chunk(np.append(data, np.uint8(DELIMITER)))
    is_first = np.zeros(len(order), np.bool_)
    is_first[starts[:-1]] = True
    commas = Spans(np.full(len(order), comma), comma + (~is_first).astype(np.int64))
    parts = bytes_of(chunk, commas, Spans(spans.starts[order], spans.ends[order]))
    return _as_one(parts, starts)


def _joined_maps(
    values: pa.LargeBinaryArray, order: Positions, starts: Positions
) -> pa.LargeBinaryArray:
    data, spans = spans_in(values)
    begins, ends, firsts = spans.starts[order], spans.ends[order], starts[:-1]
    is_null = data[begins].astype(np.bool_)
    sizes = np.add.reduceat(_sizes(data, np.where(is_null, 0, begins)) * ~is_null, firsts)
    heads = np.zeros((len(firsts), LIST_START), np.uint8)
    heads[:, 0] = np.bitwise_and.reduceat(is_null, firsts)
    heads[:, _FLAG_SIZE:] = sizes.astype(">i4").view(np.uint8).reshape(-1, 4)
    chunk = Chunk(np.concatenate([data, heads.ravel()]))
    head_starts, head_ends = np.full((2, len(order)), len(data))
    head_starts[firsts] += LIST_START * np.arange(len(firsts))
    head_ends[firsts] = head_starts[firsts] + np.where(heads[:, 0], _FLAG_SIZE, LIST_START)
    elements = Spans(np.where(is_null, ends, begins + LIST_START), ends)
    return _as_one(bytes_of(chunk, Spans(head_starts, head_ends), elements), starts)


def _sizes(data: NDArray[np.uint8], starts: Positions) -> Positions:
    """Sizes of the lists in values at these positions."""
    size = np.zeros(len(starts), np.int64)
    for distance in range(_FLAG_SIZE, LIST_START):
        size = size << 8 | data[starts + distance]
    return size


def _as_one(parts: pa.LargeBinaryArray, starts: Positions) -> pa.LargeBinaryArray:
    """Joins adjacent values of each key."""
    data, spans = spans_in(parts)
    borders = np.append(spans.starts, spans.ends[-1:])[starts]
    return large_binary(np.ascontiguousarray(borders), data)
