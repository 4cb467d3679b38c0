"""Batches of keyed state: decoded entries of some whole key groups, joined into rows.

Entries with equal identities belong to one row: the bytes of the key, and of the namespace if
there is one. Rows come in the order in which identities first occur, state by state. A state
whose entries already come in that order costs only a comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.entries.entry_ranges import key_groups_at
from savepoint_formats.errors import FormatError, StateTypeError
from savepoint_formats.program.decode import decode
from savepoint_formats.program.kernel import DONE, EMPTY, FULL, REFUSED, KeyRowsJob, assign_rows

if TYPE_CHECKING:
    import numpy.typing as npt
    from numpy.typing import NDArray

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.program.program import Program
    from savepoint_formats.sources.state_rows import StateRows

    Positions = npt.NDArray[np.int64]
    Rows = npt.NDArray[np.int32] | range


_LEAST_PLACES = 1 << 10


class KeyRows:
    """Numbers the distinct keys of a chunk from 0, in the order in which they come.

    Keys are compared byte by byte, without their prefix: its first bit differs between entries.
    The ``prefix_size`` bytes in front of a key are its key group; it distinguishes keys.
    """

    def __init__(self, chunk: Chunk, prefix_size: int = 0) -> None:
        self._chunk = chunk
        self._prefix_size = prefix_size
        self._count = 0
        self._starts: Positions = np.empty(0, np.int64)
        self._ends: Positions = np.empty(0, np.int64)
        self._table = np.empty(0, np.int64)
        self._tabled = 0
        self._are_sorted = 1

    def __len__(self) -> int:
        return self._count

    @property
    def are_sorted(self) -> bool:
        """Whether each row's key is above the row before, by key group and bytes."""
        return bool(self._are_sorted)

    @property
    def key_starts(self) -> Positions:
        """Start of each row's key, at its first occurrence."""
        return self._starts[: self._count]

    @property
    def key_ends(self) -> Positions:
        """End of each row's key."""
        return self._ends[: self._count]

    def rows(self, starts: Positions, ends: Positions, distance: int = 0) -> Rows:
        """Row of each key: a range if keys come in the order of rows. New keys become new rows.

        Keys begin ``distance`` bytes behind their starts.

        Raises ``ValueError`` if a key lies outside of the chunk.
        """
        starts = np.ascontiguousarray(starts, np.int64)
        ends = np.ascontiguousarray(ends, np.int64)
        if starts.shape != ends.shape:
            raise ValueError(f"{len(starts)} starts and {len(ends)} ends")
        rows = np.empty(len(starts), np.int32)
        status, done, is_range = FULL, 0, 1
        while status != DONE:
            arrays = (self._chunk.data, starts, ends, rows, self._starts, self._ends, self._table)
            of_keys = (len(self._chunk), self._prefix_size, distance, done, len(starts))
            rooms = len(self._starts), len(self._table)
            before = self._count, self._tabled, self._are_sorted, is_range
            addresses = [array.ctypes.data for array in arrays]
            job = KeyRowsJob._make([*addresses, *of_keys, *rooms, *before])
            status, done, self._count, self._tabled, self._are_sorted, is_range = assign_rows(job)
            if status == REFUSED:
                borders = f"key {done} from {starts[done]} to {ends[done]}"
                raise ValueError(f"{borders}, outside of the chunk of {len(self._chunk)} bytes")
            if status == FULL and self._count == len(self._starts):
                self._make_room(len(starts) - done)
            elif status == FULL:
                self._enlarge_table(self._count + len(starts) - done)
        return range(len(rows)) if is_range else rows

    def _make_room(self, count: int) -> None:
        """Makes room for new rows. Most states have the keys of the first, and need none."""
        size = max(self._count + count, 2 * self._count)
        self._starts = _enlarged(self.key_starts, size)
        self._ends = _enlarged(self.key_ends, size)

    def _enlarge_table(self, rows: int) -> None:
        self._table = np.full(max(_LEAST_PLACES, _places(rows)), EMPTY, np.int64)
        self._tabled = 0


def row_numbers(rows: Rows) -> npt.NDArray[np.int32]:
    """Rows as an array, even if they are a range."""
    return np.arange(len(rows), dtype=np.int32) if isinstance(rows, range) else rows


def _places(keys: int) -> int:
    """Number of places, a power of two, that ``keys`` leave half empty."""
    return 1 << (2 * keys).bit_length()


def _enlarged(positions: Positions, size: int) -> Positions:
    enlarged = np.empty(size, np.int64)
    enlarged[: len(positions)] = positions
    return enlarged


@dataclass(frozen=True, slots=True, eq=False)
class JoinedRows:
    """Rows of keyed state with a column per state, which is null in rows without a value."""

    batch: KeyedBatch
    identities: KeyRows
    columns: dict[str, pa.Array]

    def __len__(self) -> int:
        return len(self.identities)

    @property
    def key_groups(self) -> NDArray[np.int32]:
        return self.batch.key_groups_at(self.identities.key_starts)

    def keys(self) -> pa.StructArray:
        """Decodes a struct of ``key`` and ``namespace`` for each row."""
        batch, starts = self.batch, self.identities.key_starts
        try:
            return decode(batch.identity, batch.chunk, starts, self.identities.key_ends)
        except FormatError as error:
            if error.record >= 0:
                start = starts[error.record]
                entry = start - batch.prefix_size
                states = (name for name, entries in batch.states.items() if entry in entries.starts)
                error.within(*(f"state {name!r}" for name in states))
                (key_group,) = batch.key_groups_at(starts[error.record : error.record + 1])
                error.within(f"key group {key_group}")
            raise


@dataclass(frozen=True, slots=True, eq=False)
class KeyedBatch:
    """Decoded entries of some key groups, by the name of their state.

    ``identity`` decodes identities, and ``prefix_size`` bytes in front of each are its key group;
    without a prefix, all entries are of ``key_group``.
    """

    chunk: Chunk
    identity: Program
    states: dict[str, StateRows]
    key_group: int = 0
    prefix_size: int = 0

    def joined(self, types: dict[str, pa.DataType]) -> JoinedRows:
        """Joins entries to one row per identity.

        A state that is not among ``types`` has rows, but no column. Raises ``StateTypeError`` if
        values have another type.
        """
        shown = {name: entries for name, entries in self.states.items() if name in types}
        for name, entries in shown.items():
            if entries.column_type(types[name]) != types[name]:
                message = f"values are {entries.values.type} here, {types[name]} elsewhere"
                raise StateTypeError(f"{self.chunk.path}: {message}").within(f"state {name!r}")
        keys = KeyRows(self.chunk, self.prefix_size)
        rows = {
            name: keys.rows(entries.starts, entries.ends, self.prefix_size)
            for name, entries in self.states.items()
        }
        columns = {
            name: _column(rows[name], len(keys), entries, types[name])
            for name, entries in shown.items()
        }
        return JoinedRows(self, keys, columns)

    def key_groups_at(self, starts: NDArray[np.int64]) -> NDArray[np.int32]:
        """Key groups of the identities that begin there."""
        if not self.prefix_size:
            return np.full(len(starts), self.key_group, np.int32)
        return key_groups_at(self.chunk, starts - self.prefix_size, self.prefix_size)


def _column(rows: Rows, count: int, state_rows: StateRows, column_type: pa.DataType) -> pa.Array:
    """Values of a state as a column: null in rows without an entry."""
    if state_rows.user_keys is not None:
        numbers, user_keys = row_numbers(rows), state_rows.user_keys
        return _map_column(numbers, count, user_keys, state_rows.values, column_type)
    if isinstance(rows, range) and len(rows) == count:
        return state_rows.values
    # The later of two entries for one row counts, as in Flink.
    entry_of_row = np.full(count, -1, np.int64)
    entry_of_row[row_numbers(rows)] = np.arange(len(rows))
    return state_rows.values.take(pa.array(entry_of_row, mask=entry_of_row < 0))


def _map_column(
    rows: NDArray[np.int32], count: int, keys: pa.Array, values: pa.Array, map_type: pa.DataType
) -> pa.Array:
    """Entries of maps as a column of maps, or of lists of pairs if a key can be null."""
    if np.any(rows[1:] < rows[:-1]):
        order = np.argsort(rows, kind="stable")
        rows, indices = rows[order], pa.array(order)
        keys, values = keys.take(indices), values.take(indices)
    sizes = np.bincount(rows, minlength=count)
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    bounds = pa.array(offsets, mask=np.append(sizes == 0, False))
    if pa.types.is_map(map_type):
        return pa.MapArray.from_arrays(bounds, keys, values, type=map_type)
    pairs = pa.StructArray.from_arrays([keys, values], fields=list(map_type.value_type))
    return pa.ListArray.from_arrays(bounds, pairs, type=map_type)
