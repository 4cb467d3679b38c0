# ruff: noqa: PLR1714 - plain comparisons and numbers are compiled best
"""Instructions of a walk that writes objects of Kryo: the mirror of ``kryo_instructions``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    load_native_int,
    load_native_long,
    store_byte,
    store_long,
)
from savepoint_formats.program.kernel.columns import ENTRY_SIZE, is_null, used
from savepoint_formats.program.kernel.kryo.kryo_objects import BY_LIST, IS_5, TABLE, TABLE_SIZE
from savepoint_formats.program.kernel.kryo.kryo_single_values import load_part
from savepoint_formats.program.kernel.kryo.written_kryo import (
    begin_written_graph,
    write_elements,
    write_number,
    write_object,
)
from savepoint_formats.program.kernel.kryo.written_singles import (
    write_cut_clock,
    write_kryo_digits,
    write_single,
)
from savepoint_formats.program.kernel.ops import OP_SIZE, Op
from savepoint_formats.program.kernel.walk_job import REGISTERS_SIZE

if TYPE_CHECKING:
    from savepoint_formats.program.kernel.walk_job import Graphs, RecordsJob


@part
def write_kryo(
    job: RecordsJob, graphs: Graphs, op: int, at: int, row: int, position: int
) -> tuple[int, int, int]:
    """The mirror of ``run_kryo``."""
    ops, registers, graph = job.ops, job.registers, graphs.memory
    number = load_native_int(at - OP_SIZE + 4)
    argument = load_native_int(at - OP_SIZE + 8)
    column = job.columns + ENTRY_SIZE * number
    kept = registers + REGISTERS_SIZE * number
    classes, is_5 = load_native_long(graph + TABLE), load_native_long(graph + IS_5)
    if op == Op.GRAPH:
        table = graphs.tables + TABLE_SIZE * number
        begin_written_graph(graph, load_native_long(table), argument)
    elif op == Op.OBJECT:
        lead = load_native_int(at + 4)
        if lead >= BY_LIST:
            kept = registers + REGISTERS_SIZE * (lead - BY_LIST)
        is_object = not is_null(column, row)
        position = write_object(graph, classes, kept, at, is_object, position)
        case = at + OP_SIZE if is_object else at
        at = ops + OP_SIZE * load_native_int(case + 8)
    elif op == Op.ELEMENTS:
        first = used(column, row)
        count = used(column, row + 1) - first
        element = job.columns + ENTRY_SIZE * load_native_int(at + OP_SIZE + 8)
        position = write_elements(graph, classes, kept, element, at, first, count, position, is_5)
        if count == 0:
            at = ops + OP_SIZE * argument
        else:
            store_long(kept, count)
            store_long(kept + 8, row)
            row = first
            at = ops + OP_SIZE * load_native_int(at + 8)
    elif op == Op.PART:
        position = write_number(argument, position, load_part(graph, number), is_5)
    elif op == Op.CUT_CLOCK:
        position = write_cut_clock(graph, number, position)
    elif op == Op.NEW:
        store_byte(position, 1)
        position += 1
    elif op == Op.WHOLE_NUMBER or op == Op.EXACT_NUMBER:
        position = write_kryo_digits(op, column, row, position, is_5)
    else:
        seconds = job.columns + ENTRY_SIZE * argument
        position = write_single(op, graph, column, seconds, row, argument, position, is_5)
    return position, at, row
