# ruff: noqa: PLR1714 - plain comparisons and numbers are compiled best
"""Sections of SQL's binary rows, arrays and maps, in which a slot says where its value lies.

All numbers are little endian; offsets count from the section's first byte.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    clear,
    copy,
    load_byte,
    load_native_int,
    load_native_long,
    load_native_short,
    load_native_unsigned_int,
    store_byte,
    store_int,
    store_long,
    store_short,
)
from savepoint_formats.program.kernel.columns import boolean, ends, used, values
from savepoint_formats.program.kernel.decimals import (
    MAX_LONG_DIGITS,
    has_digits,
    long_decimal,
    store_decimal,
    store_long_decimal,
    write_twos_complement,
)
from savepoint_formats.program.kernel.moment_columns import millis_and_nanos, store_timestamp
from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.kernel.status import DONE, REFUSED
from savepoint_formats.program.kernel.text_columns import append_bytes, append_utf8
from savepoint_formats.program.kernel.written_texts import write_rest

_SLOT = 8
_INLINE = 0x80
_MAX_INLINE_SIZE = 7
_MILLIS_PER_DAY = 86_400_000
_DECIMAL_SIZE = 16


@part
def slot_range(slot: int, section: int, end: int) -> tuple[int, int]:
    """Start and size of a slot's value; the start is REFUSED if it lies outside the section."""
    size = load_native_unsigned_int(slot)
    offset = load_native_unsigned_int(slot + 4)
    return (section + offset if offset + size <= end - section else REFUSED), size


@part
def inline_or_range(slot: int, section: int, end: int) -> tuple[int, int]:
    """Like ``slot_range``, for a slot that itself has room for up to seven bytes."""
    last = load_byte(slot + _SLOT - 1)
    if last & _INLINE:
        size = last & ~_INLINE
        return (slot if size <= _MAX_INLINE_SIZE else REFUSED), size
    return slot_range(slot, section, end)


@part
def read_slot(
    op: int, data: int, column: int, row: int, slot: int, section: int, end: int, argument: int
) -> int:
    """A value that a slot has or points to; returns a negative status if there is none."""
    if op == Op.SLOT_BOOLEAN or op == Op.SLOT_BYTE:
        number = load_byte(slot)
        store_byte(values(column) + row, number if op == Op.SLOT_BYTE else number != 0)
    elif op == Op.SLOT_SHORT:
        store_short(values(column) + 2 * row, load_native_short(slot))
    elif op == Op.SLOT_INT:
        store_int(values(column) + 4 * row, load_native_int(slot))
    elif op == Op.SLOT_LONG:
        store_long(values(column) + 8 * row, load_native_long(slot))
    elif op == Op.SLOT_TIME:
        return DONE if read_slot_time(column, row, slot) else REFUSED
    elif op == Op.SLOT_TEXT:
        return append_slot_text(column, row, slot, section, end)
    elif op == Op.SLOT_BYTES:
        return append_slot_bytes(column, row, slot, section, end)
    elif op == Op.SLOT_RAW:
        return append_slot_raw(column, row, slot, section, end)
    elif op == Op.SLOT_RANGE:
        begin, size = slot_range(slot, section, end)
        store_long(values(column) + 8 * row, begin - data)
        store_long(ends(column) + 8 * row, begin + size - data)
        return begin
    elif op == Op.SLOT_DECIMAL:
        return DONE if read_slot_decimal(column, row, slot, section, end, argument) else REFUSED
    elif op == Op.SLOT_TIMESTAMP:
        return DONE if read_slot_timestamp(column, row, slot, section, end, argument) else REFUSED
    else:
        return REFUSED
    return DONE


@part
def append_slot_text(column: int, row: int, slot: int, section: int, end: int) -> int:
    """CHAR, VARCHAR."""
    start, size = inline_or_range(slot, section, end)
    return start if start < 0 else append_utf8(column, row, start, start + size, size)


@part
def append_slot_bytes(column: int, row: int, slot: int, section: int, end: int) -> int:
    """BINARY, VARBINARY."""
    start, size = inline_or_range(slot, section, end)
    return start if start < 0 else append_bytes(column, row, start, start + size, size)


@part
def append_slot_raw(column: int, row: int, slot: int, section: int, end: int) -> int:
    """RAW."""
    start, size = slot_range(slot, section, end)
    return start if start < 0 else append_bytes(column, row, start, start + size, size)


@part
def read_slot_decimal(
    column: int, row: int, slot: int, section: int, end: int, precision: int
) -> bool:
    """Whether the kernel takes a DECIMAL."""
    if precision <= MAX_LONG_DIGITS:
        return store_decimal(column, row, load_native_long(slot), precision)
    start, size = slot_range(slot, section, end)
    return start >= 0 and store_long_decimal(column, row, start, size, precision)


@part
def read_slot_timestamp(
    column: int, row: int, slot: int, section: int, end: int, precision: int
) -> bool:
    """TIMESTAMP, TIMESTAMP_LTZ; whether the kernel takes it."""
    if precision <= 3:
        return store_timestamp(column, row, load_native_long(slot), 0, precision)
    nanos = load_native_unsigned_int(slot)
    offset = load_native_unsigned_int(slot + 4)
    if offset + 8 > end - section:
        return False
    return store_timestamp(column, row, load_native_long(section + offset), nanos, precision)


@part
def read_slot_time(column: int, row: int, slot: int) -> bool:
    """TIME; whether it is one of a day."""
    millis = load_native_int(slot)
    store_int(values(column) + 4 * row, millis)
    return 0 <= millis < _MILLIS_PER_DAY


@part
def null_size(arity: int) -> int:
    """Bytes of the row kind and null bits."""
    return (arity + 8 + 63) // 64 * 8


@part
def element_start(count: int) -> int:
    """Where the elements of an array begin, behind the count and null bits in whole ints."""
    return 4 + (count + 31) // 32 * 4


@part
def bit(section: int, index: int) -> bool:
    """A null bit."""
    return load_byte(section + (index >> 3)) >> (index & 7) & 1 != 0


# --- the reverse: bytes behind the slots are written at ``position`` -------------------------------


@part
def set_bit(section: int, index: int) -> None:
    """The mirror of ``bit``."""
    address = section + (index >> 3)
    store_byte(address, load_byte(address) | 1 << (index & 7))


@part
def padded(section: int, position: int) -> int:
    """The next place of whole longs; writes zeros up to there."""
    return clear(position, section - position & _SLOT - 1)


@part
def write_range(slot: int, section: int, start: int, end: int) -> int:
    """The mirror of ``slot_range`` for bytes behind the section; returns where their padding ends."""
    store_int(slot, end - start)
    store_int(slot + 4, start - section)
    return padded(section, end)


@part
def write_slot(
    op: int, column: int, row: int, slot: int, section: int, position: int, argument: int
) -> int:
    """The mirror of ``read_slot``; returns where bytes behind the slots go on."""
    if op == Op.SLOT_BOOLEAN:
        store_byte(slot, boolean(column, row))
        return position
    if op == Op.SLOT_BYTE:
        store_byte(slot, load_byte(values(column) + row))
        return position
    if op == Op.SLOT_SHORT:
        store_short(slot, load_native_short(values(column) + 2 * row))
        return position
    if op == Op.SLOT_INT or op == Op.SLOT_TIME:
        store_int(slot, load_native_int(values(column) + 4 * row))
        return position
    if op == Op.SLOT_LONG:
        store_long(slot, load_native_long(values(column) + 8 * row))
        return position
    if op == Op.SLOT_RANGE:
        return write_range(slot, section, position, write_rest(column, row, position))
    if op == Op.SLOT_TEXT or op == Op.SLOT_BYTES:
        return write_slot_bytes(column, row, slot, section, position)
    if op == Op.SLOT_RAW:
        return write_slot_raw(column, row, slot, section, position)
    if op == Op.SLOT_DECIMAL:
        return write_slot_decimal(column, row, slot, section, position, argument)
    return write_slot_timestamp(column, row, slot, section, position, argument)


@part
def write_slot_raw(column: int, row: int, slot: int, section: int, position: int) -> int:
    """Bytes behind the section, to which the slot points."""
    start = used(column, row)
    size = used(column, row + 1) - start
    copy(position, values(column) + start, size)
    return write_range(slot, section, position, position + size)


@part
def write_slot_bytes(column: int, row: int, slot: int, section: int, position: int) -> int:
    """Bytes in the slot itself if there are at most seven."""
    start = used(column, row)
    size = used(column, row + 1) - start
    if size > _MAX_INLINE_SIZE:
        return write_slot_raw(column, row, slot, section, position)
    copy(slot, values(column) + start, size)
    store_byte(slot + _SLOT - 1, _INLINE | size)
    return position


@part
def write_slot_decimal(
    column: int, row: int, slot: int, section: int, position: int, precision: int
) -> int:
    """The mirror of ``read_slot_decimal``."""
    if precision <= MAX_LONG_DIGITS:
        fits, number = long_decimal(column, row, precision)
        store_long(slot, number)
        return position if fits else REFUSED
    source = values(column) + _DECIMAL_SIZE * row
    low, high = load_native_long(source), load_native_long(source + 8)
    if not has_digits(high, low, precision):
        return REFUSED
    clear(position, _DECIMAL_SIZE)
    store_int(slot, write_twos_complement(position, high, low))
    store_int(slot + 4, position - section)
    return position + _DECIMAL_SIZE


@part
def write_slot_timestamp(
    column: int, row: int, slot: int, section: int, position: int, precision: int
) -> int:
    """The mirror of ``read_slot_timestamp``."""
    millis, nanos = millis_and_nanos(column, row, precision)
    if nanos < 0:
        return REFUSED
    if precision <= 3:
        store_long(slot, millis)
        return position
    store_int(slot, nanos)
    store_int(slot + 4, position - section)
    store_long(position, millis)
    return position + 8
