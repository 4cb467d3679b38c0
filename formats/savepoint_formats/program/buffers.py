"""The buffers that the kernel fills, and the Arrow arrays that they become.

They have room for the largest possible content of the records, and do not grow. All are in one
block of memory. Unfilled memory is never touched, so the system provides pages only for real
content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.program.kernel import ENTRY_SIZE, REGISTERS_SIZE, SLACK
from savepoint_formats.program.listing import PER_RECORD
from savepoint_formats.program.program import Storage
from savepoint_formats.values.arrow_types import ROW_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from savepoint_formats.program.program import Column, Program

    ReadRanges = Callable[[Column, npt.NDArray[np.int64], npt.NDArray[np.int64]], pa.Array]

_ALIGNMENT = 64
_MAX_OFFSET = (1 << 31) - 1
_LEAST_CAPACITY = 128
"""Bytes that the kernel needs for a text of digits, however short its input is."""

_VALUES, _OFFSETS, _VALIDITY, _CAPACITY = range(ENTRY_SIZE // 8)

_KIND_SIZE = len(ROW_KINDS[0])
_KINDS = np.frombuffer("".join(ROW_KINDS).encode(), np.uint16)


class Buffers:
    """Memory for the columns of ``rows`` records that have ``size`` bytes in all."""

    def __init__(self, program: Program, rows: int, size: int) -> None:
        self.program = program
        self.rows = rows
        self.registers = np.zeros((program.slots, REGISTERS_SIZE // 8), np.int64)
        self._positions = np.full((len(program.columns), ENTRY_SIZE // 8), -1, np.int64)
        end = 0
        for number, part, part_size in _parts(program, rows, size):
            self._positions[number, part] = end
            end += part_size
        memory = np.empty(end + _ALIGNMENT, np.uint8)
        self._memory = memory[-memory.ctypes.data % _ALIGNMENT :]
        self.table = self._positions + self._memory.ctypes.data
        self.table[:, _CAPACITY] = list(_capacities(program, size))
        for position in self._positions[:, _OFFSETS]:
            if position >= 0:
                self._memory[position : position + 8] = 0  # the first row begins at 0

    def array(self, rows: int, read_ranges: ReadRanges) -> pa.Array:
        """The rows that the kernel has filled.

        ``read_ranges`` gives the values of a column of the general path between positions; a null has
        the end -1.
        """
        return self._array(0, rows, read_ranges)

    def _array(self, number: int, rows: int, read_ranges: ReadRanges) -> pa.Array:
        column = self.program.columns[number]
        match column.storage:
            case Storage.NOTHING:
                return pa.nulls(rows, column.type)
            case Storage.NUMBERS:
                return self._from_buffers(number, rows, self._buffer(number, _VALUES))
            case Storage.BITS:
                return self._from_buffers(number, rows, _bits(self._bytes(number, _VALUES, rows)))
            case Storage.NAMES:
                indexes = pa.Array.from_buffers(
                    pa.int32(), rows, [self._validity(number, rows), self._buffer(number, _VALUES)]
                )
                return pa.array(column.names, pa.utf8()).take(indexes)
            case Storage.ROW_KINDS:
                return self._row_kinds(number, rows)
            case Storage.BYTES:
                parts = (self._buffer(number, _OFFSETS), self._buffer(number, _VALUES))
                return self._from_buffers(number, rows, *parts)
            case Storage.LIST:
                offsets = self._bytes(number, _OFFSETS, 4 * (rows + 1)).view(np.int32)
                elements = self._array(column.children[0], int(offsets[rows]), read_ranges)
                offsets_buffer = self._buffer(number, _OFFSETS)
                return self._from_buffers(number, rows, offsets_buffer, children=[elements])
            case Storage.STRUCT:
                children = [self._array(child, rows, read_ranges) for child in column.children]
                return self._from_buffers(number, rows, children=children)
            case Storage.RANGES:
                starts = self._longs(number, _VALUES, rows)
                return read_ranges(column, starts, self._longs(number, _OFFSETS, rows))

    def _from_buffers(
        self, number: int, rows: int, *parts: pa.Buffer, children: list[pa.Array] | None = None
    ) -> pa.Array:
        column_type = self.program.columns[number].type
        validity = self._validity(number, rows)
        return pa.Array.from_buffers(column_type, rows, [validity, *parts], children=children)

    def _row_kinds(self, number: int, rows: int) -> pa.Array:
        """Texts of one size."""
        offsets = np.arange(0, _KIND_SIZE * (rows + 1), _KIND_SIZE, dtype=np.int32)
        content = _KINDS[self._bytes(number, _VALUES, rows)]
        return pa.Array.from_buffers(
            pa.utf8(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(content)]
        )

    def _validity(self, number: int, rows: int) -> pa.Buffer | None:
        if not self.program.columns[number].is_nullable:
            return None
        flags = self._bytes(number, _VALIDITY, rows)
        return None if flags.all() else _bits(flags)

    def _longs(self, number: int, part: int, count: int) -> npt.NDArray[np.int64]:
        return self._bytes(number, part, 8 * count).view(np.int64)

    def _bytes(self, number: int, part: int, count: int) -> npt.NDArray[np.uint8]:
        start = self._positions[number, part]
        return self._memory[start : start + count]

    def _buffer(self, number: int, part: int) -> pa.Buffer:
        return pa.py_buffer(self._memory[self._positions[number, part] :])


def memory_size(program: Program, rows: int, size: int) -> int:
    """Bytes of such buffers; most of them are never touched."""
    return sum(part_size for _, _, part_size in _parts(program, rows, size))


def _capacities(program: Program, size: int) -> Iterator[int]:
    for column in program.columns:
        yield min(int(size * column.density) + _LEAST_CAPACITY, _MAX_OFFSET)


def _parts(program: Program, rows: int, size: int) -> Iterator[tuple[int, int, int]]:
    """Column, number and size of each buffer."""
    capacities = list(_capacities(program, size))
    for number, column in enumerate(program.columns):
        own_rows = rows if column.parent == PER_RECORD else capacities[column.parent]
        for part, part_size in _parts_of(column, own_rows, capacities[number]):
            yield number, part, -(-(part_size + SLACK) // _ALIGNMENT) * _ALIGNMENT


def _parts_of(column: Column, rows: int, capacity: int) -> Iterator[tuple[int, int]]:
    match column.storage:
        case Storage.NUMBERS:
            yield _VALUES, rows * column.type.byte_width
        case Storage.BITS | Storage.ROW_KINDS:
            yield _VALUES, rows
        case Storage.NAMES:
            yield _VALUES, 4 * rows
        case Storage.BYTES:
            yield _VALUES, capacity
            yield _OFFSETS, 4 * (rows + 1)
        case Storage.LIST:
            yield _OFFSETS, 4 * (rows + 1)
        case Storage.RANGES:
            yield _VALUES, 8 * rows
            yield _OFFSETS, 8 * rows
    if column.is_nullable:
        yield _VALIDITY, rows


def _bits(flags: npt.NDArray[np.uint8]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
