"""Joins the states of an operator: entries of the same key belong to the same row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.program.kernel import DONE, EMPTY, FULL, REFUSED, KeyRowsJob, assign_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from savepoint_formats.bytes.chunk import Chunk

    Positions = npt.NDArray[np.int64]
    Rows = npt.NDArray[np.int32] | range

_LEAST_PLACES = 1 << 10
_MANY_KEYS = 1 << 14


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
    def key_starts(self) -> Positions:
        """Start of each row's key, at its first occurrence."""
        return self._starts[: self._count]

    @property
    def key_ends(self) -> Positions:
        """End of each row's key."""
        return self._ends[: self._count]

    def rows(self, starts: Positions, ends: Positions) -> Rows:
        """Row of each key: a range if keys come in the order of rows. New keys become new rows.

        Raises:
            ValueError: A key lies outside of the chunk.
        """
        starts = np.ascontiguousarray(starts, np.int64)
        ends = np.ascontiguousarray(ends, np.int64)
        if starts.shape != ends.shape:
            raise ValueError(f"{len(starts)} starts and {len(ends)} ends")
        rows = np.empty(len(starts), np.int32)
        # Many keys are much work in any case, so that their bytes need not be counted.
        key_bytes = max(0, int((ends - starts).sum())) if len(starts) < _MANY_KEYS else 0
        status, done = FULL, 0
        while status != DONE:
            job = KeyRowsJob(
                data=self._chunk.address,
                size=len(self._chunk),
                prefix_size=self._prefix_size,
                starts=starts.ctypes.data,
                ends=ends.ctypes.data,
                first=done,
                total=len(starts),
                key_bytes=key_bytes,
                rows=rows.ctypes.data,
                row_starts=self._starts.ctypes.data,
                row_ends=self._ends.ctypes.data,
                row_count=self._count,
                row_room=len(self._starts),
                table=self._table.ctypes.data,
                places=len(self._table),
                tabled=self._tabled,
                are_sorted=self._are_sorted,
            )
            status, done, self._count, self._tabled, self._are_sorted = assign_rows(job)
            if status == REFUSED:
                borders = f"key {done} from {starts[done]} to {ends[done]}"
                raise ValueError(f"{borders}, outside of the chunk of {len(self._chunk)} bytes")
            if status == FULL and self._count == len(self._starts):
                self._make_room(len(starts) - done)
            elif status == FULL:
                self._enlarge_table(self._count + len(starts) - done)
        is_range = bool((rows == np.arange(len(rows), dtype=np.int32)).all())
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
