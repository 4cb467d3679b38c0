# ruff: noqa: PLR1714 - plain comparisons are compiled best
"""Writes single values: the mirror of ``record_values``. Each function returns where its value ends."""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    clear,
    load_byte,
    load_native_int,
    load_native_long,
    load_native_short,
    store_big_int,
    store_big_long,
    store_big_short,
    store_byte,
)
from savepoint_formats.program.kernel.columns import ENTRY_SIZE, boolean, is_null, values
from savepoint_formats.program.kernel.decimals import write_decimal
from savepoint_formats.program.kernel.moment_columns import (
    write_instant,
    write_java_date,
    write_local_date,
    write_local_date_time,
    write_local_time,
    write_sql_timestamp,
    write_timestamp,
)
from savepoint_formats.program.kernel.number_texts import write_big_decimal, write_big_integer
from savepoint_formats.program.kernel.ops import OP_SIZE, Op
from savepoint_formats.program.kernel.status import REFUSED
from savepoint_formats.program.kernel.written_texts import (
    write_bytes,
    write_char,
    write_fixed_bytes,
    write_java_utf,
    write_text,
    write_units,
    write_utf8,
)

_MIN_LONG = -(1 << 63)


@part
def write_value(  # noqa: PLR0912 - the table of instructions
    op: int, column: int, seconds: int, row: int, argument: int, position: int
) -> int:
    """The mirror of ``read_value``."""
    if op == Op.LONG or op == Op.FLIPPED_LONG:
        flip = _MIN_LONG if op == Op.FLIPPED_LONG else 0
        store_big_long(position, load_native_long(values(column) + 8 * row) ^ flip)
        return position + 8
    if op == Op.INT:
        store_big_int(position, load_native_int(values(column) + 4 * row))
        return position + 4
    if op == Op.SHORT:
        store_big_short(position, load_native_short(values(column) + 2 * row))
        return position + 2
    if op == Op.BYTE:
        store_byte(position, load_byte(values(column) + row))
        return position + 1
    if op == Op.BOOLEAN:
        store_byte(position, boolean(column, row))
        return position + 1
    if op == Op.SKIP:
        return clear(position, argument)
    if op == Op.EXPECT:
        store_byte(position, argument)
        return position + 1
    if op == Op.CONSTANT:
        is_it = load_native_int(values(column) + 4 * row) == argument
        return position if is_it else REFUSED
    if op == Op.ENUM:
        return write_enum(column, row, argument, position)
    if op == Op.TEXT:
        return write_text(column, row, position)
    if op == Op.JAVA_DATE:
        return write_java_date(column, row, position)
    if op == Op.SQL_TIMESTAMP:
        return write_sql_timestamp(column, seconds, row, position)
    if op == Op.INSTANT:
        return write_instant(column, seconds, row, position)
    if op == Op.LOCAL_DATE:
        return write_local_date(column, row, position)
    if op == Op.LOCAL_TIME:
        return write_local_time(column, row, position)
    if op == Op.LOCAL_DATE_TIME:
        return write_local_date_time(column, seconds, row, position)
    if op == Op.TIMESTAMP:
        return write_timestamp(column, row, position, argument)
    if op == Op.DECIMAL:
        return write_decimal(column, row, position, argument)
    if op == Op.CHAR:
        return write_char(column, row, position)
    if op == Op.MUTABLE_TEXT:
        return write_units(column, row, position, 0)
    if op == Op.JAVA_UTF:
        return write_java_utf(column, row, position)
    if op == Op.UTF8:
        return write_utf8(column, row, position)
    if op == Op.BYTES:
        return write_bytes(column, row, position)
    if op == Op.FIXED_BYTES:
        return write_fixed_bytes(column, row, position, argument)
    if op == Op.BIG_INTEGER:
        return write_big_integer(column, row, position)
    if op == Op.BIG_DECIMAL:
        return write_big_decimal(column, row, position)
    return position


@part
def write_enum(column: int, row: int, count: int, position: int) -> int:
    """The mirror of ``read_enum``."""
    index = load_native_int(values(column) + 4 * row)
    store_big_int(position, index)
    return position + 4 if 0 <= index < count else REFUSED


@part
def write_numbered_enum(column: int, row: int, cases: int, count: int, position: int) -> int:
    """The mirror of ``read_numbered_enum``."""
    index = load_native_int(values(column) + 4 * row)
    if not 0 <= index < count:
        return REFUSED
    store_big_int(position, load_native_int(cases + OP_SIZE * index + 4))
    return position + 4


@part
def alternative(ops: int, columns: int, row: int, cases: int, count: int) -> int:
    """The CASE of the only alternative that is not null; REFUSED if there are none or several.

    The first instruction of each alternative names its column.
    """
    chosen = REFUSED
    given = 0
    for case in range(cases, cases + OP_SIZE * count, OP_SIZE):
        number = load_native_int(ops + OP_SIZE * load_native_int(case + 8) + 4)
        if not is_null(columns + ENTRY_SIZE * number, row):
            chosen = case
            given += 1
    return chosen if given == 1 else REFUSED


@part
def class_case(columns: int, row: int, at: int, count: int) -> int:
    """The CASE of the class of a row, or REFUSED; ``at`` is the CASE with the column of names."""
    names = columns + ENTRY_SIZE * load_native_int(at + 4)
    index = load_native_int(values(names) + 4 * row)
    return at + OP_SIZE * (index + 1) if 0 <= index < count and not is_null(names, row) else REFUSED
