# ruff: noqa: PLR1714 - of plain comparisons the compiler makes one jump table
"""The walk the other way: all rows of columns, each written by the instructions that read it.

Instructions that only fill a column (``VALID``, ``ZERO``, ``PAD``...) write nothing. A write returns
the next position, or REFUSED, which leaves the record to the general path. The caller has made room
for the most that all rows can become.

Registers are those of ``walk``, with two differences:

| register | of                                                                            |
|----------|-------------------------------------------------------------------------------|
| 0        | frames: the position of their size; sections: the slot that points to them, 0 |
|          | if there is none                                                              |
| 4        | nothing: a section ends where the walk is                                     |
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import entry, part
from savepoint_formats.program.kernel.code.memory import (
    clear,
    load_byte,
    load_native_int,
    load_native_long,
    store_big_int,
    store_byte,
    store_int,
    store_long,
)
from savepoint_formats.program.kernel.columns import ENTRY_SIZE, is_null, used, values
from savepoint_formats.program.kernel.kryo.written_graphs import write_kryo
from savepoint_formats.program.kernel.ops import OP_SIZE, Op
from savepoint_formats.program.kernel.row_slots import (
    element_start,
    null_size,
    padded,
    set_bit,
    write_range,
    write_slot,
)
from savepoint_formats.program.kernel.status import DONE, REFUSED
from savepoint_formats.program.kernel.walk_job import REGISTERS_SIZE, Graphs, RecordsJob
from savepoint_formats.program.kernel.written_texts import write_rest, write_varint
from savepoint_formats.program.kernel.written_values import (
    alternative,
    class_case,
    write_numbered_enum,
    write_value,
)

_MAX_INT = (1 << 31) - 1
_DELIMITER = 0x2C


@entry
def write_records(job: RecordsJob) -> tuple[int, int, int]:
    """Writes records without objects of Kryo: see ``write_graphs``."""
    return _write(job, None)


@entry
def write_graphs(job: RecordsJob, graphs: Graphs) -> tuple[int, int, int]:
    """Writes until the records end, or a record is refused.

    Returns the status, its record, and the column of the instruction that refused.
    """
    return _write(job, graphs)


@part
def _write(  # noqa: PLR0912, PLR0915 - a case per opcode
    job: RecordsJob, graphs: Graphs | None
) -> tuple[int, int, int]:
    ops, columns, registers = job.ops, job.columns, job.registers
    position = job.data + load_native_long(job.offsets + 8 * job.record)
    mask = section = slot = next_slot = slot_size = next_bit = 0
    for record in range(job.record, job.total):
        row, at, number = record, ops, 0
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
            if op >= Op.GRAPH:
                if graphs is None:
                    position = REFUSED
                else:
                    position, at, row = write_kryo(job, graphs, op, at, row, position)
            elif op >= Op.SLOT_BOOLEAN:
                position = write_slot(op, column, row, slot, section, position, argument)
            elif op >= Op.SKIP:
                position = write_value(op, column, seconds, row, argument, position)

            # --- the walk itself
            elif op == Op.END:
                break
            elif op == Op.GOTO:
                at = target
            elif op == Op.REFUSE or op == Op.SIZE:
                position = REFUSED

            # --- null or not
            elif op == Op.NULL or op == Op.PRESENT or op == Op.NULL_REST:
                null = is_null(column, row)
                store_byte(position, 1 if null != (op == Op.PRESENT) else 0)
                position += 1
                if null:
                    at = target
            elif op == Op.BIT:
                if is_null(column, row):
                    store_byte(mask >> 3, load_byte(mask >> 3) | 0x80 >> (mask & 7))
                    at = target
                mask += 1
            elif op == Op.POJO:
                null = is_null(column, row)
                store_byte(position, 1 if null else 2)
                position += 1
                if null:
                    at = target
            elif op == Op.KEY:
                if is_null(column, row):
                    position = REFUSED

            # --- composites
            elif (
                op == Op.LIST
                or op == Op.MASKED_LIST
                or op == Op.DELIMITED
                or op == Op.ARRAY
                or op == Op.PAIRED_ARRAY
                or op == Op.BLOCK
            ):
                first = used(column, row)
                count = used(column, row + 1) - first
                if op == Op.ARRAY or op == Op.PAIRED_ARRAY:
                    slot_size = load_native_int(at + 4)
                    at += OP_SIZE
                    next_slot = position + element_start(count)
                    next_bit = 32
                    clear(position, next_slot + count * slot_size - position)
                    store_int(position, count)
                    position = padded(section, next_slot + count * slot_size)
                elif op == Op.BLOCK:
                    position = write_varint(position, count)
                elif op != Op.DELIMITED:
                    store_big_int(position, count)
                    position += 4
                    if op == Op.MASKED_LIST:
                        store_long(kept + 16, mask)
                        mask = position << 3
                        position = clear(position, (count + 7) // 8)
                if count == 0:
                    at = target
                else:
                    store_long(kept, count)
                    store_long(kept + 8, row)
                    row = first
            elif op == Op.NEXT or op == Op.NEXT_DELIMITED or op == Op.NEXT_PACKED:
                left = load_native_long(kept) - 1
                if left == 0:
                    row = load_native_long(kept + 8)
                else:
                    store_long(kept, left)
                    row += 1
                    at = target
                    if op == Op.NEXT_DELIMITED:
                        store_byte(position, _DELIMITER)
                        position += 1
            elif op == Op.FRAME:
                store_long(kept, position)
                position += 4
            elif op == Op.UNFRAME:
                start = load_native_long(kept)
                size = position - start - 4
                store_big_int(start, size)
                if size > _MAX_INT:
                    position = REFUSED
            elif op == Op.TAG:
                at = alternative(ops, columns, row, at, argument)
                if at < 0:
                    position = REFUSED
                else:
                    store_byte(position, load_native_int(at + 4))
                    position += 1
                    at = ops + OP_SIZE * load_native_int(at + 8)
            elif op == Op.CLASS:
                target = at
                if not is_null(column, row):
                    target = class_case(columns, row, at, argument)
                if target < 0:
                    position = REFUSED
                else:
                    at = ops + OP_SIZE * load_native_int(target + 8)
            elif op == Op.NUMBERED_ENUM:
                position = write_numbered_enum(column, row, at, argument, position)
                at += OP_SIZE * argument
            elif op == Op.MARK:
                store_long(kept, position)
            elif op == Op.LENGTH_SUFFIX:
                size = position - load_native_long(kept)
                while True:
                    store_byte(position, size)
                    position += 1
                    size >>= 8
                    if size == 0:
                        break
            elif op == Op.REST:
                position = write_rest(column, row, position)

            elif op == Op.MASK:
                store_long(kept + 16, mask)
                mask = position << 3
                position = clear(position, (argument + 7) // 8)
            elif op == Op.UNMASK:
                mask = load_native_long(kept + 16)
            elif op == Op.MASKED_KIND:
                kind = load_native_int(values(column) + 4 * row)
                if kind < 0:
                    position = REFUSED
                else:
                    bits = (kind & 1) << 1 | kind >> 1
                    store_byte(mask >> 3, load_byte(mask >> 3) | bits << (6 - (mask & 7)))
                    mask += 2

            # --- sections
            elif op == Op.SECTION or op == Op.NESTED_SECTION or op == Op.KEYS:
                store_long(kept, slot if op == Op.NESTED_SECTION else 0)
                store_long(kept + 24, section)
                store_long(kept + 40, next_slot)
                store_long(kept + 48, slot_size)
                store_long(kept + 56, next_bit)
                if op == Op.KEYS:
                    position += 4
                section = position
            elif op == Op.VALUES:
                store_int(section - 4, position - section)
                section = position
            elif op == Op.LEAVE:
                start, slot = section, load_native_long(kept)
                section = load_native_long(kept + 24)
                next_slot = load_native_long(kept + 40)
                slot_size = load_native_long(kept + 48)
                next_bit = load_native_long(kept + 56)
                if slot:
                    position = write_range(slot, section, start, position)
            elif op == Op.ROW:
                next_slot = section + null_size(argument)
                slot_size = 8
                next_bit = 8
                position = clear(section, null_size(argument) + slot_size * argument)
            elif op == Op.ROW_KIND:
                kind = load_native_int(values(column) + 4 * row)
                if kind < 0:
                    position = REFUSED
                else:
                    store_byte(section, kind)
            elif op == Op.FIELD:
                slot = next_slot
                next_slot += slot_size
                if is_null(column, row):
                    set_bit(section, next_bit)
                    at = target
                next_bit += 1
        if position < 0:
            return position, record, number
        store_long(job.offsets + 8 * record + 8, position - job.data)
    return DONE, job.total, 0
