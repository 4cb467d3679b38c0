# ruff: noqa: PLR1714 - of plain comparisons the compiler makes one jump table
"""The walk: all records, one instruction after the other.

The walk is one function because a call per instruction costs more than the instruction. Whatever an
instruction does beyond moving numbers is a function of its own, compiled into the walk. A read
returns the next position, or a negative status that ends the walk.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import entry, part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_int,
    load_native_int,
    load_native_long,
    store_byte,
    store_int,
    store_long,
    store_zeros,
)
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
from savepoint_formats.program.kernel.kryo.kryo_instructions import note_end, run_kryo
from savepoint_formats.program.kernel.ops import OP_SIZE, Op
from savepoint_formats.program.kernel.record_values import (
    case_of,
    expect_suffix,
    read_numbered_enum,
    read_value,
)
from savepoint_formats.program.kernel.row_slots import (
    bit,
    element_start,
    null_size,
    read_slot,
    slot_range,
)
from savepoint_formats.program.kernel.short_records import read_short_records
from savepoint_formats.program.kernel.status import DONE, FULL, REFUSED
from savepoint_formats.program.kernel.text_columns import varint
from savepoint_formats.program.kernel.walk_job import REGISTERS_SIZE, Graphs, Walk

_ROW_KINDS = 4


@entry
def walk(job: Walk) -> tuple[int, int, int, int]:
    """Walks until the records or the room end, or a record is refused.

    Returns the status, the record and row to go on with, and the record's position.
    """
    return walk_records(job, None)


@entry
def walk_kryo(job: Walk, graphs: Graphs) -> tuple[int, int, int, int]:
    """Walks as ``walk`` does, over programs that may have instructions for objects of Kryo."""
    return walk_records(job, graphs)


@part
def walk_records(  # noqa: PLR0912, PLR0915 - a case per opcode
    job: Walk, graphs: Graphs | None
) -> tuple[int, int, int, int]:
    """Walks; without ``graphs`` the compiler leaves out the instructions for objects of Kryo."""
    ops, columns, registers = job.ops, job.columns, job.registers
    done = read_short_records(job) if graphs is None else 0
    record, first_row = job.record + done, job.row + done
    start = job.data + job.position
    mask = section = section_end = slot = next_slot = slot_size = next_bit = 0
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

            # --- values
            if op >= Op.SKIP:
                if op < Op.SLOT_BOOLEAN:
                    position = read_value(op, column, seconds, row, argument, position, end)
                elif op < Op.GRAPH:
                    done = read_slot(
                        op, job.data, column, row, slot, section, section_end, argument
                    )
                    position = position if done >= 0 else done
                elif graphs is None:
                    position = REFUSED
                else:
                    position, at, row = run_kryo(job, graphs, op, at, row, position, end)

            # --- the walk itself
            elif op == Op.END:
                if job.starts and position != end:
                    position = REFUSED
                break
            elif op == Op.GOTO:
                at = target
            elif op == Op.REFUSE:
                position = REFUSED

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
            elif op == Op.BIT:
                is_null = load_byte(mask >> 3) & 0x80 >> (mask & 7) != 0
                mask += 1
                set_valid(column, row, not is_null)
                if is_null:
                    at = target
            elif op == Op.POJO:
                flags = load_byte(position) if position < end else 0
                position += 1
                set_valid(column, row, flags == 2)
                if flags == 1:
                    at = target
                elif flags != 2:
                    position = REFUSED
            elif op == Op.VALID:
                set_valid(column, row, True)
            elif op == Op.ABSENT:
                set_valid(column, row, False)
            elif op == Op.ZERO:
                store_zeros(values(column) + argument * row, argument)
            elif op == Op.PAD:
                use(column, row, used(column, row))
            elif op == Op.NO_REST:
                store_long(values(column) + 8 * row, 0)
                store_long(ends(column) + 8 * row, -1)
            elif op == Op.KEY:
                if not is_valid(column, row):
                    position = REFUSED

            # --- composites
            elif (
                op == Op.LIST
                or op == Op.MASKED_LIST
                or op == Op.ARRAY
                or op == Op.PAIRED_ARRAY
                or op == Op.BLOCK
            ):
                is_array = op == Op.ARRAY or op == Op.PAIRED_ARRAY
                first = used(column, row)
                count = -1
                if is_array:
                    slot_size = load_native_int(at + 4)
                    at += OP_SIZE
                    if section_end - section >= 4:
                        count = load_native_int(section)
                    next_slot = section + element_start(count)
                    next_bit = 32
                    if next_slot + count * slot_size > section_end:
                        count = -1
                    if op == Op.PAIRED_ARRAY and count != used(column, row + 1) - first:
                        count = -1
                elif op == Op.BLOCK:
                    count, position = varint(position, end)
                    if position < 0 or count > end - position:
                        count = -1
                elif end - position >= 4:
                    count = load_int(position)
                    position += 4
                    if op == Op.MASKED_LIST:
                        store_long(kept + 16, mask)
                        mask = position << 3
                        position += (count + 7) // 8
                        if position > end:
                            count = -1
                    elif count > end - position:
                        count = -1
                if count < 0:
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
            elif op == Op.NEXT:
                left = load_native_long(kept) - 1
                if left == 0:
                    row = load_native_long(kept + 8)
                else:
                    store_long(kept, left)
                    row += 1
                    at = target
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
            elif op == Op.NEXT_DELIMITED or op == Op.NEXT_PACKED:
                row += 1
                if position == end:
                    elements_end = row
                    row = load_native_long(kept + 8)
                    use(column, row, elements_end)
                elif op == Op.NEXT_DELIMITED and load_byte(position) != 0x2C:
                    position = REFUSED
                elif row == capacity(column):
                    position = FULL
                else:
                    position += 1 if op == Op.NEXT_DELIMITED else 0
                    at = target
            elif op == Op.MASK:
                store_long(kept + 16, mask)
                mask = position << 3
                position += (argument + 7) // 8
                if position > end:
                    position = REFUSED
            elif op == Op.UNMASK:
                mask = load_native_long(kept + 16)
            elif op == Op.MASKED_KIND:
                bits = load_byte(mask >> 3) >> (6 - (mask & 7))
                store_byte(values(column) + row, (bits & 1) << 1 | bits >> 1 & 1)
                mask += 2
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
            elif op == Op.NUMBERED_ENUM:
                position = read_numbered_enum(column, row, at, argument, position, end)
                at += OP_SIZE * argument
            elif op == Op.MARK:
                store_long(kept, position)
            elif op == Op.LENGTH_SUFFIX:
                position = expect_suffix(position - load_native_long(kept), position, end)
            elif op == Op.SIZE:
                begin = load_native_long(registers + REGISTERS_SIZE * argument)
                store_int(values(column) + 4 * row, position - begin)
            elif op == Op.REST:
                store_long(values(column) + 8 * row, position - job.data)
                store_long(ends(column) + 8 * row, end - job.data)
                position = end

            # --- binary rows, arrays and maps of SQL
            elif op == Op.SECTION or op == Op.NESTED_SECTION or op == Op.KEYS:
                store_long(kept + 24, section)
                store_long(kept + 32, section_end)
                store_long(kept + 40, next_slot)
                store_long(kept + 48, slot_size)
                store_long(kept + 56, next_bit)
                if op == Op.SECTION:
                    section = position
                    size = end - position
                    position = end
                elif op == Op.NESTED_SECTION:
                    section, size = slot_range(slot, section, section_end)
                else:
                    size = load_native_int(section) if section_end - section >= 4 else -1
                    section += 4
                    store_long(kept, section + size)
                    store_long(kept + 8, section_end)
                    if not 0 <= size <= section_end - section:
                        section = REFUSED
                section_end = section + size
                if section < 0:
                    position = REFUSED
            elif op == Op.VALUES:
                section = load_native_long(kept)
                section_end = load_native_long(kept + 8)
            elif op == Op.LEAVE:
                section = load_native_long(kept + 24)
                section_end = load_native_long(kept + 32)
                next_slot = load_native_long(kept + 40)
                slot_size = load_native_long(kept + 48)
                next_bit = load_native_long(kept + 56)
            elif op == Op.ROW:
                next_slot = section + null_size(argument)
                slot_size = 8
                next_bit = 8
                if (
                    next_slot + slot_size * argument > section_end
                    or load_byte(section) >= _ROW_KINDS
                ):
                    position = REFUSED
            elif op == Op.ROW_KIND:
                store_byte(values(column) + row, load_byte(section))
            elif op == Op.INSERT_KIND:
                if load_byte(section) != 0:
                    position = REFUSED
            elif op == Op.FIELD:
                slot = next_slot
                next_slot += slot_size
                is_null = bit(section, next_bit)
                next_bit += 1
                set_valid(column, row, not is_null)
                if is_null:
                    at = target
            else:
                position = REFUSED
        if graphs is not None and graphs.ended:
            note_end(graphs, record, position, job.data)
        elif position < 0:
            return position, record, first_row, start - job.data
        else:
            first_row += 1
        start = position
        record += 1
    return DONE, record, first_row, start - job.data
