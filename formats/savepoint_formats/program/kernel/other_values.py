# ruff: noqa: PLR1714 - plain comparisons are compiled best
"""Values beside objects of Kryo; each function returns where the next one begins."""

from __future__ import annotations

from savepoint_formats.program.kernel.columns import values
from savepoint_formats.program.kernel.machine_code import part
from savepoint_formats.program.kernel.memory import (
    load_byte,
    load_int,
    load_native_int,
    load_short,
    store_byte,
    store_int,
    store_short,
)
from savepoint_formats.program.kernel.moment_columns import (
    read_instant,
    read_java_date,
    read_local_date,
    read_local_date_time,
    read_local_time,
    read_sql_timestamp,
)
from savepoint_formats.program.kernel.ops import OP_SIZE, Op
from savepoint_formats.program.kernel.status import REFUSED
from savepoint_formats.program.kernel.text_columns import (
    append_big_decimal,
    append_big_integer,
    append_bytes,
    append_char,
    append_java_utf,
    append_mutable_text,
    append_sized_bytes,
    append_sized_utf8,
    append_text,
)


@part
def read_value(
    op: int, column: int, seconds: int, row: int, argument: int, at: int, position: int, end: int
) -> tuple[int, int]:
    """Returns the next instruction, too."""
    if op == Op.NUMBERED_ENUM:
        behind = at + OP_SIZE * argument
        return behind, read_numbered_enum(column, row, at, argument, position, end)
    if op == Op.BYTE or op == Op.BOOLEAN or op == Op.SHORT:
        size = 2 if op == Op.SHORT else 1
        if end - position < size:
            return at, REFUSED
        target = values(column)
        if op == Op.SHORT:
            store_short(target + 2 * row, load_short(position))
        elif op == Op.BYTE:
            store_byte(target + row, load_byte(position))
        else:
            store_byte(target + row, 1 if load_byte(position) else 0)
        return at, position + size
    if op == Op.TEXT:
        return at, append_text(column, row, position, end)
    return at, read_larger(op, column, seconds, row, argument, position, end)


@part
def read_larger(  # noqa: PLR0912 - the table of instructions
    op: int, column: int, seconds: int, row: int, argument: int, position: int, end: int
) -> int:
    """A value whose instruction is a function of its own."""
    if op == Op.ENUM:
        return read_enum(column, row, argument, position, end)
    if op == Op.JAVA_DATE:
        return read_java_date(column, row, position, end)
    if op == Op.SQL_TIMESTAMP:
        return read_sql_timestamp(column, seconds, row, position, end)
    if op == Op.INSTANT:
        return read_instant(column, seconds, row, position, end)
    if op == Op.LOCAL_DATE:
        return read_local_date(column, row, position, end)
    if op == Op.LOCAL_TIME:
        return read_local_time(column, row, position, end)
    if op == Op.LOCAL_DATE_TIME:
        return read_local_date_time(column, seconds, row, position, end)
    if op == Op.CHAR:
        return append_char(column, row, position, end)
    if op == Op.MUTABLE_TEXT:
        return append_mutable_text(column, row, position, end)
    if op == Op.JAVA_UTF:
        return append_java_utf(column, row, position, end)
    if op == Op.UTF8:
        return append_sized_utf8(column, row, position, end)
    if op == Op.BYTES:
        return append_sized_bytes(column, row, position, end)
    if op == Op.FIXED_BYTES:
        return append_bytes(column, row, position, end, argument)
    if op == Op.BIG_INTEGER:
        return append_big_integer(column, row, position, end)
    if op == Op.BIG_DECIMAL:
        return append_big_decimal(column, row, position, end)
    return REFUSED


@part
def read_enum(column: int, row: int, count: int, position: int, end: int) -> int:
    """i32 below the number of constants."""
    if end - position < 4 or not 0 <= load_int(position) < count:
        return REFUSED
    store_int(values(column) + 4 * row, load_int(position))
    return position + 4


@part
def read_numbered_enum(
    column: int, row: int, cases: int, count: int, position: int, end: int
) -> int:
    """i32, one of the CASEs."""
    if end - position < 4:
        return REFUSED
    case = case_of(cases, count, load_int(position))
    if case == 0:
        return REFUSED
    store_int(values(column) + 4 * row, load_native_int(case + 8))
    return position + 4


@part
def case_of(cases: int, count: int, number: int) -> int:
    """The first CASE of a number, or 0."""
    for case in range(cases, cases + OP_SIZE * count, OP_SIZE):
        if load_native_int(case + 4) == number:
            return case
    return 0


@part
def expect_suffix(size: int, position: int, end: int) -> int:
    """The number ``size``, little endian, in as few bytes as it needs."""
    while position < end and load_byte(position) == size & 0xFF:
        position += 1
        size >>= 8
        if size == 0:
            return position
    return REFUSED
