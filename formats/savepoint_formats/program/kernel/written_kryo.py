# ruff: noqa: PLR0913, PLR0917, PLR1714, SIM109 - plain comparisons and numbers are compiled best
"""Objects of Kryo, written: the mirrors of ``kryo_numbers``, ``kryo_objects`` and ``kryo_singles``.

No object is written twice by reference, so that of a graph no more is kept than which classes had
their names written: the memory of a graph begins with two numbers, the first name of this graph and
the next one; behind it the table has the name of each class, which is of an earlier graph if it is
below the first. Names are counted through all graphs.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.columns import boolean, is_null, used, values
from savepoint_formats.program.kernel.decimals import write_twos_complement
from savepoint_formats.program.kernel.kryo_numbers import (
    BYTE,
    INT,
    LONG,
    LONG_ZIGZAG,
    SHORT,
    VARINT,
    VARLONG,
    ZIGZAG,
)
from savepoint_formats.program.kernel.kryo_objects import (
    ARRAY,
    BY_CLASS,
    BY_LIST,
    CLASS_SIZE,
    FINAL,
    LIST,
    NAME_TABLE,
    NEVER_NULL,
    OR_NULL,
    SCRATCH,
    TRACKED,
)
from savepoint_formats.program.kernel.kryo_singles import load_part, store_part
from savepoint_formats.program.kernel.machine_code import part
from savepoint_formats.program.kernel.memory import (
    copy,
    load_byte,
    load_int,
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
from savepoint_formats.program.kernel.moments import (
    load_nanos,
    load_seconds,
    write_date,
    write_time,
)
from savepoint_formats.program.kernel.ops import OP_SIZE, Op
from savepoint_formats.program.kernel.status import REFUSED
from savepoint_formats.program.kernel.texts import code_point, copy_ascii
from savepoint_formats.program.kernel.written_texts import plain_number

_LEFT = (1 << 57) - 1  # of 64 bits, without the lowest seven
_MAX_UINT = (1 << 32) - 1
_VARLONG_SIZE = 9
_LEAST_ASCII, _MOST_ASCII_OF_2, _MOST_ASCII_OF_5 = 2, 63, 32
_NANOS_PER_SECOND = 1_000_000_000
_NANOS_PER_MILLI = 1_000_000
_NANOS_PER_DAY = 86_400 * _NANOS_PER_SECOND
_SECONDS_PER_DAY = 86_400
_MAX_MILLI_SECONDS = (1 << 63) // 1_000 - 1
_MAX_DAYS = (1 << 31) - 1
_UUID_SIZE = 36
_MAX_SCALE = 18

_NO_LEAD = 4
"""Of elements that are all null, which have no bytes."""

_FORM = 16


@part
def write_unsigned(position: int, number: int) -> int:
    """The bits of a number, seven in a byte, and eight in the ninth."""
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
    """A flag and a number."""
    rest = number >> 6
    first = number & 0x3F | (0x80 if flag else 0)
    store_byte(position, first | (0x40 if rest else 0))
    return write_unsigned(position + 1, rest) if rest else position + 1


@part
def write_kryo_text(column: int, row: int, position: int, is_5: int) -> int:
    """The mirror of ``append_kryo_text``, of what is not null."""
    start = used(column, row)
    size = used(column, row + 1) - start
    start += values(column)
    most = _MOST_ASCII_OF_5 if is_5 else _MOST_ASCII_OF_2
    if _LEAST_ASCII <= size <= most and copy_ascii(position, start, size) == size:
        last = position + size - 1
        store_byte(last, load_byte(last) | 0x80)
        return last + 1
    count = 0
    place = start
    while place < start + size:
        char_size, code = code_point(place, start + size)
        if char_size == 0:
            return REFUSED
        place += char_size
        count += 2 if code >= 0x10000 else 1
    position = write_flagged(position, count + 1, True)
    if count == size:
        copy(position, start, size)
        return position + size
    place = start
    while place < start + size:
        char_size, code = code_point(place, start + size)
        place += char_size
        if code >= 0x10000:
            position = _write_unit(position, 0xD800 | code - 0x10000 >> 10)
            code = 0xDC00 | code & 0x3FF
        position = _write_unit(position, code)
    return position


@part
def _write_unit(position: int, unit: int) -> int:
    """A UTF-16 unit as one to three bytes."""
    if unit < 0x80:
        store_byte(position, unit)
        return position + 1
    if unit < 0x800:
        store_byte(position, 0xC0 | unit >> 6)
        store_byte(position + 1, 0x80 | unit & 0x3F)
        return position + 2
    store_byte(position, 0xE0 | unit >> 12)
    store_byte(position + 1, 0x80 | unit >> 6 & 0x3F)
    store_byte(position + 2, 0x80 | unit & 0x3F)
    return position + 3


# --- objects --------------------------------------------------------------------------------------


@part
def begin_written_graph(graph: int) -> None:
    """All names are to be written anew."""
    store_long(graph, load_native_long(graph + 8))


@part
def write_class(graph: int, classes: int, number: int, position: int) -> int:
    """A class by its number, or by its name where it comes first."""
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
    """What leads an object, or null: the CASEs are at ``at``."""
    lead = load_native_int(at + 4)
    if lead >= BY_LIST:
        lead = load_native_long(kept + _FORM)
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
    """How many elements there are, and what is said of all of them.

    Args:
        graph: The memory of the graph.
        classes: The table of classes.
        kept: The registers of the list.
        element: The column of the elements.
        at: The CASE of the form; that of the class of elements follows.
        first: The row of the first element.
        count: How many there are.
        position: Where they go.
        is_5: Whether it is Kryo 5.
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
    store_long(kept + _FORM, lead)
    return position


# --- single values --------------------------------------------------------------------------------


@part
def write_single(
    op: int,
    graph: int,
    column: int,
    seconds: int,
    row: int,
    argument: int,
    position: int,
    is_5: int,
) -> int:
    """The mirror of ``read_single``; of what has parts, they are made, and written next."""
    if op == Op.NUMBER:
        return write_number(argument, position, load_number(column, row, argument), is_5)
    if op == Op.ASCII_TEXT:
        return write_kryo_text(column, row, position, is_5)
    if op == Op.STRICT_BOOLEAN:
        store_byte(position, boolean(column, row))
        return position + 1
    if op == Op.CONSTANT_INDEX:
        index = load_native_int(values(column) + 4 * row)
        return write_unsigned(position, index + 1) if index >= 0 else REFUSED
    if op == Op.OPTIONAL:
        store_byte(position, 1)
        return write_number(argument, position + 1, load_number(column, row, argument), is_5)
    if op >= Op.MILLIS_AND_NANOS:
        return _make_times(op, graph, column, seconds, row, position, is_5)
    start = used(column, row)
    size = used(column, row + 1) - start
    start += values(column)
    if op == Op.UUID:
        is_some = size == _UUID_SIZE and _make_halves(graph, start)
        return position if is_some else REFUSED
    if op == Op.COUNTED_BYTES:
        position = write_unsigned(position, size + 1)
        copy(position, start, size)
        return position + size
    if op == Op.UNIT:
        char_size, code = code_point(start, start + size) if size else (0, 0)
        is_one = char_size > 0 and char_size == size and code < 0x10000
        return write_number(SHORT, position, code, is_5) if is_one else REFUSED
    is_exact = op == Op.EXACT_NUMBER
    is_plain, number, scale = plain_number(column, row, _MAX_SCALE if is_exact else 0)
    if not is_plain:
        return REFUSED
    digits_size = write_twos_complement(position + 1, number >> 63, number)
    store_byte(position, digits_size + 1)
    position += digits_size + 1
    return write_number(ZIGZAG, position, scale, is_5) if is_exact else position


@part
def _make_halves(graph: int, start: int) -> bool:
    """The two longs of a UUID; whether the 36 characters are one."""
    high = low = 0
    index = 0
    is_some = True
    while index < _UUID_SIZE:
        char = load_byte(start + index)
        if index == 8 or index == 13 or index == 18 or index == 23:
            is_some &= char == 0x2D
        else:
            digit = char - 0x30
            if char >= 0x41:
                digit = (char | 0x20) - 0x57
                is_some &= digit >= 10
            is_some &= 0 <= digit < 16 and not 0x39 < char < 0x41
            if index < 18:
                high = high << 4 | digit & 15
            else:
                low = low << 4 | digit & 15
        index += 1
    store_part(graph, 0, high)
    store_part(graph, 1, low)
    return is_some


@part
def _make_times(
    op: int, graph: int, column: int, seconds: int, row: int, position: int, is_5: int
) -> int:
    """The parts of a time: see ``kryo_singles``."""
    if op == Op.DATE:
        _make_date(graph, load_native_int(values(column) + 4 * row))
        return position
    if op == Op.CLOCK or op == Op.DURATION:
        count = load_native_long(values(column) + 8 * row)
        if op == Op.DURATION:
            store_part(graph, 0, count // _NANOS_PER_SECOND)
            store_part(graph, 1, count % _NANOS_PER_SECOND)
        elif 0 <= count < _NANOS_PER_DAY:
            _make_clock(graph, count)
        else:
            return REFUSED
        return position
    count, nanos = load_seconds(seconds, row), load_nanos(seconds, row)
    if nanos < 0:
        return REFUSED
    if op == Op.DATE_AND_CLOCK:
        days = count // _SECONDS_PER_DAY
        if not -_MAX_DAYS <= days <= _MAX_DAYS:
            return REFUSED
        _make_date(graph, days)
        _make_clock(graph, count % _SECONDS_PER_DAY * _NANOS_PER_SECOND + nanos)
        return position
    if op == Op.MILLIS_AND_NANOS:
        if not -_MAX_MILLI_SECONDS <= count <= _MAX_MILLI_SECONDS:
            return REFUSED
        # Kryo 5 has those of whole seconds.
        count = count * 1_000 + (0 if is_5 else nanos // _NANOS_PER_MILLI)
    store_part(graph, 0, count)
    store_part(graph, 1, nanos)
    return position


@part
def _make_date(graph: int, days: int) -> None:
    scratch = graph + SCRATCH
    write_date(scratch, days)
    store_part(graph, 0, load_int(scratch))
    store_part(graph, 1, load_byte(scratch + 4))
    store_part(graph, 2, load_byte(scratch + 5))


@part
def _make_clock(graph: int, nanos_of_day: int) -> None:
    scratch = graph + SCRATCH
    write_time(scratch, nanos_of_day)
    store_part(graph, 3, load_byte(scratch))
    store_part(graph, 4, load_byte(scratch + 1))
    store_part(graph, 5, load_byte(scratch + 2))
    store_part(graph, 6, load_int(scratch + 3))


@part
def write_cut_clock(graph: int, index: int, position: int) -> int:
    """The mirror of ``read_cut_clock``."""
    size = 3
    if load_part(graph, index + 3) == 0:
        while size > 1 and load_part(graph, index + size - 1) == 0:
            size -= 1
        store_byte(position + size - 1, ~load_part(graph, index + size - 1))
    else:
        store_byte(position + 2, load_part(graph, index + 2))
    place = 0
    while place < size - 1:
        store_byte(position + place, load_part(graph, index + place))
        place += 1
    position += size
    nanos = load_part(graph, index + 3)
    return write_unsigned(position, nanos) if nanos else position
