# ruff: noqa: PLR0913, PLR0917, PLR1714, SIM109 - plain comparisons and numbers are compiled best
"""Passes over object graphs of Kryo, up to a class that nobody knows.

A table has all classes, and the content of their objects:

| kind     | first                         | second              | its objects are                         |
|----------|-------------------------------|---------------------|-----------------------------------------|
| UNKNOWN  |                               |                     | of fields that nobody has described     |
| GENERAL  |                               |                     | for the general path                    |
| NUMBERS  | where its parts begin         | how many            | numbers and texts, one behind the other |
| ENUM     | how many constants            |                     | one of them                             |
| LISTED   | a form of ``kryo_objects``    |                     | elements                                |
| MAPPED   | a form of ``kryo_objects``    |                     | keys and values                         |
| OBJECTS  | how many                      |                     | objects                                 |
| PRIMITIVES | the part that each is       |                     | a count and parts                       |
| FIELDS   | where its fields begin        | how many            | fields                                  |

A field is two numbers: a part and 0; or -1 and the arguments of its type; or -2 minus the number of
its class, if that is final. Arguments are five numbers: their count, and for each its class if that is
final, else -1, and its own arguments.

The memory is that of ``kryo_objects`` with a stack in place of the table of objects. An entry of the
stack has the number of values to come, their lead, class and arguments, and the next field.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.key_lookup import are_equal
from savepoint_formats.program.kernel.kryo_numbers import flagged, kryo_varint, read_number
from savepoint_formats.program.kernel.kryo_objects import (
    ARRAY,
    BY_CLASS,
    CLASSED_LIST,
    FINAL,
    LIST,
    MOST_NAMES,
    NAME_TABLE,
    NEVER_NULL,
    OR_NULL,
    SORTED,
    WITHOUT_NULL,
    skip_no_comparator,
)
from savepoint_formats.program.kernel.machine_code import part
from savepoint_formats.program.kernel.memory import (
    load_byte,
    load_int,
    load_native_long,
    load_signed_byte,
    store_long,
)
from savepoint_formats.program.kernel.status import REFUSED

SKIPPED_CLASS_SIZE = 56
UNKNOWN, GENERAL, NUMBERS, ENUM, LISTED, MAPPED, OBJECTS, PRIMITIVES, FIELDS = range(9)

# Parts: the kinds of numbers, and these.
TEXT, FLAG, COUNTED, CLOCK, NEW, WORDS, OFFSET, OPTIONAL_INT, OPTIONAL_LONG, SCALED = range(8, 18)

TABLES_SIZE = 40
MOST_DEPTH = 128
FOUND = 56
"""Where the memory has the class that ended a graph: its number, or place and size of its name."""

_OBJECTS = 8
_STACK = NAME_TABLE + 8 * MOST_NAMES
SKIPPED_MEMORY_SIZE = _STACK + 40 * (MOST_DEPTH + 1)
_FRAME_SIZE = 40
_ARGUMENTS_SIZE = 40
_OPEN = -1
_OFFSET_OF_ANY_SECONDS = 127
_KEY_AND_VALUE = 2
_STREAM_HEADER = -0x5312FFFB  # AC ED 00 05


@part
def _push(frame: int, count: int, lead: int, number: int, arguments: int, field: int) -> None:
    store_long(frame, count)
    store_long(frame + 8, lead)
    store_long(frame + 16, number)
    store_long(frame + 24, arguments)
    store_long(frame + 32, field)


@part
def skip_graph(  # noqa: PLR0912, PLR0915 - a case per kind
    graph: int, tables: int, position: int, end: int, is_5: int
) -> int:
    """Passes over a graph; returns where the next value is, or REFUSED.

    ``tables`` has the address of the classes, their count, and the addresses of parts, fields and
    arguments.
    """
    classes, fields = load_native_long(tables), load_native_long(tables + 24)
    store_long(graph, 0)
    store_long(graph + _OBJECTS, 0)
    store_long(graph + FOUND, _OPEN)
    bottom = graph + _STACK
    top = bottom
    _push(top, 1, BY_CLASS, _OPEN, 0, 0)
    while position >= 0:
        left = load_native_long(top)
        if left == 0:
            if top == bottom:
                return position
            top -= _FRAME_SIZE
            continue
        store_long(top, left - 1)
        lead = load_native_long(top + 8)
        number = load_native_long(top + 16)
        arguments = load_native_long(top + 24)
        field = load_native_long(top + 32)
        if field:
            # Each field has a type of its own. In maps, keys and values take turns.
            if field > 0:
                store_long(top + 32, field + 16)
                lead, number, arguments = BY_CLASS, _OPEN, load_native_long(field + 8)
                kind = load_native_long(field)
                if kind >= 0:
                    position = skip_part(kind, graph, position, end, is_5)
                    continue
                if kind < _OPEN:
                    lead, number = OR_NULL, -2 - kind
            else:
                pair = load_native_long(tables + 32) + _ARGUMENTS_SIZE * arguments
                at = pair + (8 if left % _KEY_AND_VALUE == 0 else 24)
                number, arguments = load_native_long(at), load_native_long(at + 8)
                lead = BY_CLASS if number < 0 else lead
        if lead == BY_CLASS:
            number, position = skip_class(graph, tables, position, end)
            if position < 0:
                return REFUSED
            if number < 0:
                continue
        entry = classes + SKIPPED_CLASS_SIZE * number
        is_tracked = load_native_long(entry + 24)
        marker = 1
        if is_tracked or lead == OR_NULL:
            marker, position = kryo_varint(position, end)
            if position < 0 or (marker == 0 and lead != OR_NULL):
                return REFUSED
            # An object that is never referred to has a flag in place of a number.
            if marker > 1 and not is_tracked:
                return REFUSED
        if marker == 0:
            continue
        if is_tracked:
            objects = load_native_long(graph + _OBJECTS)
            if marker > 1:
                if marker - 2 >= objects:
                    return REFUSED
                continue
            store_long(graph + _OBJECTS, objects + 1)
        kind = load_native_long(entry + 32)
        first = load_native_long(entry + 40)
        second = load_native_long(entry + 48)
        if top >= bottom + _FRAME_SIZE * MOST_DEPTH or kind == GENERAL:
            return REFUSED
        if kind == UNKNOWN:
            if not is_stream(position, end):
                store_long(graph + FOUND, number)
            return REFUSED
        if kind == NUMBERS:
            place = load_native_long(tables + 16) + 8 * first
            behind = place + 8 * second
            while place < behind and position >= 0:
                position = skip_part(load_native_long(place), graph, position, end, is_5)
                place += 8
        elif kind == ENUM:
            constant, position = kryo_varint(position, end)
            if constant > first:
                return REFUSED
        elif kind == OBJECTS:
            top += _FRAME_SIZE
            _push(top, first, BY_CLASS, _OPEN, 0, 0)
        elif kind == FIELDS:
            top += _FRAME_SIZE
            _push(top, second, BY_CLASS, _OPEN, 0, fields + 16 * first)
        elif kind == PRIMITIVES:
            count, position = kryo_varint(position, end)
            while count > 1 and position >= 0:
                count -= 1
                position = skip_part(first, graph, position, end, is_5)
        else:
            top += _FRAME_SIZE
            position = skip_head(
                graph, tables, top, first, second, arguments, kind == MAPPED, position, end, is_5
            )
    return REFUSED


@part
def skip_head(  # noqa: PLR0912 - the forms of collections
    graph: int,
    tables: int,
    frame: int,
    form: int,
    component: int,
    arguments: int,
    is_map: bool,
    position: int,
    end: int,
    is_5: int,
) -> int:
    """Reads the count and lead of a collection's elements into ``frame``."""
    kind = form & 7
    pair = load_native_long(tables + 32) + _ARGUMENTS_SIZE * arguments
    counted = load_native_long(pair)
    number, inner = _OPEN, 0
    if kind == ARRAY:
        number = component
        inner = 0 if is_5 else arguments
    elif not is_map and counted == 1 and (is_5 or not form & FINAL):
        number, inner = load_native_long(pair + 8), load_native_long(pair + 16)
    lead = BY_CLASS if number < 0 else OR_NULL
    flag = False
    if form & SORTED and not is_5:
        position = skip_no_comparator(position, end)
    if position < 0:
        return REFUSED
    if kind == LIST and is_5 and not is_map:
        flag, count, position = flagged(position, end)
    else:
        count, position = kryo_varint(position, end)
    if kind == ARRAY or (is_5 and kind != CLASSED_LIST):
        count -= 1
    if position >= 0 and count >= 0 and form & SORTED and is_5:
        position = skip_no_comparator(position, end)
    if position < 0 or count > end - position:
        return REFUSED
    if kind == CLASSED_LIST:
        _, position = skip_class(graph, tables, position, end)
        number, inner, lead = _OPEN, 0, BY_CLASS
    elif is_map:
        lead = NEVER_NULL if is_5 and form & WITHOUT_NULL else OR_NULL
        arguments = arguments if counted == _KEY_AND_VALUE else 0
        _push(frame, count * _KEY_AND_VALUE if count > 0 else 0, lead, _OPEN, arguments, -1)
        return position
    elif kind == LIST and is_5 and count > 0:
        if number >= 0:
            lead = OR_NULL if flag else NEVER_NULL
        elif flag:
            number, position = skip_class(graph, tables, position, end)
            if number < 0 or position < 0 or position >= end:
                return REFUSED
            lead = NEVER_NULL
            if not form & WITHOUT_NULL:
                lead = OR_NULL if load_byte(position) else NEVER_NULL
                position += 1
    _push(frame, count if count > 0 else 0, lead, number, inner, 0)
    return position


@part
def skip_class(graph: int, tables: int, position: int, end: int) -> tuple[int, int]:
    """The number of the next class, -1 if it is null; and where the object is."""
    classes, count = load_native_long(tables), load_native_long(tables + 8)
    token, position = kryo_varint(position, end)
    if position < 0 or token == 0:
        return _OPEN, position
    if token != 1:
        for number in range(count):
            if load_native_long(classes + SKIPPED_CLASS_SIZE * number) == token:
                return number, position
        return _OPEN, REFUSED
    name, position = kryo_varint(position, end)
    names = load_native_long(graph)
    if position < 0 or name > names or names >= MOST_NAMES:
        return _OPEN, REFUSED
    if name < names:
        return load_native_long(graph + NAME_TABLE + 8 * name), position
    start = position
    position = skip_part(TEXT, graph, position, end, 1)
    size = position - start
    for number in range(count if position >= 0 else 0):
        entry = classes + SKIPPED_CLASS_SIZE * number
        is_as_long = load_native_long(entry + 16) == size
        if is_as_long and are_equal(load_native_long(entry + 8), start, size):
            store_long(graph + NAME_TABLE + 8 * names, number)
            store_long(graph, names + 1)
            return number, position
    # Only a new object has bytes here.
    is_new = 0 <= position < end and load_byte(position) == 1
    if is_new and not is_stream(position + 1, end):
        store_long(graph + FOUND, -2 - size)
        store_long(graph + FOUND + 8, start)
    return _OPEN, REFUSED


@part
def is_stream(position: int, end: int) -> bool:
    """Whether an object is Java's own, whose class the general path knows."""
    return end - position >= 4 and load_int(position) == _STREAM_HEADER


@part
def skip_part(  # noqa: PLR0912 - the table of parts
    kind: int, graph: int, position: int, end: int, is_5: int
) -> int:
    """Passes over a number or a text; returns where the next value is."""
    if kind < TEXT:
        _, position = read_number(kind, position, end, is_5)
        return position
    if kind == CLOCK:
        index = 0
        while index < 3:
            if position >= end:
                return REFUSED
            position += 1
            if load_signed_byte(position - 1) < 0:
                return position
            index += 1
        _, position = kryo_varint(position, end)
        return position
    if kind == COUNTED or kind == SCALED or kind == WORDS:
        count, position = kryo_varint(position, end)
        if kind == WORDS:
            count = 8 * count
        elif count == 0:
            return position
        else:
            count -= 1
        if position < 0 or count > end - position:
            return REFUSED
        position += count
        if kind == SCALED:
            _, position = kryo_varint(position, end)
        return position
    if position >= end:
        return REFUSED
    first = load_byte(position)
    if kind == NEW:
        store_long(graph + _OBJECTS, load_native_long(graph + _OBJECTS) + 1)
        return position + 1 if first == 1 else REFUSED
    if kind == FLAG:
        return position + 1 if first <= 1 else REFUSED
    if kind != TEXT:
        size = 1
        if kind == OFFSET:
            size = 5 if first == _OFFSET_OF_ANY_SECONDS else 1
        elif first:
            size = 5 if kind == OPTIONAL_INT else 9
        return position + size if end - position >= size else REFUSED
    if first < 0x80:
        while position < end:
            position += 1
            if load_byte(position - 1) >= 0x80:
                return position
        return REFUSED
    _, count, position = flagged(position, end)
    if position < 0 or count > end - position + 1:
        return REFUSED
    while count > 1:
        count -= 1
        first = load_byte(position) if position < end else 0xFF
        size = 1 if first < 0x80 else 2 if first >> 5 == 0b110 else 3
        if size == 3 and first >> 4 != 0b1110:
            return REFUSED
        position += size
    return position if position <= end else REFUSED
