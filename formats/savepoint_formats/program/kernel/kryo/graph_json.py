# ruff: noqa: PLR1714, SIM109 - plain comparisons are what is compiled best
"""JSON of object graphs of Kryo, as ``json.dumps`` writes it: see ``values/kryo/objects.py``."""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_native_int,
    load_native_long,
    load_signed_byte,
    store_byte,
    store_long,
)
from savepoint_formats.program.kernel.columns import capacity, set_valid, use, used, values
from savepoint_formats.program.kernel.kryo.json_numbers import store_double
from savepoint_formats.program.kernel.kryo.json_output import (
    BETWEEN_CHECKS,
    CLOSING_LIST,
    COMMA,
    NULL,
    OPEN_LIST,
    put,
    put_null,
    put_number,
    room_left,
    store_escaped,
    text_number,
)
from savepoint_formats.program.kernel.kryo.kryo_numbers import (
    CLOCK,
    COUNTED,
    DOUBLE,
    FLAG,
    FLOAT,
    HEX,
    INT,
    LONG,
    LONG_ZIGZAG,
    OFFSET,
    OPTIONAL_DOUBLE,
    OPTIONAL_INT,
    OPTIONAL_LONG,
    SCALED,
    SHORT,
    TEXT,
    UNIT,
    UUID,
    WORDS,
    ZIGZAG,
    flagged,
    kryo_varint,
    read_number,
)
from savepoint_formats.program.kernel.kryo.kryo_objects import LIMIT, OUT, POWERS, START
from savepoint_formats.program.kernel.kryo.kryo_single_values import (
    load_part,
    read_cut_clock,
    store_uuid,
)
from savepoint_formats.program.kernel.number_texts import store_decimal_text
from savepoint_formats.program.kernel.status import FULL, REFUSED
from savepoint_formats.program.kernel.text_columns import append_bytes, next_unit

_MOST_BYTES = 1 << 20
"""A longer text may have more values than JSON of the general path."""

_OFFSET_OF_ANY_SECONDS = 127
_SECONDS_PER_QUARTER_HOUR = 900

_QUOTE, _TRUE, _FALSE, _E = (text_number(text) for text in ('"', "true", "fals", "e"))
_HOUR, _MINUTE, _MINUTE_END = (text_number(text) for text in ('"hour": ', ', "minut', 'e": '))
_SECOND, _SECOND_END, _NANO, _NANO_END = (
    text_number(text) for text in (', "secon', 'd": ', ', "nano"', ": ")
)


@part
def json_of_part(  # noqa: PLR0912, PLR0915 - a case each
    kind: int, graph: int, position: int, end: int, is_5: int
) -> int:
    """Writes a number or a text; returns where the next value is, or REFUSED or FULL."""
    if room_left(graph) < 0:
        return FULL
    if kind < TEXT:
        number, position = read_number(kind, position, end, is_5)
        put_number(graph, number)
        return position
    if kind == TEXT:
        return _json_of_text(graph, position, end)
    if kind == FLOAT or kind == DOUBLE:
        number, position = read_number(INT if kind == FLOAT else LONG, position, end, is_5)
        return _put_double(graph, number, kind == FLOAT, position)
    if kind == UNIT:
        number, position = read_number(SHORT, position, end, is_5)
        if position < 0 or number & 0xF800 == 0xD800:
            return REFUSED
        put(graph, _QUOTE, 1)
        _put_unit(graph, number & 0xFFFF)
        put(graph, _QUOTE, 1)
        return position
    if kind == UUID:
        half = LONG if is_5 else LONG_ZIGZAG
        high, position = read_number(half, position, end, is_5)
        if position < 0:
            return REFUSED
        low, position = read_number(half, position, end, is_5)
        put(graph, _QUOTE, 1)
        store_long(graph + OUT, store_uuid(load_native_long(graph + OUT), high, low))
        put(graph, _QUOTE, 1)
        return position
    if kind == CLOCK:
        position = read_cut_clock(graph, 0, position, end)
        put(graph, _HOUR, 8)
        put_number(graph, load_part(graph, 0))
        put(graph, _MINUTE, 8)
        put(graph, _MINUTE_END, 4)
        put_number(graph, load_part(graph, 1))
        put(graph, _SECOND, 8)
        put(graph, _SECOND_END, 4)
        put_number(graph, load_part(graph, 2))
        put(graph, _NANO, 8)
        put(graph, _NANO_END, 2)
        put_number(graph, load_part(graph, 3))
        return position
    if kind == COUNTED or kind == SCALED:
        return _json_of_digits(kind, graph, position, end)
    if kind == HEX or kind == WORDS:
        return _json_of_array(kind, graph, position, end, is_5)
    if position >= end:
        return REFUSED
    first = load_signed_byte(position)
    position += 1
    if kind == OFFSET:
        number = first * _SECONDS_PER_QUARTER_HOUR
        if first == _OFFSET_OF_ANY_SECONDS:
            number, position = read_number(INT, position, end, is_5)
        put_number(graph, number)
        return position
    if kind == FLAG:
        put(graph, _TRUE if first else _FALSE, 4)
        if not first:
            put(graph, _E, 1)
        return position if first == 0 or first == 1 else REFUSED
    if first == 0:
        put_null(graph)
        return position
    if kind == OPTIONAL_INT:
        number, position = read_number(INT, position, end, is_5)
        put_number(graph, number)
        return position
    if kind == OPTIONAL_LONG or kind == OPTIONAL_DOUBLE:
        number, position = read_number(LONG, position, end, is_5)
        if kind == OPTIONAL_DOUBLE:
            return _put_double(graph, number, False, position)
        put_number(graph, number)
        return position
    return REFUSED


@part
def _put_double(graph: int, bits: int, is_float: bool, position: int) -> int:
    if is_float:
        exponent, bits_of = bits >> 23 & 0xFF, bits & 0x7FFFFF
        if exponent == 0 and bits_of:
            return REFUSED
        sign = bits >> 31 & 1
        if exponent == 0xFF:
            exponent = 0x7FF
        elif exponent:
            exponent += 1023 - 127
        bits = sign << 63 | exponent << 52 | bits_of << 29
    out = store_double(load_native_long(graph + OUT), bits, load_native_long(graph + POWERS))
    if out < 0:
        return REFUSED
    store_long(graph + OUT, out)
    return position


@part
def _put_unit(graph: int, unit: int) -> None:
    """Writes a character of one unit, which may have to be escaped."""
    out = load_native_long(graph + OUT)
    out, _ = store_escaped(out, unit, 0)
    store_long(graph + OUT, out)


@part
def _json_of_text(graph: int, position: int, end: int) -> int:
    """A text with quotes, or null."""
    if position >= end:
        return REFUSED
    is_marked = load_byte(position) < 0x80
    count = end - position
    if not is_marked:
        _, count, position = flagged(position, end)
        if position < 0:
            return REFUSED
        if count == 0:
            put_null(graph)
            return position
        count -= 1
        if count > end - position:
            return REFUSED
    out, limit = load_native_long(graph + OUT), load_native_long(graph + LIMIT)
    store_byte(out, 0x22)
    out += 1
    high = 0
    is_open = True
    while is_open and count > 0:
        if out > limit:
            return FULL
        count -= 1
        if is_marked:
            unit = load_byte(position)
            position += 1
            is_open = unit < 0x80
            unit &= 0x7F
        else:
            unit, position = next_unit(position, end)
            if position < 0:
                return REFUSED
        out, high = store_escaped(out, unit, high)
        if out < 0:
            return REFUSED
    if high or (is_marked and is_open):
        return REFUSED
    store_byte(out, 0x22)
    store_long(graph + OUT, out + 1)
    return position


@part
def _json_of_array(kind: int, graph: int, position: int, end: int, is_5: int) -> int:
    """Bytes as hexadecimal digits, or longs."""
    count, position = kryo_varint(position, end)
    if kind == HEX:
        if count == 0:
            put_null(graph)
            return position
        count -= 1
    if position < 0 or count * (1 if kind == HEX else 8) > end - position:
        return REFUSED
    put(graph, _QUOTE if kind == HEX else OPEN_LIST, 1)
    is_first = True
    while count > 0:
        count -= 1
        if room_left(graph) < 0:
            return FULL
        if kind == HEX:
            byte = load_byte(position)
            position += 1
            high, low = byte >> 4, byte & 15
            high += 0x30 if high < 10 else 0x57
            low += 0x30 if low < 10 else 0x57
            put(graph, high | low << 8, 2)
        else:
            number, position = read_number(LONG, position, end, is_5)
            if not is_first:
                put(graph, COMMA, 2)
            is_first = False
            put_number(graph, number)
    put(graph, _QUOTE if kind == HEX else CLOSING_LIST, 1)
    return position


@part
def _json_of_digits(kind: int, graph: int, position: int, end: int) -> int:
    """A number of up to eight bytes, or null; one with a scale is a text."""
    count, position = kryo_varint(position, end)
    if position < 0 or count > 9 or count - 1 > end - position or count == 1:
        return REFUSED
    if count == 0:
        put_null(graph)
        return position
    number = load_signed_byte(position)
    position += 1
    while count > 2:
        number = number << 8 | load_byte(position)
        position += 1
        count -= 1
    if kind == COUNTED:
        put_number(graph, number)
        return position
    scale, position = read_number(ZIGZAG, position, end, 0)
    if position < 0 or number == -number != 0:
        return REFUSED
    put(graph, _QUOTE, 1)
    out = store_decimal_text(load_native_long(graph + OUT), number, scale)
    if out < 0:
        return REFUSED
    store_long(graph + OUT, out)
    put(graph, _QUOTE, 1)
    return position


@part
def begin_json(graph: int, column: int, row: int) -> None:
    """Begins the JSON of a row."""
    store_long(graph + OUT, values(column) + used(column, row))
    store_long(graph + LIMIT, values(column) + capacity(column) - BETWEEN_CHECKS)


@part
def end_json(graph: int, column: int, row: int, position: int, null_is_text: bool) -> int:
    """Ends the JSON of a row; returns the position, or REFUSED or FULL."""
    if position < 0:
        return position
    if room_left(graph) < 0:
        return FULL
    start = used(column, row)
    size = load_native_long(graph + OUT) - values(column) - start
    if size > _MOST_BYTES:
        return REFUSED
    is_null = size == 4 and load_native_int(values(column) + start) == NULL and not null_is_text
    set_valid(column, row, not is_null)
    use(column, row, start if is_null else start + size)
    return position


@part
def append_graph_bytes(graph: int, column: int, row: int, position: int) -> int:
    """The bytes of the graph that ends here."""
    start = load_native_long(graph + START)
    return append_bytes(column, row, start, position, position - start)
