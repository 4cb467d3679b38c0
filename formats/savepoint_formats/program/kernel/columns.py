"""The buffers of a column, as a row of a table of addresses.

| i64      | what                                                                            |
|----------|---------------------------------------------------------------------------------|
| values   | numbers; bytes of texts; where values of the general path begin                 |
| offsets  | of texts, bytes and lists: i32 per row and one more; else where values end      |
| validity | a byte per row, 0 for null                                                      |
| capacity | of texts and bytes: bytes in ``values``; of lists: rows of their elements       |

A column's next free byte or element is where its last row ends. So a record that is given up
halfway leaves nothing: the next record begins at the same row.

Columns that are encoded are Arrow's own:

| i64      | what                                                                            |
|----------|---------------------------------------------------------------------------------|
| values   | as above; bits of booleans; an i32 per name or row kind, -1 for an unknown one  |
| offsets  | of texts, bytes and lists as above; of bytes from the general path i64          |
| validity | a bit per row, 0 for null; no address if no row is null                         |
| capacity | the first row's bit, in ``validity`` and among booleans                         |
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_native_int,
    load_native_long,
    store_byte,
    store_int,
)

ENTRY_SIZE = 32
SLACK = 16
"""Bytes behind every buffer, so that texts may be copied in whole words."""

_OFFSETS = 8
_VALIDITY = 16
_CAPACITY = 24


@part
def values(column: int) -> int:
    """The address of the column's values."""
    return load_native_long(column)


@part
def ends(column: int) -> int:
    """The address of the ends of values for the general path."""
    return load_native_long(column + _OFFSETS)


@part
def validity(column: int) -> int:
    """The address of the bytes that say which rows are not null."""
    return load_native_long(column + _VALIDITY)


@part
def capacity(column: int) -> int:
    """Room of the column."""
    return load_native_long(column + _CAPACITY)


@part
def used(column: int, row: int) -> int:
    """Where the row begins."""
    return load_native_int(load_native_long(column + _OFFSETS) + 4 * row)


@part
def use(column: int, row: int, end: int) -> None:
    """Sets where the row ends."""
    store_int(load_native_long(column + _OFFSETS) + 4 * row + 4, end)


@part
def set_valid(column: int, row: int, is_valid: bool) -> None:
    """Sets whether the row is not null."""
    store_byte(load_native_long(column + _VALIDITY) + row, 1 if is_valid else 0)


@part
def is_null(column: int, row: int) -> bool:
    """Whether the row of a column that is encoded is null."""
    validity = load_native_long(column + _VALIDITY)
    if validity == 0:
        return False
    index = load_native_long(column + _CAPACITY) + row
    return load_byte(validity + (index >> 3)) >> (index & 7) & 1 == 0


@part
def boolean(column: int, row: int) -> int:
    """A boolean of a column that is encoded: 0 or 1."""
    index = load_native_long(column + _CAPACITY) + row
    return load_byte(load_native_long(column) + (index >> 3)) >> (index & 7) & 1


@part
def is_valid(column: int, row: int) -> bool:
    """Whether the row is not null."""
    return load_byte(load_native_long(column + _VALIDITY) + row) != 0
