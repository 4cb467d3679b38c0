"""A file of rows sorted by their first column: Arrow's file format, in blocks.

The metadata of the schema has the first value of each block. So looking up a value, or a range of
values, reads only the blocks that can have it, on any file system.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.locations import Location

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK_ROWS = 1024
_FIRST_VALUES = b"first values"
_OPEN_FILES = 256


def write_sorted(path: str, rows: pa.Table) -> None:
    """Writes rows, given in any order, sorted by their first column, which has no null."""
    wide = rows.cast(pa.schema([_wide(column) for column in rows.schema]))
    ordered = wide.take(pc.sort_indices(wide.column(0)))
    blocks = ordered.combine_chunks().to_batches(max_chunksize=_BLOCK_ROWS)
    firsts = pa.array([block.column(0)[0].as_py() for block in blocks], wide.schema.field(0).type)
    schema = wide.schema.with_metadata({_FIRST_VALUES: _as_bytes(firsts)})
    location = Location.of(path)
    with (
        location.filesystem.open_output_stream(location.path, compression=None) as file,
        pa.ipc.new_file(file, schema) as writer,
    ):
        for block in blocks:
            writer.write_batch(block.cast(schema))


def _wide(column: pa.Field) -> pa.Field:
    """The column with a type that holds more than 2 GiB of bytes."""
    return column.with_type(pa.large_binary()) if pa.types.is_binary(column.type) else column


@dataclass(slots=True)
class SortedFile:
    """A file of ``write_sorted``; it remembers the block that was read last."""

    reader: pa.ipc.RecordBatchFileReader
    firsts: list[Any]
    _number: int = field(default=-1, init=False)
    _block: pa.RecordBatch | None = field(default=None, init=False)

    @classmethod
    def open(cls, path: str) -> Self:
        location = Location.of(path)
        reader = pa.ipc.open_file(location.filesystem.open_input_file(location.path))
        return cls(reader, _from_bytes(reader.schema.metadata[_FIRST_VALUES]).to_pylist())

    def rows_of(self, value: Any) -> Iterator[tuple[Any, ...]]:
        """The rows with this value in the first column, as Python values."""
        number = max(bisect_left(self.firsts, value) - 1, 0)
        while number < len(self.firsts) and self.firsts[number] <= value:
            block = self._block_of(number)
            start = _place(bisect_left, block.column(0), value)
            end = _place(bisect_right, block.column(0), value)
            if start < end:
                columns = block.slice(start, end - start).columns
                yield from zip(*(column.to_pylist() for column in columns), strict=True)
            if end < block.num_rows:
                return
            number += 1

    def between(self, low: Any, high: Any) -> Iterator[pa.RecordBatch]:
        """The rows above ``low`` and up to ``high``, by the first column."""
        first = max(bisect_right(self.firsts, low) - 1, 0)
        for number in range(first, bisect_right(self.firsts, high)):
            block = self.reader.get_batch(number)
            start = _place(bisect_right, block.column(0), low)
            end = _place(bisect_right, block.column(0), high)
            if start < end:
                yield block.slice(start, end - start)

    def first_above(self, low: Any) -> Any:
        """The least greater value of the first column; None if there is none."""
        number = max(bisect_right(self.firsts, low) - 1, 0)
        if number == len(self.firsts):
            return None
        column = self._block_of(number).column(0)
        place = _place(bisect_right, column, low)
        if place < len(column):
            return column[place].as_py()
        return self.firsts[number + 1] if number + 1 < len(self.firsts) else None

    def _block_of(self, number: int) -> pa.RecordBatch:
        if number != self._number or self._block is None:
            self._block = self.reader.get_batch(number)
            self._number = number
        return self._block


@lru_cache(maxsize=_OPEN_FILES)
def sorted_file(path: str) -> SortedFile:
    """The file at a path, opened once per process, because it is never written again."""
    return SortedFile.open(path)


def _place(bisect: Any, column: pa.Array, value: Any) -> int:
    place: int = bisect(range(len(column)), value, key=lambda index: column[index].as_py())
    return place


def _as_bytes(values: pa.Array) -> bytes:
    batch = pa.record_batch([values], names=["first"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _from_bytes(data: bytes) -> pa.Array:
    return pa.ipc.open_stream(data).read_all().column(0)
