# ruff: noqa: PLR0913, PLR0917, PLR1714, SIM109 - plain comparisons and numbers are compiled best
"""Writes objects of Kryo: the mirrors of ``kryo_numbers`` and ``kryo_objects``.

No object is written by reference. So the memory of a graph only has classes whose names are written.
It begins with two numbers: the first name of this graph, and the next name. A table of the number of
each class's name follows; numbers below the first are of earlier graphs, because all graphs count on.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    copy,
    load_byte,
    load_native_int,
    load_native_long,
    load_native_short,
    load_signed_byte,
    store_big_int,
    store_big_long,
    store_big_short,
    store_byte,
    store_int,
    store_long,
    store_short,
)
from savepoint_formats.program.kernel.columns import is_null, used, values
from savepoint_formats.program.kernel.kryo.kryo_numbers import (
    BYTE,
    INT,
    LONG,
    LONG_ZIGZAG,
    SHORT,
    VARINT,
    VARLONG,
    ZIGZAG,
)
from savepoint_formats.program.kernel.kryo.kryo_objects import (
    ARRAY,
    BY_CLASS,
    BY_LIST,
    CLASS_SIZE,
    FINAL,
    IS_5,
    LEAD,
    LIST,
    NAME_TABLE,
    NEVER_NULL,
    OR_NULL,
    TABLE,
    TRACKED,
)
from savepoint_formats.program.kernel.ops import OP_SIZE
from savepoint_formats.program.kernel.status import REFUSED
from savepoint_formats.program.kernel.text_columns import code_point, copy_ascii, store_code_point
from savepoint_formats.program.kernel.written_texts import unit_count

_LEFT = (1 << 57) - 1  # of 64 bits, without the lowest seven
_MAX_UINT = (1 << 32) - 1
_VARLONG_SIZE = 9
_LEAST_ASCII, _MOST_ASCII_OF_2, _MOST_ASCII_OF_5 = 2, 63, 32

_NO_LEAD = 4
"""Elements that are all null have no bytes."""


@part
def write_unsigned(position: int, number: int) -> int:
    """Writes the bits of a number, seven per byte, and eight in the ninth."""
    size = 1
    while size < _VARLONG_SIZE and number & ~0x7F:
        store_byte(position, number & 0x7F | 0x80)
        position += 1
        size += 1
        number = number >> 7 & _LEFT
    store_byte(position, number)
    return position + 1


@part
def write_number(kind: int, position: int, number: int, is_5: int) -> int:
    """The mirror of ``read_number``."""
    if kind >= VARINT:
        if kind == ZIGZAG or kind == LONG_ZIGZAG:
            number = number << 1 ^ number >> 63
        return write_unsigned(position, number if kind >= VARLONG else number & _MAX_UINT)
    if kind == LONG:
        store_long(position, number) if is_5 else store_big_long(position, number)
    elif kind == INT:
        store_int(position, number) if is_5 else store_big_int(position, number)
    elif kind == SHORT:
        store_short(position, number) if is_5 else store_big_short(position, number)
    else:
        store_byte(position, number)
    return position + (1 << kind)


@part
def load_number(column: int, row: int, kind: int) -> int:
    """The mirror of ``store_number``."""
    source = values(column)
    if kind == LONG or kind >= VARLONG:
        return load_native_long(source + 8 * row)
    if kind == SHORT:
        return load_native_short(source + 2 * row)
    if kind == BYTE:
        return load_signed_byte(source + row)
    return load_native_int(source + 4 * row)


@part
def write_flagged(position: int, number: int, flag: bool) -> int:
    """Writes a flag and a number."""
    rest = number >> 6
    first = number & 0x3F | (0x80 if flag else 0)
    store_byte(position, first | (0x40 if rest else 0))
    return write_unsigned(position + 1, rest) if rest else position + 1


@part
def write_kryo_text(column: int, row: int, position: int, is_5: int) -> int:
    """The mirror of ``append_kryo_text`` for a text that is not null."""
    start = used(column, row)
    size = used(column, row + 1) - start
    start += values(column)
    most = _MOST_ASCII_OF_5 if is_5 else _MOST_ASCII_OF_2
    if _LEAST_ASCII <= size <= most and copy_ascii(position, start, size) == size:
        last = position + size - 1
        store_byte(last, load_byte(last) | 0x80)
        return last + 1
    count = unit_count(start, start + size)
    if count < 0:
        return REFUSED
    position = write_flagged(position, count + 1, True)
    if count == size:
        copy(position, start, size)
        return position + size
    place = start
    while place < start + size:
        char_size, code = code_point(place, start + size)
        place += char_size
        if code >= 0x10000:
            position = store_code_point(position, 0xD800 | code - 0x10000 >> 10)
            code = 0xDC00 | code & 0x3FF
        position = store_code_point(position, code)
    return position


# --- objects --------------------------------------------------------------------------------------


@part
def begin_written_graph(graph: int, classes: int, is_5: int) -> None:
    """Forgets the names of the graph before."""
    store_long(graph, load_native_long(graph + 8))
    store_long(graph + TABLE, classes)
    store_long(graph + IS_5, is_5)


@part
def write_class(graph: int, classes: int, number: int, position: int) -> int:
    """Writes a class by its number, or by its name when it comes first."""
    entry = classes + CLASS_SIZE * number
    registered = load_native_long(entry)
    if registered >= 0:
        return write_unsigned(position, registered)
    store_byte(position, 1)
    first, following = load_native_long(graph), load_native_long(graph + 8)
    place = graph + NAME_TABLE + 8 * number
    name = load_native_long(place)
    if name >= first:
        return write_unsigned(position + 1, name - first)
    store_long(place, following)
    store_long(graph + 8, following + 1)
    position = write_unsigned(position + 1, following - first)
    size = load_native_long(entry + 16)
    copy(position, load_native_long(entry + 8), size)
    return position + size


@part
def write_object(
    graph: int, classes: int, kept: int, at: int, is_object: bool, position: int
) -> int:
    """Writes the bytes in front of an object, or null. The CASEs are at ``at``."""
    lead = load_native_int(at + 4)
    if lead >= BY_LIST:
        lead = load_native_long(kept + LEAD)
    if not is_object:
        if lead == NEVER_NULL:
            return REFUSED
        if lead != _NO_LEAD:
            store_byte(position, 0)
            position += 1
        return position
    number = load_native_int(at + OP_SIZE + 4)
    if lead == BY_CLASS:
        position = write_class(graph, classes, number, position)
    is_tracked = load_native_long(classes + CLASS_SIZE * number + 24) & TRACKED
    if is_tracked or lead == OR_NULL:
        store_byte(position, 1)
        position += 1
    return position


@part
def write_elements(
    graph: int,
    classes: int,
    kept: int,
    element: int,
    at: int,
    first: int,
    count: int,
    position: int,
    is_5: int,
) -> int:
    """Writes the number of elements, and the flags and class of all of them.

    ``kept`` are the registers of the list, ``element`` is the column of the elements. The CASE of
    the form is at ``at``; the CASE of the elements' class follows.
    """
    form = load_native_int(at + 4)
    is_final = form & FINAL != 0
    lead = OR_NULL if is_final else BY_CLASS
    kind = form & 7
    if kind != LIST or not is_5:
        more = 1 if kind == ARRAY or is_5 else 0
        position = write_unsigned(position, count + more)
    else:
        nulls = 0
        for row in range(first, first + count):
            nulls += 1 if is_null(element, row) else 0
        flag = nulls > 0 if is_final else count > 0
        position = write_flagged(position, count + 1, flag)
        lead = OR_NULL if nulls else NEVER_NULL
        if not is_final and count == nulls and count:
            store_byte(position, 0)
            position += 1
            lead = _NO_LEAD
        elif not is_final and count:
            number = load_native_int(at + OP_SIZE + 4)
            position = write_class(graph, classes, number, position)
            store_byte(position, 1 if nulls else 0)
            position += 1
    store_long(kept + LEAD, lead)
    return position
