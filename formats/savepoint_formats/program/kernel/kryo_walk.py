# ruff: noqa: PLR1714 - of plain comparisons the compiler makes one jump table
"""The walk of records with objects of Kryo: that of ``walk``, and instructions for the objects.

It is a walk of its own so that programs without such objects need not wait until it is compiled. It
lacks instructions that never occur beside objects of Kryo: ``KRYO_OPS`` are those that it has.
"""

from __future__ import annotations

from typing import NamedTuple

from savepoint_formats.program.kernel.any_graphs import lead_of_element, walk_graph
from savepoint_formats.program.kernel.columns import (
    ENTRY_SIZE,
    capacity,
    ends,
    is_valid,
    set_valid,
    use,
    used,
    values,
)
from savepoint_formats.program.kernel.graph_json import append_graph_bytes, begin_json, end_json
from savepoint_formats.program.kernel.kryo_numbers import OFFSET, read_number
from savepoint_formats.program.kernel.kryo_objects import (
    BEHIND,
    BY_CLASS,
    BY_LIST,
    FOUND,
    TABLE_SIZE,
    begin_graph,
    number_object,
    read_elements,
    read_object,
)
from savepoint_formats.program.kernel.kryo_single_values import (
    read_cut_clock,
    read_digits,
    read_single,
    store_part,
)
from savepoint_formats.program.kernel.machine_code import entry, part
from savepoint_formats.program.kernel.memory import (
    load_byte,
    load_int,
    load_long,
    load_native_int,
    load_native_long,
    store_int,
    store_long,
    store_zeros,
)
from savepoint_formats.program.kernel.moment_texts import append_moment_text, read_offset
from savepoint_formats.program.kernel.ops import OP_SIZE, Op
from savepoint_formats.program.kernel.other_values import case_of, expect_suffix, read_value
from savepoint_formats.program.kernel.status import DONE, FULL, REFUSED
from savepoint_formats.program.kernel.walk import REGISTERS_SIZE, Walk

_NO_CLASS, _NULL_IS_TEXT = -1, -2
PASSED = 1 << 32
"""The end of a record whose classes are all known."""
_MIN_LONG = -(1 << 63)

KRYO_OPS = frozenset(Op) - {
    *(Op.BIT, Op.TIMESTAMP, Op.DECIMAL, Op.MASKED_LIST, Op.MASK, Op.UNMASK, Op.MASKED_KIND),
    *range(Op.SECTION, Op.GRAPH),
}
"""Instructions of this walk."""

_MOST_DEPTH = 128


class Graphs(NamedTuple):
    """Addresses that reading objects of Kryo needs."""

    tables: int  # the tables of classes, see ``kryo_objects``
    memory: int  # of the current graph, see ``kryo_objects``


@entry
def walk_kryo(job: Walk, graphs: Graphs) -> tuple[int, int, int, int]:
    """Walks as ``walk`` does, over programs with ``KRYO_OPS``."""
    return _walk(job, graphs)


@entry
def survey_graphs(job: Walk, graphs: Graphs, ended: int) -> int:
    """Walks records that have ``SKIP_GRAPH``, and goes on behind each that is refused; returns DONE.

    ``ended`` gets two numbers per record: what ended its graph, as ``FOUND`` in ``kryo_objects``, or
    ``PASSED``, or -1 if it is no class; and where its name is.
    """
    for record in range(job.total):
        alone = Walk(
            job.ops,
            job.columns,
            job.registers,
            job.data,
            job.data_end,
            job.starts,
            job.ends,
            record + 1,
            1,
            record,
            0,
            0,
        )
        store_long(graphs.memory + FOUND, -1)
        status, _, _, _ = _walk(alone, graphs)
        what = PASSED if status == DONE else load_native_long(graphs.memory + FOUND)
        store_long(ended + 16 * record, what)
        store_long(ended + 16 * record + 8, load_native_long(graphs.memory + FOUND + 8) - job.data)
    return DONE


@part
def _walk(  # noqa: PLR0912, PLR0915 - a case per opcode
    job: Walk, graphs: Graphs
) -> tuple[int, int, int, int]:
    ops, columns, registers = job.ops, job.columns, job.registers
    graph, table = graphs.memory, graphs.tables
    record, first_row = job.record, job.row
    start = job.data + job.position
    is_5 = 0
    while record < job.total:
        if job.starts:
            start = job.data + load_native_long(job.starts + 8 * record)
            end = job.data + load_native_long(job.ends + 8 * record)
            if not job.data <= start <= end <= job.data_end:
                return REFUSED, record, first_row, start - job.data
        else:
            end = job.data_end
        if first_row >= job.rows:
            return FULL, record, first_row, start - job.data
        position, row, at = start, first_row, ops
        while position >= 0:
            op = load_native_int(at)
            number = load_native_int(at + 4)
            argument = load_native_int(at + 8)
            column = columns + ENTRY_SIZE * number
            kept = registers + REGISTERS_SIZE * number
            target = ops + OP_SIZE * argument
            seconds = columns + ENTRY_SIZE * argument
            at += OP_SIZE

            # --- objects of Kryo
            if op >= Op.GRAPH:
                if op == Op.GRAPH:
                    begin_graph(graph, position)
                    table = graphs.tables + TABLE_SIZE * number
                    is_5 = argument
                elif op == Op.SKIP_GRAPH:
                    begin_graph(graph, position)
                    table = graphs.tables + TABLE_SIZE * number
                    position = walk_graph(
                        graph,
                        table,
                        BY_CLASS,
                        _NO_CLASS,
                        position,
                        end,
                        argument,
                        _MOST_DEPTH,
                        None,
                    )
                elif op == Op.JSON:
                    lead, class_ = load_native_int(at + 4), load_native_int(at + 8)
                    at += OP_SIZE
                    if lead >= BY_LIST:
                        kept = registers + REGISTERS_SIZE * (lead - BY_LIST)
                        lead, class_ = lead_of_element(kept, class_)
                    begin_json(graph, column, row)
                    position = walk_graph(
                        graph, table, lead, class_, position, end, is_5, argument, 1
                    )
                    position = end_json(graph, column, row, position, class_ == _NULL_IS_TEXT)
                elif op == Op.GRAPH_BYTES:
                    position = append_graph_bytes(graph, column, row, position)
                elif op == Op.OBJECT:
                    lead = load_native_int(at + 4)
                    if lead >= BY_LIST:
                        kept = registers + REGISTERS_SIZE * (lead - BY_LIST)
                    position, following = read_object(
                        graph,
                        load_native_long(table),
                        kept,
                        column,
                        row,
                        at,
                        argument,
                        position,
                        end,
                    )
                    at = ops + OP_SIZE * following
                elif op >= Op.NUMBER:
                    behind = load_native_long(graph + BEHIND)
                    if op == Op.WHOLE_NUMBER or op == Op.EXACT_NUMBER:
                        position = read_digits(op, column, row, position, end)
                    elif op == Op.MOMENT_TEXT:
                        position = append_moment_text(graph, column, row, argument, position, end)
                    else:
                        position = read_single(
                            op, graph, column, seconds, row, argument, position, end, is_5
                        )
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
                    count, position = read_elements(
                        graph, table, kept, at, ops, position, end, is_5
                    )
                    if position >= 0:
                        if count > capacity(column) - first:
                            position = FULL
                        elif count <= 0:
                            set_valid(column, row, count == 0)
                            use(column, row, first)
                            at = target
                        else:
                            use(column, row, first + count)
                            store_long(kept, count)
                            store_long(kept + 8, row)
                            row = first
                            at = ops + OP_SIZE * load_native_int(at + 8)

            # --- the walk itself
            elif op == Op.END:
                if job.starts and position != end:
                    position = REFUSED
                break
            elif op == Op.GOTO:
                at = target
            elif op == Op.NEXT:
                left = load_native_long(kept) - 1
                if left == 0:
                    row = load_native_long(kept + 8)
                else:
                    store_long(kept, left)
                    row += 1
                    at = target

            # --- null or not
            elif op == Op.NULL or op == Op.PRESENT or op == Op.NULL_REST:
                if position >= end:
                    position = REFUSED
                else:
                    flag = load_byte(position) != 0
                    position += 1
                    is_null = flag != (op == Op.PRESENT)
                    set_valid(column, row, not is_null)
                    if is_null:
                        at = target
                        if op == Op.NULL_REST:
                            position = end
            elif op == Op.VALID or op == Op.ABSENT:
                set_valid(column, row, op == Op.VALID)
            elif op == Op.ZERO:
                store_zeros(values(column) + argument * row, argument)
            elif op == Op.PAD:
                use(column, row, used(column, row))
            elif op == Op.KEY:
                if not is_valid(column, row):
                    position = REFUSED

            # --- composites
            elif op == Op.DELIMITED:
                first = used(column, row)
                if position == end:
                    use(column, row, first)
                    at = target
                elif capacity(column) == first:
                    position = FULL
                else:
                    store_long(kept + 8, row)
                    row = first
            elif op == Op.NEXT_DELIMITED:
                row += 1
                if position == end:
                    elements_end = row
                    row = load_native_long(kept + 8)
                    use(column, row, elements_end)
                elif load_byte(position) != 0x2C:
                    position = REFUSED
                elif row == capacity(column):
                    position = FULL
                else:
                    position += 1
                    at = target

            # --- what is beside them
            elif op == Op.POJO:
                flags = load_byte(position) if position < end else 0
                position += 1
                set_valid(column, row, flags == 2)
                if flags == 1:
                    at = target
                elif flags != 2:
                    position = REFUSED
            elif op == Op.NO_REST:
                store_long(values(column) + 8 * row, 0)
                store_long(ends(column) + 8 * row, -1)
            elif op == Op.LIST:
                first = used(column, row)
                count = load_int(position) if end - position >= 4 else -1
                position += 4
                if not 0 <= count <= end - position:
                    position = REFUSED
                elif count > capacity(column) - first:
                    position = FULL
                else:
                    use(column, row, first + count)
                    if count == 0:
                        at = target
                    else:
                        store_long(kept, count)
                        store_long(kept + 8, row)
                        row = first
            elif op == Op.FRAME:
                size = load_int(position) if end - position >= 4 else -1
                position += 4
                store_long(kept, end)
                if 0 <= size <= end - position:
                    end = position + size
                else:
                    position = REFUSED
            elif op == Op.UNFRAME:
                if position != end:
                    position = REFUSED
                end = load_native_long(kept)
            elif op == Op.TAG:
                case = case_of(at, argument, load_byte(position)) if position < end else 0
                if case == 0:
                    position = REFUSED
                else:
                    position += 1
                    at = ops + OP_SIZE * load_native_int(case + 8)
            elif op == Op.MARK:
                store_long(kept, position)
            elif op == Op.LENGTH_SUFFIX:
                position = expect_suffix(position - load_native_long(kept), position, end)
            elif op == Op.CONSTANT:
                store_int(values(column) + 4 * row, argument)
            elif op == Op.SIZE:
                begin = load_native_long(registers + REGISTERS_SIZE * argument)
                store_int(values(column) + 4 * row, position - begin)
            elif op == Op.REST:
                store_long(values(column) + 8 * row, position - job.data)
                store_long(ends(column) + 8 * row, end - job.data)
                position = end
            elif op == Op.LONG or op == Op.FLIPPED_LONG:
                if end - position < 8:
                    position = REFUSED
                else:
                    flip = _MIN_LONG if op == Op.FLIPPED_LONG else 0
                    store_long(values(column) + 8 * row, load_long(position) ^ flip)
                    position += 8
            elif op == Op.INT:
                if end - position < 4:
                    position = REFUSED
                else:
                    store_int(values(column) + 4 * row, load_int(position))
                    position += 4
            elif op == Op.SKIP:
                position = position + argument if end - position >= argument else REFUSED
            elif op == Op.EXPECT:
                is_expected = position < end and load_byte(position) == argument
                position = position + 1 if is_expected else REFUSED
            else:
                at, position = read_value(op, column, seconds, row, argument, at, position, end)
        if position < 0:
            return position, record, first_row, start - job.data
        start = position
        record += 1
        first_row += 1
    return DONE, record, first_row, start - job.data
