# ruff: noqa: PLR1714 - plain comparisons are compiled best
"""Single values, each with an instruction of its own; functions return where the next value begins."""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_int,
    load_long,
    load_native_int,
    load_short,
    store_byte,
    store_int,
    store_long,
    store_short,
)
from savepoint_formats.program.kernel.columns import values
from savepoint_formats.program.kernel.decimals import read_decimal
from savepoint_formats.program.kernel.moment_columns import (
    read_instant,
    read_java_date,
    read_local_date,
    read_local_date_time,
    read_local_time,
    read_sql_timestamp,
    read_timestamp,
)
from savepoint_formats.program.kernel.number_texts import append_big_decimal, append_big_integer
from savepoint_formats.program.kernel.ops import OP_SIZE, Op
from savepoint_formats.program.kernel.status import REFUSED
from savepoint_formats.program.kernel.text_columns import (
    append_bytes,
    append_char,
    append_java_utf,
    append_mutable_text,
    append_sized_bytes,
    append_sized_utf8,
    append_text,
)

_MIN_LONG = -(1 << 63)


@part
def read_value(  # noqa: PLR0912 - the table of instructions
    op: int, column: int, seconds: int, row: int, argument: int, position: int, end: int
) -> int:
    """A value of a column."""
    if op == Op.LONG or op == Op.FLIPPED_LONG:
        if end - position < 8:
            return REFUSED
        flip = _MIN_LONG if op == Op.FLIPPED_LONG else 0
        store_long(values(column) + 8 * row, load_long(position) ^ flip)
        return position + 8
    if op == Op.INT:
        if end - position < 4:
            return REFUSED
        store_int(values(column) + 4 * row, load_int(position))
        return position + 4
    if op == Op.SHORT:
        if end - position < 2:
            return REFUSED
        store_short(values(column) + 2 * row, load_short(position))
        return position + 2
    if op == Op.BYTE or op == Op.BOOLEAN:
        if position >= end:
            return REFUSED
        number = load_byte(position)
        store_byte(values(column) + row, number if op == Op.BYTE else number != 0)
        return position + 1
    if op == Op.SKIP:
        return position + argument if end - position >= argument else REFUSED
    if op == Op.EXPECT:
        is_expected = position < end and load_byte(position) == argument
        return position + 1 if is_expected else REFUSED
    if op == Op.CONSTANT:
        store_int(values(column) + 4 * row, argument)
        return position
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
    if op == Op.TIMESTAMP:
        return read_timestamp(column, row, position, end, argument)
    if op == Op.DECIMAL:
        return read_decimal(column, row, position, end, argument)
    if op == Op.CHAR:
        return append_char(column, row, position, end)
    if op == Op.TEXT:
        return append_text(column, row, position, end)
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
