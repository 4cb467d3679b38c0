# ruff: noqa: PLR1714 - plain comparisons and numbers are compiled best
"""Instructions of a walk for objects of Kryo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_native_int,
    load_native_long,
    store_long,
)
from savepoint_formats.program.kernel.columns import ENTRY_SIZE, capacity, set_valid, use, used
from savepoint_formats.program.kernel.kryo.any_graphs import lead_of_element, walk_graph
from savepoint_formats.program.kernel.kryo.graph_json import (
    append_graph_bytes,
    begin_json,
    end_json,
)
from savepoint_formats.program.kernel.kryo.kryo_numbers import OFFSET, read_number
from savepoint_formats.program.kernel.kryo.kryo_objects import (
    BEHIND,
    BY_LIST,
    FOUND,
    IS_5,
    TABLE,
    TABLE_SIZE,
    begin_graph,
    number_object,
    read_list_start,
    read_object,
)
from savepoint_formats.program.kernel.kryo.kryo_single_values import (
    read_cut_clock,
    read_digits,
    read_single,
    store_part,
)
from savepoint_formats.program.kernel.kryo.moment_texts import append_moment_text, read_offset
from savepoint_formats.program.kernel.ops import OP_SIZE, Op
from savepoint_formats.program.kernel.status import FULL, REFUSED
from savepoint_formats.program.kernel.walk_job import REGISTERS_SIZE

if TYPE_CHECKING:
    from savepoint_formats.program.kernel.walk_job import Graphs, Walk

_NO_CLASS, _NULL_IS_TEXT, _IS_FORGOTTEN = -1, -2, -3

PASSED = 1 << 32
"""The end of a record whose classes are all known."""


@part
def run_kryo(  # noqa: PLR0912, PLR0915 - a case per opcode
    job: Walk, graphs: Graphs, op: int, at: int, row: int, position: int, end: int
) -> tuple[int, int, int]:
    """Runs an instruction, the one before ``at``; returns the position, next instruction and row."""
    ops, registers, graph = job.ops, job.registers, graphs.memory
    number = load_native_int(at - OP_SIZE + 4)
    argument = load_native_int(at - OP_SIZE + 8)
    column = job.columns + ENTRY_SIZE * number
    kept = registers + REGISTERS_SIZE * number
    table, is_5 = load_native_long(graph + TABLE), load_native_long(graph + IS_5)
    if op == Op.GRAPH:
        begin_graph(graph, position, graphs.tables + TABLE_SIZE * number, argument)
    elif op == Op.JSON:
        lead, class_ = load_native_int(at + 4), load_native_int(at + 8)
        at += OP_SIZE
        if lead >= BY_LIST:
            kept = registers + REGISTERS_SIZE * (lead - BY_LIST)
            lead, class_ = lead_of_element(kept, class_)
        begin_json(graph, column, row)
        position = walk_graph(graph, table, lead, class_, position, end, is_5, argument)
        if class_ != _IS_FORGOTTEN:
            position = end_json(graph, column, row, position, class_ == _NULL_IS_TEXT)
    elif op == Op.GRAPH_BYTES:
        position = append_graph_bytes(graph, column, row, position)
    elif op == Op.OBJECT:
        lead = load_native_int(at + 4)
        if lead >= BY_LIST:
            kept = registers + REGISTERS_SIZE * (lead - BY_LIST)
        position, following = read_object(
            graph, load_native_long(table), kept, column, row, at, argument, position, end
        )
        at = ops + OP_SIZE * following
    elif op >= Op.NUMBER:
        behind = load_native_long(graph + BEHIND)
        if op == Op.WHOLE_NUMBER or op == Op.EXACT_NUMBER:
            position = read_digits(op, column, row, position, end)
        elif op == Op.MOMENT_TEXT:
            position = append_moment_text(graph, column, row, argument, position, end)
        else:
            seconds = job.columns + ENTRY_SIZE * argument
            position = read_single(op, graph, column, seconds, row, argument, position, end, is_5)
        if behind:
            store_long(graph + BEHIND, 0)
            position = behind if position >= 0 else position
    elif op == Op.PART:
        if argument == OFFSET:
            part_of_it, position = read_offset(position, end, is_5)
        else:
            part_of_it, position = read_number(argument, position, end, is_5)
        store_part(graph, number, part_of_it)
    elif op == Op.CUT_CLOCK:
        position = read_cut_clock(graph, number, position, end)
    elif op == Op.NEW:
        if position >= end or load_byte(position) != 1:
            position = REFUSED
        else:
            position += 1
            if not load_native_long(graph + BEHIND):
                number_object(graph, _NO_CLASS, 0)
    elif op == Op.ELEMENTS:
        first = used(column, row)
        count, position = read_list_start(graph, table, kept, at, ops, position, end, is_5)
        if position >= 0:
            if count > capacity(column) - first:
                position = FULL
            elif count <= 0:
                set_valid(column, row, count == 0)
                use(column, row, first)
                at = ops + OP_SIZE * argument
            else:
                use(column, row, first + count)
                store_long(kept, count)
                store_long(kept + 8, row)
                row = first
                at = ops + OP_SIZE * load_native_int(at + 8)
    return position, at, row


@part
def note_end(graphs: Graphs, record: int, position: int, data: int) -> None:
    """Notes what ended a record's graph: as ``FOUND``, -1 if it is no class, or ``PASSED``.

    The second number is where the name of the class is.
    """
    entry, at = graphs.ended + 16 * record, graphs.memory + FOUND
    store_long(entry, PASSED if position >= 0 else load_native_long(at))
    store_long(entry + 8, load_native_long(at + 8) - data)
    store_long(at, _NO_CLASS)
