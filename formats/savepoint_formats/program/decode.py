"""Decodes records to Arrow: by the kernel, and by the general path where the kernel refuses.

The kernel refuses records that are damaged or merely rare. The general path decides which. So
values are the same on both paths, and an error is worded in one place. Without machine code, all
records take the general path, which is faster than the kernel as Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from savepoint_formats.bytes.counts import MAX_EMPTY_ELEMENTS, can_be_empty
from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.program.assembly import program as program_of
from savepoint_formats.program.buffers import Buffers, memory_size
from savepoint_formats.program.graph_tables import GraphMemory
from savepoint_formats.program.kernel import REFUSED, Walk, walk, walk_kryo
from savepoint_formats.program.program import Storage
from savepoint_formats.program.suffixed_records import divided_parts, divided_records
from savepoint_formats.values.patience import Patience
from savepoint_formats.values.separation import ends_of_hidden
from savepoint_formats.values.state_entries import EntryReader
from savepoint_formats.values.undecoded import hidden_advice

if TYPE_CHECKING:
    import numpy.typing as npt

    from savepoint_formats.bytes.chunk import Chunk
    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.layout import Layout
    from savepoint_formats.program.byte_ranges import Ranges
    from savepoint_formats.program.program import Column, Program
    from savepoint_formats.values.undecoded import Hides

    Positions = npt.NDArray[np.int64]
    Bounds = tuple[Positions, Positions]

_MOST_DISTRUSTED = 16
"""Described objects of a record that are tried without their descriptions."""

_LARGEST = (1 << 31) - 1
"""The most bytes of a record; neither Arrow nor Flink can count more."""

_HIDDEN: dict[Hides, tuple[bool, bool]] = {
    "nothing": (False, False),
    "fields": (False, True),
    "all": (True, True),
}
"""Whether elements may be hidden, and whether fields may be."""

MAX_MEMORY = 256 << 20
"""The most bytes of the buffers of one walk."""


def decode(
    program: Program,
    chunk: Chunk,
    starts: Positions,
    ends: Positions,
    *,
    along: str = "",
    patience: Patience | None = None,
) -> pa.Array:
    """Decodes records that lie anywhere in a chunk.

    Args:
        program: Their instructions.
        chunk: Their bytes.
        starts: Positions of the first bytes.
        ends: Positions behind the last bytes.
        along: Other content of the last record, if it cannot be separated.
        patience: With searches for the ends of values; None if no other records are read with it.

    Raises:
        FormatError: A record does not have the program's layout, or has bytes left.
        UndecodableError: The end of a value is unknown, and so are the values behind it.
        ValueError: A record lies outside of the chunk.
    """
    ranges = np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(ends, np.int64)
    if ranges[0].shape != ranges[1].shape:
        raise ValueError(f"{len(starts)} starts and {len(ends)} ends")
    searches = patience or Patience()
    if not along and (parts := divided_parts(program.layout)):
        return _decode_divided(program, chunk, ranges, parts, searches)
    return _decode_ranges(program, chunk, ranges, searches, along)


def _decode_ranges(
    program: Program, chunk: Chunk, ranges: Bounds, patience: Patience, along: str = ""
) -> pa.Array:
    count, size = len(ranges[0]), int(ranges[1].sum() - ranges[0].sum())
    decoding = _Decoding(program, chunk, count, ranges=ranges, along=along, patience=patience)
    return decoding.run(max(size, 0))


def _decode_divided(
    program: Program, chunk: Chunk, ranges: Bounds, parts: tuple[Layout, ...], patience: Patience
) -> pa.Array:
    """Records of an unknown serializer: many at once, and one by one those that don't fit."""

    def fitting(layout: Layout, part: Ranges) -> tuple[pa.Array, Positions]:
        inner = program_of(layout, program.kryo, reads_graphs=False)
        return decode_what_fits(inner, chunk, part.starts, part.ends)

    told, numbers = divided_records(chunk, ranges, parts, fitting)
    others = np.setdiff1d(np.arange(len(ranges[0])), numbers, assume_unique=True)
    if not len(others):
        return told
    try:
        rest = _decode_ranges(program, chunk, (ranges[0][others], ranges[1][others]), patience)
    except FormatError:
        return _decode_ranges(program, chunk, ranges, patience)  # its error names the record
    order = np.argsort(np.concatenate([numbers, others]))
    return pa.concat_arrays([told, rest]).take(pa.array(order))


def decode_what_fits(
    program: Program, chunk: Chunk, starts: Positions, ends: Positions
) -> tuple[pa.Array, Positions]:
    """Decodes the records that the kernel takes, and returns their numbers, too.

    Raises:
        ValueError: A record lies outside of the chunk.
    """
    ranges = np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(ends, np.int64)
    decoding = _Decoding(program, chunk, len(starts), ranges=ranges, leaves=True)
    array = decoding.run(max(int(ranges[1].sum() - ranges[0].sum()), 0))
    return array, np.delete(np.arange(len(starts)), decoding.refused)


def decode_sequence(
    program: Program, chunk: Chunk, position: int, count: int
) -> tuple[pa.Array, int]:
    """Decodes records that lie back to back; returns the position behind them, too.

    Raises:
        FormatError: A record does not have the program's layout.
        UndecodableError: The end of a record is not known.
        ValueError: The position lies outside of the chunk.
    """
    size = chunk.size_from(position)
    limit = MAX_EMPTY_ELEMENTS if can_be_empty(program.layout) else size
    if not 0 <= count <= limit:
        error = f"a count of {count} records, with {size} bytes left"
        raise chunk.error(error, position, FormatError)
    decoding = _Decoding(program, chunk, count, position=position)
    return decoding.run(size), decoding.position


class _Decoding:
    """A decoding in progress."""

    def __init__(
        self,
        program: Program,
        chunk: Chunk,
        count: int,
        *,
        ranges: Bounds | None = None,
        position: int = 0,
        along: str = "",
        leaves: bool = False,
        patience: Patience | None = None,
    ) -> None:
        self.program = program
        self.patience = patience or Patience()
        self.leaves = leaves
        self.chunk = chunk
        self.count = count
        self.ranges = ranges
        self.along = along
        self.record = 0
        self.position = position
        self.refused: list[int] = []
        self.refused_values: list[Any] = []
        classes = program.graph_classes
        self._graphs = None if classes is None else GraphMemory(classes)

    def run(self, size: int) -> pa.Array:
        """Decodes all records, which have ``size`` bytes at most."""
        has_no_end = self.ranges is None and self.program.needs_end
        kernel = walk if self._graphs is None else walk_kryo
        if has_no_end or kernel.is_interpreted:
            while self.record < self.count:
                self._read_refused()
        arrays: list[pa.Array] = [] if self.count else [pa.array([], self.program.type)]
        scale = 1.0
        while self.record < self.count:
            before = self.record
            rows, capacity = self._room(size, scale)
            arrays.append(self._walk(Buffers(self.program, rows, capacity)))
            if self.record == before:
                # Not even the first record fits, because several values have the same bytes.
                if capacity < size:
                    scale *= 2
                else:
                    self._read_refused()
        return self._merged(arrays)

    def _room(self, size: int, scale: float) -> tuple[int, int]:
        """Rows and bytes to make room for."""
        rows = self.count - self.record
        if rows == 1:
            # A value must be whole anyway, and buffers that are too small would lie beside it.
            return rows, size
        fraction = min(1.0, scale * MAX_MEMORY / (1 + memory_size(self.program, rows, size)))
        return max(1, int(rows * fraction)), int(size * fraction)

    def _walk(self, buffers: Buffers) -> pa.Array:
        """Fills buffers until they are full or the records end."""
        row = 0
        while True:
            status, self.record, row, self.position = self._take(self._job(buffers, row))
            if status != REFUSED:
                break
            self._read_refused()
        return buffers.array(row, self._range_values)

    def _take(self, job: Walk) -> tuple[int, int, int, int]:
        if self._graphs is not None:
            return walk_kryo(job, self._graphs.job)
        return walk(job)

    def _job(self, buffers: Buffers, row: int) -> Walk:
        data = self.chunk.address
        return Walk(
            ops=self.program.ops.ctypes.data,
            columns=buffers.table.ctypes.data,
            registers=buffers.registers.ctypes.data,
            data=data,
            data_end=data + len(self.chunk),
            starts=self.ranges[0].ctypes.data if self.ranges else 0,
            ends=self.ranges[1].ctypes.data if self.ranges else 0,
            total=self.count,
            rows=buffers.rows,
            record=self.record,
            row=row,
            position=self.position,
        )

    def _read_refused(self) -> None:
        """Reads the next record by the general path, or leaves it."""
        if self.leaves:
            self.refused.append(self.record)
            self.record += 1
            return
        start, end = self.position, len(self.chunk)
        if self.ranges:
            start, end = int(self.ranges[0][self.record]), int(self.ranges[1][self.record])
            if not 0 <= start <= end <= len(self.chunk):
                error = f"record {self.record} from {start} to {end}, outside of the chunk"
                raise ValueError(f"{error} of {len(self.chunk)} bytes")
        view = self.chunk.view(start, end)
        try:
            reader, value = self._read(self.program.layout, view, end)
            if not self.ranges and reader.is_lost:
                view.position = 0
                raise view.error(reader.reason, UndecodableError)
        except FormatError as error:
            error.message += f", in record {self.record}"
            error.record = self.record
            raise
        if view.position > _LARGEST:
            message = f"record {self.record} has {view.position} bytes, expected less than 2 GiB"
            raise self.chunk.error(message, start, FormatError)
        self.refused.append(self.record)
        self.refused_values.append(value)
        self.record += 1
        self.position = start + view.position

    def _read(
        self, layout: Layout, view: DataInputView, end: int, *, is_whole: bool = False
    ) -> tuple[EntryReader, Any]:
        """A value. A description is not believed if the bytes behind its object do not fit."""
        has_end = self.ranges is not None or is_whole
        distrusted = set[int]()
        while True:
            reader = EntryReader(view, self.program.kryo)
            reader.distrusted = distrusted
            try:
                value = reader.read(layout)
                if has_end:
                    reader.expect_end()
                break
            except FormatError:
                last = reader.described
                if last is None or not has_end or len(distrusted) >= _MOST_DISTRUSTED:
                    raise
                distrusted.add(last.view.base + last.start)
                view.position = 0
        has_along = self.ranges is not None and end == self.ranges[1][-1] and bool(self.along)
        if has_along and reader.is_lost:
            reader.take_along(self.along, are_elements=True)
        if not has_end or not (reader.hides or reader.is_ambiguous):
            return reader, value
        return self._separated(layout, reader, value, has_along=has_along)

    def _separated(
        self, layout: Layout, reader: EntryReader, value: Any, *, has_along: bool
    ) -> tuple[EntryReader, Any]:
        """A value with other values behind undecodable bytes, if only one way to divide them fits."""
        view = reader.view
        view.position = 0
        answer = None if has_along else ends_of_hidden(layout, reader, self.patience)
        if answer is not None:
            reader = EntryReader(view, self.program.kryo)
            reader.distrusted, reader.ends = answer
            value = reader.read(layout)
            reader.expect_end()
        hidden = reader.hides_elements or has_along, reader.hides
        if hidden > _HIDDEN[self.program.hides]:
            view.position = 0
            advice = hidden_advice("rest" if hidden[0] else "bytes")
            message = f"{reader.reason}, which can't be told apart{advice}"
            raise view.error(message, UndecodableError)
        view.position = view.end
        return reader, value

    def _range_values(self, column: Column, starts: Positions, ends: Positions) -> pa.Array:
        """The values of a column for another program, or for the general path."""
        assert column.layout is not None
        if int((ends - starts)[ends >= 0].sum()) > len(self.chunk):
            raise self.chunk.error(
                f"values of {column.path} that share bytes", self.position, FormatError
            )
        inner = program_of(column.layout, self.program.kryo, reads_graphs=False)
        if inner.columns[0].storage != Storage.RANGES:
            return self._inner_records(inner, starts, ends)
        ranges = zip(starts.tolist(), ends.tolist(), strict=True)
        values = [
            self._range_value(column.layout, *each) if each[1] >= 0 else None for each in ranges
        ]
        return pa.array(values, column.type)

    def _inner_records(self, inner: Program, starts: Positions, ends: Positions) -> pa.Array:
        """The values of a column that have a program of their own."""
        rows = np.flatnonzero(ends >= 0)
        try:
            values = decode(inner, self.chunk, starts[rows], ends[rows], patience=self.patience)
        except FormatError as error:
            if self.ranges:
                self._is_in_record(error, int(starts[rows[error.record]]))
            raise
        if len(rows) == len(ends):
            return values
        numbers = np.zeros(len(ends), np.int64)
        numbers[rows] = np.arange(len(rows))
        return values.take(pa.array(numbers, mask=ends < 0))

    def _range_value(self, layout: Layout, start: int, end: int) -> Any:
        view = self.chunk.view(start, end)
        try:
            _, value = self._read(layout, view, end, is_whole=True)
        except FormatError as error:
            if self.ranges:
                self._is_in_record(error, start)
            raise
        return value

    def _is_in_record(self, error: FormatError, position: int) -> None:
        """Adds the record at this position to an error."""
        assert self.ranges is not None
        is_around = (self.ranges[0] <= position) & (position <= self.ranges[1])
        error.record = int(np.flatnonzero(is_around)[-1])
        error.message += f", in record {error.record}"

    def _refused_array(self) -> pa.Array:
        """The values that the general path has read."""
        try:
            array = pa.array(self.refused_values, self.program.type)
        except pa.ArrowCapacityError:
            array = None
        if not isinstance(array, pa.Array):
            message = f"{len(self.refused)} values here have 2 GiB, which no column holds at once"
            raise self.chunk.error(message, self.position, FormatError)
        return array

    def _merged(self, arrays: list[pa.Array]) -> pa.Array:
        """The values of both paths, in the order of the records."""
        if self.refused and not self.leaves:
            arrays.append(self._refused_array())
        if not arrays:
            return pa.array([], self.program.type)
        array = pa.concat_arrays(arrays) if len(arrays) != 1 else arrays[0]
        if not self.refused or self.leaves:
            return array
        order = np.empty(self.count, np.int64)
        is_refused = np.zeros(self.count, np.bool_)
        is_refused[self.refused] = True
        taken = self.count - len(self.refused)
        order[~is_refused] = np.arange(taken)
        order[is_refused] = np.arange(taken, self.count)
        return array.take(pa.array(order))
