# ruff: noqa: PLR1714 - plain comparisons are what is compiled best
"""Parts of the JSON of object graphs: texts, and the characters around values.

The memory of the graph holds the address where the JSON goes on, and its limit. Behind the limit is
room for what is written between two checks.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    copy,
    load_native_long,
    store_byte,
    store_int,
    store_long,
    store_short,
)
from savepoint_formats.program.kernel.kryo.json_numbers import store_long_digits
from savepoint_formats.program.kernel.kryo.kryo_objects import LIMIT, OUT
from savepoint_formats.program.kernel.text_columns import store_unit

CLOSE_NOTHING, CLOSE_LIST, CLOSE_MAP, CLOSE_OBJECT = range(4)

BETWEEN_CHECKS = 112
"""Bytes that may be written between two checks, besides texts."""

_TEXT_SIZE = 16


def text_number(text: str) -> int:
    """Up to eight characters as a number."""
    return int.from_bytes(text.encode().ljust(8, b"\0"), "little", signed=True)


OPEN_LIST, CLOSING_LIST = text_number("["), text_number("]")
NULL, COMMA = text_number("null"), text_number(", ")
_CLOSE, _CLOSE_PAIR, _CLOSE_PAIRS = text_number("}"), text_number("}, "), text_number("}]")
_KEY, _VALUE, _VALUE_END = text_number('{"key": '), text_number(', "value'), text_number('": ')
_REFERENCE, _REFERENCE_END = text_number('{"$refer'), text_number('ence": ')


@part
def room_left(graph: int) -> int:
    """The bytes before the limit."""
    return load_native_long(graph + LIMIT) - load_native_long(graph + OUT)


@part
def put(graph: int, text: int, size: int) -> None:
    """Writes up to eight bytes."""
    out = load_native_long(graph + OUT)
    store_long(out, text)
    store_long(graph + OUT, out + size)


@part
def put_copy(graph: int, source: int, size: int) -> None:
    """Copies bytes if there is room; without room, the address moves beyond the limit."""
    out = load_native_long(graph + OUT)
    if size < room_left(graph):
        copy(out, source, size)
    store_long(graph + OUT, out + size)


@part
def put_text(graph: int, table: int, text: int) -> None:
    """Writes a text of the table."""
    entry = load_native_long(table + 40) + _TEXT_SIZE * text
    put_copy(graph, load_native_long(entry), load_native_long(entry + 8))


@part
def put_null(graph: int) -> None:
    """Writes null."""
    put(graph, NULL, 4)


@part
def put_lead(graph: int, frame: int, left: int) -> None:
    """Writes what precedes a value of a list or map; ``left`` values are to come."""
    close = load_native_long(frame + 40)
    is_first = load_native_long(frame + 56) == 0
    store_long(frame + 56, 1)
    if close == CLOSE_LIST:
        if not is_first:
            put(graph, COMMA, 2)
    elif close == CLOSE_MAP:
        if left & 1:
            put(graph, _VALUE, 8)
            put(graph, _VALUE_END, 3)
        else:
            if not is_first:
                put(graph, _CLOSE_PAIR, 3)
            put(graph, _KEY, 8)


@part
def put_close(graph: int, frame: int, left: int) -> None:
    """Writes what closes a list, map or object; ``left`` is -1 for null."""
    close = load_native_long(frame + 40)
    if left < 0:
        put_null(graph)
    elif close == CLOSE_OBJECT:
        put(graph, _CLOSE, 1)
    elif close == CLOSE_MAP and load_native_long(frame + 56):
        put(graph, _CLOSE_PAIRS, 2)
    else:
        put(graph, CLOSING_LIST, 1)
    numbered = load_native_long(frame + 48)
    if numbered:
        store_long(numbered + 24, load_native_long(graph + OUT))


@part
def put_reference(graph: int, entry: int, index: int) -> None:
    """Writes an object again, or its number inside of itself."""
    start, end = load_native_long(entry + 16), load_native_long(entry + 24)
    if end:
        put_copy(graph, start, end - start)
        return
    put(graph, _REFERENCE, 8)
    put(graph, _REFERENCE_END, 7)
    put_number(graph, index)
    put(graph, _CLOSE, 1)


@part
def put_number(graph: int, number: int) -> None:
    """Writes an integer."""
    store_long(graph + OUT, store_long_digits(load_native_long(graph + OUT), number))


@part
def store_escaped(out: int, unit: int, high: int) -> tuple[int, int]:
    """Stores a unit as ``store_unit`` does, or its escape."""
    if high or not (unit < 0x20 or unit == 0x22 or unit == 0x5C):
        return store_unit(out, unit, high)
    letter = 0
    if unit >= 0x20:
        letter = unit
    elif unit == 0x08:
        letter = 0x62
    elif unit == 0x09:
        letter = 0x74
    elif unit == 0x0A:
        letter = 0x6E
    elif unit == 0x0C:
        letter = 0x66
    elif unit == 0x0D:
        letter = 0x72
    if letter:
        store_short(out, 0x5C | letter << 8)
        return out + 2, 0
    store_int(out, 0x3030755C)
    low = unit & 15
    store_byte(out + 4, 0x30 + (unit >> 4))
    store_byte(out + 5, low + (0x30 if low < 10 else 0x57))
    return out + 6, 0
