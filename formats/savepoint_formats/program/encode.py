"""Encodes Arrow as records: by the kernel, and by the general path where the kernel refuses.

The kernel refuses values that are wrong or merely rare. The general path decides which, so values
are the same on both paths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import ColumnTypeError, FormatError, NullValueError, UnencodableError
from savepoint_formats.program.assembly import program, written_program
from savepoint_formats.program.byte_ranges import large_binary
from savepoint_formats.program.capacity import row_capacity
from savepoint_formats.program.decode import decode
from savepoint_formats.program.graph_tables import TableMemory
from savepoint_formats.program.kernel import (
    DONE,
    NAME_TABLE,
    REGISTERS_SIZE,
    Graphs,
    RecordsJob,
    write_graphs,
    write_records,
)
from savepoint_formats.program.program import Storage
from savepoint_formats.program.source_columns import SourceColumns
from savepoint_formats.values.element_rows import Collections
from savepoint_formats.values.kinds.codec import NullError
from savepoint_formats.values.kryo.dialect import written_dialect
from savepoint_formats.values.kryo.structs import OBJECT_TYPE, UNDECODED, UNDECODED_TYPE
from savepoint_formats.values.plain_columns import comparable, plain_values
from savepoint_formats.values.state_entries import EntryWriter, knows_null

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from savepoint_formats.layout import Layout
    from savepoint_formats.program.graph_tables import GraphClasses
    from savepoint_formats.program.program import Column, Program
    from savepoint_formats.values.kinds.codec import Value

_SLACK = 16
"""Bytes behind the data, because zeros are written in whole words."""

_NO_ROWS = np.empty(0, np.int64)

_CHANGED = (
    f"a value with bytes in {UNDECODED}, but reading these again does not give the value: it was"
    " changed, or the bytes include other values; write the row as it was read, or leave the state"
    " out, so that it is copied as it is stored"
)

_RAW = (layouts.Kryo, layouts.JavaObject, layouts.Opaque)

_INTEGERS = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}


class Encoder:
    """Encodes columns as a serializer does, given its layout or a node of ``state_entries``.

    It is small and can be pickled.

    Raises:
        UndecodableError: It has no Arrow type, because it nests too deep.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._program = written_program(layout)
        self._is_open = layouts.has_open_values(layout)

    @property
    def type(self) -> pa.DataType:
        """The Arrow type of the columns."""
        return self._program.type

    def encode(self, column: pa.Array) -> pa.LargeBinaryArray:
        """The bytes of each value; fields of the column's type may be declared not nullable.

        Raises:
            NullValueError: A null for which the serializer has no bytes.
            UnencodableError: A value that the serializer can't hold, or that only Java can write:
                objects of Kryo and Java are copied where the column has their bytes.
            ColumnTypeError: The column is of another type.
        """
        if not _is_like(column.type, self.type):
            raise ColumnTypeError(f"a column of {column.type}, expected {self.type}")
        if not len(column):
            return pa.array([], pa.large_binary())
        # The kernel sees only fields, which are null beside bytes to copy.
        rows = np.flatnonzero(_has_undecoded(column)) if self._is_open else _NO_ROWS
        if not len(rows):
            return _Encoding(self._program, column).run()
        others = np.delete(np.arange(len(column)), rows)
        try:
            encoded = _Encoding(self._program, column.take(pa.array(others))).run()
        except UnencodableError as error:
            error.row = int(others[error.row])
            raise
        order = np.argsort(np.concatenate([others, rows]))
        return pa.concat_arrays([encoded, self._copied(column, rows)]).take(pa.array(order))

    def _copied(self, column: pa.Array, rows: NDArray[np.int64]) -> pa.LargeBinaryArray:
        """The bytes of values that were not decoded. Reading them must give the same rows again."""
        lost = column.take(pa.array(rows))
        values = zip(plain_values(lost), rows.tolist(), strict=True)
        encoded = [_written(self.layout, value, "$", row) for value, row in values]
        ends = np.cumsum([len(record) for record in encoded])
        chunk = Chunk(np.frombuffer(b"".join(encoded), np.uint8))
        reading = program(self.layout, written_dialect(self.layout))
        for index, (given, row) in enumerate(zip(comparable(lost), rows.tolist(), strict=True)):
            end, size = ends[index], len(encoded[index])
            try:
                again = decode(reading, chunk, np.array([end - size]), np.array([end]))
                is_same = comparable(again) == [given]
            except FormatError:
                is_same = False
            if not is_same:
                raise UnencodableError(_CHANGED, "$", row)
        return pa.array(encoded, pa.large_binary())


def encode_what_fits(prepared: Program, column: pa.Array) -> tuple[pa.LargeBinaryArray, list[int]]:
    """The bytes of each value that the kernel takes, and the rows that it refuses.

    The program must leave nothing to the general path.

    Raises:
        UnencodableError: A value does not fit the layout.
    """
    if not len(column):
        return pa.array([], pa.large_binary()), []
    encoding = _Encoding(prepared, column)
    refused = encoding.walk()
    return encoding.array(), sorted(refused)


class _WrittenGraphs:
    """Memory for objects of Kryo."""

    def __init__(self, classes: GraphClasses) -> None:
        self._tables = TableMemory(classes.tables)
        self._memory = np.zeros(NAME_TABLE + 8 * classes.most_classes, np.uint8)
        self._memory[:16].view(np.int64)[:] = 1  # so that no class has a name of this graph
        self.job = Graphs(self._tables.address, self._memory.ctypes.data)


class _Encoding:
    """An encoding in progress."""

    def __init__(self, prepared: Program, column: pa.Array) -> None:
        self.program = prepared
        self.column = column
        self.sources = SourceColumns(prepared, column, _encoded)
        self.offsets = np.zeros(len(column) + 1, np.int64)
        self.data = np.empty(row_capacity(prepared, self.sources) + _SLACK, np.uint8)
        self.refused: dict[int, bytes] = {}
        classes = prepared.graph_classes
        self.graphs = None if classes is None else _WrittenGraphs(classes)

    def run(self) -> pa.LargeBinaryArray:
        """Encodes all values on both paths."""
        columns = self.walk()
        for record in sorted(columns):
            self._write_refused(record, columns[record])
        return self._merged()

    def walk(self) -> dict[int, int]:
        """Runs the kernel; returns the refused records, and the column that each is refused for."""
        registers = np.zeros((self.program.slots, REGISTERS_SIZE // 8), np.int64)
        job = RecordsJob(
            ops=self.program.ops.ctypes.data,
            columns=self.sources.table.ctypes.data,
            registers=registers.ctypes.data,
            data=self.data.ctypes.data,
            offsets=self.offsets.ctypes.data,
            total=len(self.column),
            record=0,
        )
        columns = dict.fromkeys(_records_of_doubles(self.sources), len(self.program.columns))
        while True:
            status, record, number = self._write(job)
            if status == DONE:
                return columns
            columns[record] = number
            self.offsets[record + 1] = self.offsets[record]
            job = job._replace(record=record + 1)

    def _write(self, job: RecordsJob) -> tuple[int, int, int]:
        if self.graphs is None:
            return write_records(job)
        return write_graphs(job, self.graphs.job)

    def _write_refused(self, record: int, number: int) -> None:
        (value,) = plain_values(self.column[record : record + 1])
        columns = self.program.columns
        path = columns[number].path if number < len(columns) else columns[0].path
        self.refused[record] = _written(self.program.layout, value, path, record)

    def array(self) -> pa.LargeBinaryArray:
        """The records of the kernel; refused ones are empty."""
        return large_binary(self.offsets, self.data)

    def _merged(self) -> pa.LargeBinaryArray:
        array, count = self.array(), len(self.column)
        if not self.refused:
            return array
        order = np.arange(count)
        order[list(self.refused)] = np.arange(count, count + len(self.refused))
        others = pa.array(list(self.refused.values()), pa.large_binary())
        return pa.concat_arrays([array, others]).take(pa.array(order))


def _records_of_doubles(sources: SourceColumns) -> list[int]:
    """The records that may have an element twice in a set, or a key twice in a map.

    Nested elements are not compared: a record with two of them is one of these.
    """
    records: set[int] = set()
    for number, column in enumerate(sources.program.columns):
        if not column.is_distinct or number not in sources.columns:
            continue
        array = sources.columns[number].array
        keys = array.keys if pa.types.is_map(array.type) else array.values
        rows = _rows_of_doubles(array, keys)
        of_rows = sources.records(number, rows)
        records.update(of_rows[of_rows >= 0].tolist())
    return sorted(records)


def _rows_of_doubles(array: pa.Array, keys: pa.Array) -> NDArray[np.int64]:
    """The rows of a list with two elements that may be equal."""
    offsets = np.asarray(array.offsets).astype(np.int64)
    counts = np.diff(offsets)
    if not len(counts) or counts.max() <= 1:
        return np.empty(0, np.int64)
    if pa.types.is_nested(keys.type):
        return np.flatnonzero(counts > 1)
    keys = keys[offsets[0] : offsets[-1]]
    if pa.types.is_floating(keys.type):
        keys = keys.view(_INTEGERS[keys.type.byte_width])
    indexes = keys.dictionary_encode("encode").indices.to_numpy()
    rows = np.repeat(np.arange(len(counts)), counts)
    pairs = np.sort(rows * (int(indexes.max()) + 1) + indexes)
    return np.unique(pairs[1:][pairs[1:] == pairs[:-1]] // (int(indexes.max()) + 1))


def _has_undecoded(array: pa.Array) -> NDArray[np.bool_]:
    """Which values have undecoded bytes."""
    has_bytes = np.zeros(len(array), np.bool_)
    if pa.types.is_struct(array.type):
        for field, part in zip(array.type, array.flatten(), strict=True):
            if field.name == UNDECODED:
                has_bytes |= part.is_valid().to_numpy(zero_copy_only=False)
            else:
                has_bytes |= _has_undecoded(part)
    elif pa.types.is_map(array.type) or pa.types.is_list(array.type):
        collections = Collections(array)
        has_bytes[collections.rows[_has_undecoded(collections.elements)]] = True
    return has_bytes


def _encoded(column: Column, array: pa.Array, records: list[int]) -> pa.LargeBinaryArray:
    """The bytes of values that take the general path; empty for values outside of records."""
    layout = column.layout
    assert layout is not None
    if isinstance(layout, _RAW) and array.type in (OBJECT_TYPE, UNDECODED_TYPE):
        return array.field("bytes").cast(pa.large_binary())
    if written_program(layout).columns[0].storage != Storage.RANGES:
        return _inner_records(column, array, records)
    # If the layout knows no null, the kernel writes a flag for it.
    is_flagged = column.is_nullable and not knows_null(layout)
    encoded = [
        b""
        if record < 0 or (value is None and is_flagged)
        else _written(layout, value, column.path, record)
        for value, record in zip(plain_values(array), records, strict=True)
    ]
    return pa.array(encoded, pa.large_binary())


def _inner_records(column: Column, array: pa.Array, records: list[int]) -> pa.LargeBinaryArray:
    """The bytes of values that have a program of their own."""
    assert column.layout is not None
    rows = np.flatnonzero((np.array(records) >= 0) & np.asarray(array.is_valid()))
    try:
        encoded = Encoder(column.layout).encode(array.take(pa.array(rows)))
    except UnencodableError as error:
        error.row = records[rows[error.row]]
        error.column = column.path + error.column.removeprefix("$")
        raise
    numbers = np.full(len(array), len(rows))
    numbers[rows] = np.arange(len(rows))
    nothing = pa.array([b""], pa.large_binary())
    return pa.concat_arrays([encoded, nothing]).take(pa.array(numbers))


def _written(layout: Layout, value: Value, path: str, row: int) -> bytes:
    view = DataOutputView()
    try:
        EntryWriter(view).write(layout, value)
    except NullError as error:
        raise NullValueError(str(error), path, row) from error
    except ValueError as error:
        raise UnencodableError(str(error), path, row) from error
    return view.to_bytes()


def _is_like(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether both types are equal, except that fields may be nullable or not."""
    nested = (pa.types.is_struct, pa.types.is_list, pa.types.is_map)
    if not any(is_kind(given) and is_kind(wanted) for is_kind in nested):
        return bool(given == wanted)
    if given.num_fields != wanted.num_fields:
        return False
    pairs = [(given.field(index), wanted.field(index)) for index in range(wanted.num_fields)]
    has_names = pa.types.is_struct(wanted)
    return all(
        (field.name == other.name or not has_names) and _is_like(field.type, other.type)
        for field, other in pairs
    )
