"""Room that the kernel needs to encode columns: the most bytes that they can become."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.values.binary_rows import null_size

if TYPE_CHECKING:
    from savepoint_formats.program.program import Program
    from savepoint_formats.program.source_columns import SourceColumns

_SIZES: dict[Op, int] = {
    Op.NULL: 1,
    Op.PRESENT: 1,
    Op.NULL_REST: 1,
    Op.POJO: 1,
    Op.EXPECT: 1,
    Op.BOOLEAN: 1,
    Op.BYTE: 1,
    Op.SHORT: 2,
    Op.INT: 4,
    Op.LONG: 8,
    Op.FLIPPED_LONG: 8,
    Op.ENUM: 4,
    Op.NUMBERED_ENUM: 4,
    Op.JAVA_DATE: 8,
    Op.SQL_TIMESTAMP: 12,
    Op.INSTANT: 12,
    Op.LOCAL_DATE: 6,
    Op.LOCAL_TIME: 7,
    Op.LOCAL_DATE_TIME: 13,
    Op.TIMESTAMP: 12,
    Op.DECIMAL: 20,
    Op.CHAR: 2,
    Op.TEXT: 5,
    Op.MUTABLE_TEXT: 5,
    Op.JAVA_UTF: 2,
    Op.UTF8: 4,
    Op.BYTES: 4,
    Op.BIG_INTEGER: 52,
    Op.BIG_DECIMAL: 52,
    Op.LIST: 4,
    Op.BLOCK: 6,
    Op.MASKED_LIST: 4,
    Op.FRAME: 4,
    Op.TAG: 1,
    Op.LENGTH_SUFFIX: 8,
    Op.LEAVE: 8,
    Op.ARRAY: 16,
    Op.PAIRED_ARRAY: 16,
    Op.KEYS: 4,
    Op.SLOT_TEXT: 8,
    Op.SLOT_BYTES: 8,
    Op.SLOT_RAW: 8,
    Op.SLOT_RANGE: 8,
    Op.SLOT_DECIMAL: 16,
    Op.SLOT_TIMESTAMP: 8,
    Op.OBJECT: 1,
    Op.ELEMENTS: 6,
    Op.PART: 9,
    Op.CUT_CLOCK: 8,
    Op.NEW: 1,
    Op.NUMBER: 9,
    Op.STRICT_BOOLEAN: 1,
    Op.UNIT: 2,
    Op.ASCII_TEXT: 5,
    Op.CONSTANT_INDEX: 5,
    Op.COUNTED_BYTES: 5,
    Op.WHOLE_NUMBER: 52,
    Op.EXACT_NUMBER: 52,
    Op.OPTIONAL: 10,
}
"""The bytes that an instruction writes, padding included."""

_DENSITIES: dict[Op, float] = {
    Op.TEXT: 1.5,  # four bytes of UTF-8 are two units of three bytes
    Op.MUTABLE_TEXT: 1.5,
    Op.JAVA_UTF: 2,  # NUL is two bytes
    Op.UTF8: 1,
    Op.BYTES: 1,
    Op.FIXED_BYTES: 1,
    Op.SLOT_TEXT: 1,
    Op.SLOT_BYTES: 1,
    Op.SLOT_RAW: 1,
    Op.SLOT_RANGE: 1,
    Op.REST: 1,
    Op.ASCII_TEXT: 1.5,
    Op.COUNTED_BYTES: 1,
}
"""The bytes that a byte of the column becomes."""

_ELEMENT_SIZES: dict[Op, int] = {
    Op.LIST: 0,
    Op.BLOCK: 0,
    Op.MASKED_LIST: 1,
    Op.DELIMITED: 1,
    Op.ARRAY: 9,
    Op.PAIRED_ARRAY: 9,
    Op.ELEMENTS: 0,
}
"""The bytes of an element's mask, comma or slot."""

_NAMED = 6
"""The bytes around a class name."""


def row_capacity(program: Program, sources: SourceColumns) -> int:
    """The most bytes that the rows of these columns can become."""
    # Each loop: the instruction where it ends, and its rows; the innermost is the last.
    loops = [(len(program.ops), len(sources.columns[0].rows))]
    total = 0.0
    leads = _leads(program)
    for index, (code, number, argument) in enumerate(program.ops.tolist()):
        while index >= loops[-1][0]:
            loops.pop()
        op = Op(code)
        total += loops[-1][1] * (_size(op, argument) + leads.get(index, 0))
        if op in _DENSITIES:
            total += sources.columns[number].size * _DENSITIES[op]
        if op in _ELEMENT_SIZES:
            (element,) = program.columns[number].children
            count = len(sources.columns[element].rows)
            total += count * _ELEMENT_SIZES[op]
            loops.append((argument, count))
    return int(total) + 1


def _leads(program: Program) -> dict[int, int]:
    """Instruction -> bytes of the class in front of its object or elements."""
    if program.graph_classes is None:
        return {}
    leads: dict[int, int] = {}
    ops, table = program.ops.tolist(), 0
    for index, (op, number, _) in enumerate(ops):
        if op == Op.GRAPH:
            table = number
        elif op in (Op.OBJECT, Op.ELEMENTS):
            leads[index] = program.graph_classes.name_size(table, ops[index + 2][1]) + _NAMED
    return leads


def _size(op: Op, argument: int) -> int:
    match op:
        case Op.SKIP:
            return argument
        case Op.MASK:
            return (argument + 7) // 8
        case Op.ROW:
            return null_size(argument) + 8 * argument
        case _:
            return _SIZES.get(op, 0)
