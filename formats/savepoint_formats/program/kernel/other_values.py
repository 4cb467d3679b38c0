# ruff: noqa: PLR1714 - of plain comparisons the compiler makes one jump table
"""Values beside objects of Kryo, each by the instruction that the walk of all others has for it."""

from __future__ import annotations

from savepoint_formats.program.kernel.columns import (
    values,
)
from savepoint_formats.program.kernel.machine_code import (
    part,
)
from savepoint_formats.program.kernel.memory import (
    load_byte,
    load_int,
    load_native_int,
    load_short,
    store_byte,
    store_int,
    store_short,
)
from savepoint_formats.program.kernel.moments import (
    read_instant,
    read_java_date,
    read_local_date,
    read_local_date_time,
    read_local_time,
    read_sql_timestamp,
)
from savepoint_formats.program.kernel.ops import (
    OP_SIZE,
    Op,
)
from savepoint_formats.program.kernel.status import (
    REFUSED,
)
from savepoint_formats.program.kernel.texts import (
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
    """A value that is none of Kryo's: the next instruction, and where the next value begins."""
    size = 1
    if op == Op.SHORT:
        size = 2
    elif op == Op.ENUM or op == Op.NUMBERED_ENUM:
        size = 4
    if end - position < size:
        return at, REFUSED
    target = values(column)
    if op == Op.TEXT:
        return at, append_text(column, row, position, end)
    if op == Op.SHORT:
        store_short(target + 2 * row, load_short(position))
    elif op == Op.BYTE:
        store_byte(target + row, load_byte(position))
    elif op == Op.BOOLEAN:
        store_byte(target + row, 1 if load_byte(position) else 0)
    elif op == Op.ENUM:
        store_int(target + 4 * row, load_int(position))
        return at, position + 4 if 0 <= load_int(position) < argument else REFUSED
    elif op == Op.NUMBERED_ENUM:
        index = -1
        for case in range(at, at + OP_SIZE * argument, OP_SIZE):
            if index < 0 and load_native_int(case + 4) == load_int(position):
                index = load_native_int(case + 8)
        store_int(target + 4 * row, index)
        return at + OP_SIZE * argument, position + 4 if index >= 0 else REFUSED
    else:
        return at, _read_larger(op, column, seconds, row, argument, position, end)
    return at, position + size


@part
def _read_larger(  # noqa: PLR0912 - the table of instructions
    op: int, column: int, seconds: int, row: int, argument: int, position: int, end: int
) -> int:
    """A value that has instructions of its own; where the next one begins."""
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
