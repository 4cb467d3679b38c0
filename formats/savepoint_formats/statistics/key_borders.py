"""Finds the key, and the bytes that distinguish rows, in the key of an entry.

| entry       | key of the entry                                        | row                   |
|-------------|---------------------------------------------------------|-----------------------|
| of a timer  | timestamp, **key**, namespace                           | all but the timestamp |
| of a map    | **key**, [size], namespace, [size], user key            | all but the user key  |
| of another  | **key**, [size], namespace, [size]                      | all                   |

Sizes follow from the layouts if these have only one; else only the sizes are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.layout import (
    VARIABLE,
    Layout,
    Opaque,
    Struct,
    TimerTimestamp,
    VoidNamespace,
    serializer_length,
)
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.spans import Spans, spans_in
from savepoint_formats.state_files.state import State, StateKind, key_layout, namespace_layout
from savepoint_formats.values.state_entries import Sized, entry_key
from savepoint_formats.values.undecoded import notes

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from savepoint_formats.program.program import Program
    from savepoint_formats.values.kryo.dialect import KryoDialect

_TIMESTAMP_SIZE = 8
_REST = Opaque("", "it ends with its entry")


@dataclass(frozen=True, slots=True, eq=False)
class KeyPlaces:
    """Where the key of each entry lies, and its row: key and namespace."""

    chunk: Chunk
    keys: Spans
    rows: Spans


class KeyBorders:
    """Finds the keys in the entries of a state; ``problem`` says why it cannot, or is empty."""

    def __init__(self, state: State, kryo: KryoDialect | None) -> None:
        key, namespace = key_layout(state), namespace_layout(state)
        is_map, is_timer = state.kind is StateKind.MAP, state.kind is StateKind.TIMERS
        key_size, self._behind = _size(key), _size(namespace)
        self._before = _TIMESTAMP_SIZE if is_timer else 0
        self._key_size = key_size if is_map and self._behind is not None else None
        self._keys: Program | None = None
        self._rows: Program | None = None
        is_known = self._behind is not None and (not is_map or key_size is not None)
        self.problem = "" if is_known else "; ".join((*notes(key), *notes(namespace)))
        if is_timer and not _is_timer(state.stored):
            self.problem = "; ".join(notes(state.stored)) or "timers of an unknown form"
        if not is_known and not self.problem:
            self._keys = _sizes(kryo, key)
            if is_map:
                parts = entry_key(0, key, namespace).fields[1:]
                self._rows = _sizes(kryo, *parts)

    def of(self, keys: pa.LargeBinaryArray) -> KeyPlaces:
        """Finds the keys, if there is no problem.

        Raises:
            FormatError: A key is damaged.
        """
        data, spans = spans_in(keys)
        chunk = Chunk(data)
        starts, ends = spans.starts + self._before, spans.ends
        row_ends = ends
        if self._keys is not None:
            key_ends = starts + _read_sizes(self._keys, chunk, starts, ends)
            if self._rows is not None:
                row_ends = starts + _read_sizes(self._rows, chunk, starts, ends)
        elif self._key_size is not None:
            key_ends = starts + self._key_size
            row_ends = key_ends + (self._behind or 0)
        else:
            key_ends = ends - (self._behind or 0)
        return KeyPlaces(chunk, Spans(starts, key_ends), Spans(starts, row_ends))


def _sizes(kryo: KryoDialect | None, *parts: Layout) -> Program:
    """Reads the size of each part; anything may lie behind them."""
    names = (*map(str, range(len(parts))), "rest")
    return program(Struct(names, tuple(map(Sized, (*parts, _REST)))), kryo)


def _read_sizes(
    sizes: Program, chunk: Chunk, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The sum of the parts' sizes."""
    *parts, _ = decode(sizes, chunk, starts, ends).flatten()
    total: NDArray[np.int64] = np.sum([np.asarray(part, np.int64) for part in parts], axis=0)
    return total


def _size(layout: Layout) -> int | None:
    """The bytes of each value, if all have the same number."""
    if isinstance(layout, VoidNamespace):
        return 1
    size = serializer_length(layout)
    return None if size == VARIABLE else size


def _is_timer(stored: Layout) -> bool:
    return isinstance(stored, Struct) and isinstance(stored.fields[0], TimerTimestamp)
