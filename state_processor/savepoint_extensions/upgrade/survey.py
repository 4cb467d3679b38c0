"""Finds undescribed classes of the user in object graphs of Kryo."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.bytes import Chunk, DataInputView
from savepoint_formats.program.assembly import Assembly
from savepoint_formats.program.buffers import Buffers, memory_size
from savepoint_formats.program.byte_ranges import Ranges, bytes_of, ranges_in
from savepoint_formats.program.decode import MAX_MEMORY
from savepoint_formats.program.graph_tables import GraphMemory, GraphTables, is_unknown_class
from savepoint_formats.program.kernel import (
    PASSED,
    Walk,
    walk_kryo,
)
from savepoint_formats.values import KryoInput, unknown_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from savepoint_formats.layout import Layout
    from savepoint_formats.program.program import Program
    from savepoint_formats.values import KryoDialect

_FEW = 64
"""Up to this number of values are read one by one, without machine code."""

_NO_CLASS = -1

_ROOM = 4
"""How much more JSON than usual a graph may have; longer JSON is left to the general path."""


def unknown_classes(layout: Layout, data: pa.LargeBinaryArray, reads: KryoDialect) -> Counter[str]:
    """Counts the values by their first class with unknown fields.

    ``reads`` is the Kryo that wrote the values.

    Raises:
        FormatError: The bytes are damaged.
    """
    tables, counts = GraphTables(), Counter[str]()
    program = survey_program(layout, reads, tables) if len(data) > _FEW else None
    rows = np.arange(len(data))
    if program is not None and tables.known:
        held, ranges = ranges_in(data)
        chunk = Chunk(held)
        ended = _ended(program, tables, chunk, ranges)
        counts, is_told = _names(chunk, ended, tables)
        rows = np.flatnonzero(~is_told)
    for value in data.take(pa.array(rows)).to_pylist():
        name = unknown_class(layout, value, reads)
        if name is not None:
            counts[name] += 1
    return counts


def _ended(
    program: Program, tables: GraphTables, chunk: Chunk, ranges: Ranges
) -> NDArray[np.int64]:
    """The end of each record: see ``note_end``."""
    starts, ends = (np.ascontiguousarray(part, np.int64) for part in (ranges.starts, ranges.ends))
    ended = np.zeros((len(ranges), 2), np.int64)
    classes = tables.finished()
    assert classes is not None  # there are graphs
    graphs = GraphMemory(classes)
    size = _ROOM * int(ranges.sizes.max(initial=0))
    size = int(size * min(1.0, MAX_MEMORY / (1 + memory_size(program, 1, size))))
    buffers = Buffers(program, 1, size)
    job = Walk(
        ops=program.ops.ctypes.data,
        columns=buffers.table.ctypes.data,
        registers=buffers.registers.ctypes.data,
        data=chunk.address,
        data_end=chunk.address + len(chunk),
        starts=starts.ctypes.data,
        ends=ends.ctypes.data,
        total=len(ranges),
        rows=1,
        record=0,
        row=0,
        position=0,
    )
    walk_kryo(job, graphs.job._replace(ended=ended.ctypes.data))
    return ended


def _names(
    chunk: Chunk, ended: NDArray[np.int64], tables: GraphTables
) -> tuple[Counter[str], NDArray[np.bool_]]:
    """Counts of unknown classes, and whether each record is done."""
    counts, is_told = Counter[str](), ended[:, 0] == PASSED
    numbers, rows = np.unique(ended[:, 0], return_inverse=True)
    for index, number in enumerate(numbers.tolist()):
        if 0 <= number < PASSED:
            name = tables.class_name(number)
            if name is not None:
                counts[name] += int((rows == index).sum())
                is_told |= rows == index
    (named,) = np.nonzero(ended[:, 0] < _NO_CLASS)
    starts, sizes = ended[named, 1], -2 - ended[named, 0]
    encoded = bytes_of(chunk, Ranges(starts, starts + sizes)).dictionary_encode()
    of_records = encoded.indices.to_numpy()
    for index, data in enumerate(encoded.dictionary.to_pylist()):
        name = KryoInput(DataInputView(data), is_little_endian=True).read_text() or ""
        # An array's class, or that of an enum's constant, is known by its name only.
        if all(is_unknown_class(name, known) for known in tables.known):
            counts[name] += int((of_records == index).sum())
            is_told[named[of_records == index]] = True
    return counts, is_told


def survey_program(layout: Layout, kryo: KryoDialect, tables: GraphTables) -> Program | None:
    """The program that passes over all object graphs; None if there is none.

    ``tables`` gets the classes of the graphs that ``kryo`` wrote.
    """
    assembly = Assembly(kryo, tables=tables)
    assembled = assembly.assembled(layout, hides="nothing")
    return None if assembled.has_ranges else assembled
