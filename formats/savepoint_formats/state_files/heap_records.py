"""Records back to back in heap files and raw timers: where each field of each record ends.

Nothing has a size in front. Fields are decoded only to find their ends; if that fails, the last
field ends with its record or collection.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.layout import Layout, Struct
from savepoint_formats.program.assembly import program
from savepoint_formats.program.byte_ranges import Ranges
from savepoint_formats.program.decode import decode, decode_sequence
from savepoint_formats.values.patience import Patience
from savepoint_formats.values.separation import starts_of_entries
from savepoint_formats.values.state_entries import EntryReader, Sized

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.program.program import Program
    from savepoint_formats.values.kryo.dialect import KryoDialect


class BackToBack:
    """Finds the borders of records with these fields."""

    def __init__(self, parts: Sequence[Layout], kryo: KryoDialect | None) -> None:
        self._parts = tuple(parts)
        self._kryo = kryo
        self._patience = Patience()
        self._program = _program(self._parts, kryo)

    def ranges(self, chunk: Chunk, position: int, count: int) -> tuple[list[Ranges], int]:
        """Borders of each field of ``count`` records, and the end of the last record."""
        where, end = decode_sequence(self._program, chunk, position, count)
        sizes = _sizes(where)
        ends = position + np.cumsum(sizes).reshape(sizes.shape)
        starts = ends - sizes
        return _columns(starts, ends), end

    def ranges_between(self, chunk: Chunk, borders: Ranges) -> list[Ranges]:
        """Borders of each field of records with these borders."""
        starts, ends = borders.starts, borders.ends
        sizes = _sizes(decode(self._program, chunk, starts, ends, patience=self._patience))
        ends = borders.starts[:, np.newaxis] + np.cumsum(sizes, axis=1)
        starts = ends - sizes
        return _columns(starts, ends)

    def items_of(
        self, chunk: Chunk, collections: Ranges, counts: NDArray[np.int64]
    ) -> list[Ranges]:
        """Borders of each field of each item of some collections, which fill a chunk.

        Raises ``UndecodableError`` if an item with an unknown end has others behind it.
        """
        try:
            ranges, end = self.ranges(chunk, 0, int(counts.sum()))
            if end == len(chunk):
                return ranges
        except UndecodableError:
            pass  # the last item of a collection ends with it
        borders = [
            self._borders(chunk, *collection)
            for collection in zip(
                collections.starts.tolist(), collections.ends.tolist(), counts.tolist(), strict=True
            )
        ]
        places = np.array([item for items in borders for item in items], np.int64)
        places = places.reshape(-1, len(self._parts) + 1)
        return _columns(places[:, :-1], places[:, 1:])

    def _borders(self, chunk: Chunk, start: int, end: int, count: int) -> list[list[int]]:
        """Start of each field of each item of a collection, and the end of the item."""
        starts = self._starts(chunk, start, end, count)
        borders_of_items = []
        for index, first in enumerate(starts):
            border, last = first, starts[index + 1] if index + 1 < count else end
            borders = [first]
            for part in self._parts:
                border, _ = self._end(part, chunk, border, last)
                borders.append(border)
            if border != last:
                message = f"{last - border} bytes behind item {index} of {count}"
                raise chunk.error(message, border, FormatError)
            borders_of_items.append(borders)
        return borders_of_items

    def _starts(self, chunk: Chunk, start: int, end: int, count: int) -> Sequence[int]:
        """Start of each item of a collection.

        Raises ``UndecodableError`` if an item hides its end and several divisions are possible.
        """
        starts, last = [start][:count], start
        while len(starts) < count:
            lost: UndecodableError | None = None
            for part in self._parts:
                last, lost = self._end(part, chunk, last, end)
            if last == end and starts[-1] < end:
                separated = self._separated(chunk, start, end, count)
                if separated is not None:
                    return separated
                index = len(starts) - 1
                reason = f"{count} items, but the one at index {index} hides where it ends"
                if lost is not None:
                    raise chunk.error(f"{reason}: {lost.message}", starts[-1], type(lost))
                raise chunk.error(reason, starts[-1], UndecodableError)
            starts.append(last)
        if not count and start != end:
            raise chunk.error(f"{end - start} bytes behind 0 items", start, FormatError)
        return starts

    def _separated(self, chunk: Chunk, start: int, end: int, count: int) -> Sequence[int] | None:
        """Start of each item if only one division is possible; else None."""
        item = Struct(tuple(map(str, range(len(self._parts)))), self._parts)
        view, kryo = chunk.view(start, end), self._kryo
        starts = starts_of_entries(item, count, view, kryo, lambda _: True, self._patience)
        return None if starts is None else [start + place for place in starts]

    def _end(
        self, part: Layout, chunk: Chunk, start: int, end: int
    ) -> tuple[int, UndecodableError | None]:
        """End of a field; if it is unknown, the end of its collection, and the reason."""
        reader = EntryReader(chunk.view(start, end), self._kryo)
        try:
            reader.read(part)
        except UndecodableError as error:
            return end, error
        if reader.is_lost:
            return end, reader.view.error(reader.reason, UndecodableError)
        return start + reader.view.position, None


@lru_cache(maxsize=128)  # an operator has a file per subtask, all with the same states
def _program(parts: tuple[Layout, ...], kryo: KryoDialect | None) -> Program:
    names = tuple(str(index) for index in range(len(parts)))
    return program(Struct(names, tuple(map(Sized, parts))), kryo)


def _sizes(collections: pa.StructArray) -> NDArray[np.int64]:
    """A row per record, with the sizes of its fields."""
    return np.stack([np.asarray(field, np.int64) for field in collections.flatten()], axis=1)


def _columns(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> list[Ranges]:
    return [Ranges(*borders) for borders in zip(starts.T, ends.T, strict=True)]
