"""Addresses of an array's columns, for the kernel that encodes them.

Only values that the kernel cannot read are copied: names become indexes, any NaN becomes Java's, and
values of the general path are encoded before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.errors import NullValueError, UnencodableError
from savepoint_formats.program.kernel import ENTRY_SIZE
from savepoint_formats.program.program import Storage
from savepoint_formats.values.arrow_types import ROW_KINDS
from savepoint_formats.values.kinds.texts import rows_of_halves, shown_half_message
from savepoint_formats.values.state_entries import knows_null

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from savepoint_formats.program.program import Column, Program

    Rows = npt.NDArray[np.int64]
    Encode = Callable[[Column, pa.Array, list[int]], pa.LargeBinaryArray]

_VALUES, _OFFSETS, _VALIDITY, _FIRST = range(ENTRY_SIZE // 8)
_FLOATS: dict[pa.DataType, npt.DTypeLike] = {pa.float32(): np.float32, pa.float64(): np.float64}


@dataclass(frozen=True, slots=True, eq=False)
class SourceColumn:
    """The rows of a column of a program.

    Attributes:
        array: All rows.
        rows: The rows that belong to records.
        parent: The column of its struct or list; -1 for the root.
    """

    array: pa.Array
    rows: range
    parent: int

    @property
    def size(self) -> int:
        """Bytes of all texts or byte strings in ``rows``."""
        width = np.int64 if pa.types.is_large_binary(self.array.type) else np.int32
        if not self.rows:
            return 0
        offsets = _numbers(self.array, 1, width, len(self.array) + 1)
        return int(offsets[self.rows.stop]) - int(offsets[self.rows.start])


class SourceColumns:
    """The columns of a program, filled with an array.

    Args:
        program: The program.
        array: The values, of the program's type.
        encode: Encodes the values of a column of the general path, given their records or -1.

    Attributes:
        table: The table of columns for the kernel.
        columns: Number -> column.

    Raises:
        NullValueError: A column has a null for which there are no bytes.
        UnencodableError: A value of the general path cannot be written.
    """

    def __init__(self, program: Program, array: pa.Array, encode: Encode) -> None:
        self.table = np.zeros((len(program.columns), ENTRY_SIZE // 8), np.int64)
        self.columns: dict[int, SourceColumn] = {}
        self.program = program
        self._encode = encode
        self._held: list[object] = []
        self._add(0, array, range(len(array)), -1)

    def _add(self, number: int, array: pa.Array, rows: range, parent: int) -> None:
        column = self.program.columns[number]
        self.columns[number] = SourceColumn(array, rows, parent)
        if array.null_count:
            self._add_validity(number, array)
            if _forbids_null(column):
                self._check_nulls(number, array, rows)
        match column.storage:
            case Storage.NUMBERS:
                self._set(number, _VALUES, array, 1, column.type.byte_width)
                if column.type in _FLOATS:
                    self._hold_nans(number, array)
            case Storage.BITS:
                self._set(number, _VALUES, array, 1, 0)
                self.table[number, _FIRST] = array.offset
            case Storage.NAMES:
                self._hold_indexes(number, array, column.names)
            case Storage.ROW_KINDS:
                self._hold_indexes(number, array.fill_null(ROW_KINDS[0]), ROW_KINDS)
            case Storage.BYTES:
                self._set(number, _VALUES, array, 2, 0)
                self._set(number, _OFFSETS, array, 1, 4)
                self._check_lengths(number, array, rows)
                self._check_texts(number, array, rows)
            case Storage.RANGES:
                self._add_encoded(number, array, rows)
            case Storage.LIST:
                self._set(number, _OFFSETS, array, 1, 4)
                self._add(column.children[0], *_elements(array, rows), number)
            case Storage.STRUCT:
                for index, child in enumerate(column.children):
                    self._add(child, array.field(index), rows, number)

    def _set(self, number: int, part: int, array: pa.Array, buffer: int, width: int) -> None:
        """The address of a buffer, from the array's first row on."""
        data = array.buffers()[buffer]
        if data is not None:
            self._held.append(data)
            self.table[number, part] = data.address + array.offset * width

    def _add_validity(self, number: int, array: pa.Array) -> None:
        if pa.types.is_null(array.type):
            bits = np.zeros(len(array) // 8 + 1, np.uint8)
            self._hold(number, _VALIDITY, bits)
        else:
            self._set(number, _VALIDITY, array, 0, 0)
            self.table[number, _FIRST] = array.offset

    def _hold(self, number: int, part: int, numbers: npt.NDArray[np.generic]) -> None:
        """Replaces a buffer of the array."""
        self._held.append(numbers)
        self.table[number, part] = numbers.ctypes.data

    def _hold_nans(self, number: int, array: pa.Array) -> None:
        if not len(array):
            return
        numbers = _numbers(array, 1, _FLOATS[array.type], len(array))
        is_nan = np.isnan(numbers)
        if is_nan.any():
            self._hold(number, _VALUES, np.where(is_nan, numbers.dtype.type(np.nan), numbers))

    def _hold_indexes(self, number: int, array: pa.Array, names: tuple[str, ...]) -> None:
        indexes = pc.index_in(array, pa.array(names, pa.utf8()))
        self._hold(number, _VALUES, indexes.fill_null(-1).to_numpy())

    def _add_encoded(self, number: int, array: pa.Array, rows: range) -> None:
        records = self.records(number, np.arange(rows.start, rows.stop))
        encoded = self._encode(
            self.program.columns[number], array[rows.start : rows.stop], records.tolist()
        )
        self.columns[number] = SourceColumn(encoded, range(len(encoded)), -1)
        self._set(number, _VALUES, encoded, 2, 0)
        self._set(number, _OFFSETS, encoded, 1, 8)
        self.table[number, _OFFSETS] -= 8 * rows.start

    def _check_nulls(self, number: int, array: pa.Array, rows: range) -> None:
        """Raises ``NullValueError`` unless all nulls lie in structs or lists that are null."""
        is_null = array[rows.start : rows.stop].is_null().to_numpy(zero_copy_only=False)
        records = self.records(number, np.flatnonzero(is_null) + rows.start)
        records = records[records >= 0]
        if len(records):
            path = self.program.columns[number].path
            error = "a null, for which the serializer has no bytes"
            raise NullValueError(error, path, int(records.min()))

    def _check_lengths(self, number: int, array: pa.Array, rows: range) -> None:
        """Raises ``UnencodableError`` if a value is longer than its type says."""
        column = self.program.columns[number]
        if not column.length:
            return
        values = array[rows.start : rows.stop]
        is_text = pa.types.is_string(array.type)
        sizes = pc.utf8_length(values) if is_text else pc.binary_length(values)
        is_long = pc.fill_null(pc.greater(sizes, column.length), False)
        long_rows = np.flatnonzero(is_long.to_numpy(zero_copy_only=False))
        records = self.records(number, long_rows + rows.start)
        if (records >= 0).any():
            index = int(np.flatnonzero(records >= 0)[0])
            unit = "characters" if is_text else "bytes"
            error = (
                f"{sizes[int(long_rows[index])].as_py()} {unit}, where the type has {column.length}"
            )
            raise UnencodableError(error, column.path, int(records[index]))

    def _check_texts(self, number: int, array: pa.Array, rows: range) -> None:
        """Raises ``UnencodableError`` if a text shows what only Java's strings can hold."""
        if not pa.types.is_string(array.type) or self.program.columns[number].is_of_graph:
            return
        values = array[rows.start : rows.stop]
        half_rows = rows_of_halves(values)
        records = self.records(number, half_rows + rows.start)
        if (records >= 0).any():
            index = int(np.flatnonzero(records >= 0)[0])
            error = shown_half_message(values[int(half_rows[index])].as_py())
            raise UnencodableError(error, self.program.columns[number].path, int(records[index]))

    def records(self, number: int, rows: Rows) -> Rows:
        """The record of each row of a column; -1 if it lies in a struct or list that is null."""
        if not len(rows):
            return rows
        records = rows
        is_hidden = np.zeros(len(rows), np.bool_)
        while self.columns[number].parent >= 0:
            number = self.columns[number].parent
            array = self.columns[number].array
            if self.program.columns[number].storage == Storage.LIST:
                offsets = _numbers(array, 1, np.int32, len(array) + 1)
                is_hidden |= (records < offsets[0]) | (records >= offsets[-1])
                records = np.searchsorted(offsets, records, "right") - 1
                records = records.clip(0, len(array) - 1)
            if array.null_count:
                is_hidden |= array.is_null().to_numpy(zero_copy_only=False)[records]
        return np.where(is_hidden, -1, records)


def _forbids_null(column: Column) -> bool:
    """Whether a null of the column cannot be written."""
    match column.storage:
        case Storage.NOTHING | Storage.ROW_KINDS | Storage.NAMES:  # the kernel refuses null names
            return column.forbids_null
        case Storage.RANGES if column.layout is not None and knows_null(column.layout):
            return False
        case _:
            return column.forbids_null or not column.is_nullable


def _elements(array: pa.Array, rows: range) -> tuple[pa.Array, range]:
    """The elements of lists or maps, and the range of them that the rows have."""
    if pa.types.is_map(array.type):
        names = [array.type.key_field.name, array.type.item_field.name]
        elements = pa.StructArray.from_arrays([array.keys, array.items], names=names)
    else:
        elements = array.values
    if not rows:
        return elements, range(0)
    offsets = _numbers(array, 1, np.int32, len(array) + 1)
    return elements, range(int(offsets[rows.start]), int(offsets[rows.stop]))


def _numbers(array: pa.Array, buffer: int, dtype: npt.DTypeLike, count: int) -> npt.NDArray[Any]:
    """Numbers of a buffer, from the array's first row on."""
    data, size = array.buffers()[buffer], np.dtype(dtype).itemsize
    return np.frombuffer(data, dtype, count, array.offset * size)
