# ruff: noqa: PLR0913, PLR0917, PLR1714 - plain comparisons and numbers are compiled best
"""Walks over object graphs of Kryo whose classes are in a table: passes over them, or writes JSON.

A class of the table says what is in its objects:

| kind     | first                         | second              | its objects are                         |
|----------|-------------------------------|---------------------|-----------------------------------------|
| UNKNOWN  |                               |                     | of fields that nobody has described     |
| GENERAL  |                               |                     | for the general path                    |
| NUMBERS  | where its parts begin         | how many            | numbers and texts, one behind the other |
| ENUM     | how many constants            |                     | one of them                             |
| LISTED   | a form of ``kryo_objects``    |                     | elements                                |
| MAPPED   | a form of ``kryo_objects``    |                     | keys and values                         |
| OBJECTS_OF | how many                    | 1 if a map          | objects                                 |
| PRIMITIVES | the part that each is       |                     | a count and parts                       |
| FIELDS   | where its fields begin        | how many            | fields                                  |

Its last number is a text: of numbers what is behind them, of fields what is in front of them, of an enum
the first constant. A text is an address and a size.

A part is its kind and the text in front of it. A field is three numbers: a part and 0; or -1 and the
arguments of its type; or -2 minus the number of its class, if that is final; and the text in front of
it. Arguments are five numbers: their count, and for each its class if that is final, else -1, and its
own arguments.

An entry of the stack has the number of values to come, -1 for null; their lead, class and arguments;
the next field, -1 in a map; what closes it; the object that it is, and whether a value was in it.
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import load_byte, load_native_long, store_long
from savepoint_formats.program.kernel.kryo.graph_json import json_of_part
from savepoint_formats.program.kernel.kryo.json_output import (
    CLOSE_LIST,
    CLOSE_MAP,
    CLOSE_NOTHING,
    CLOSE_OBJECT,
    CLOSING_LIST,
    COMMA,
    OPEN_LIST,
    put,
    put_close,
    put_lead,
    put_null,
    put_reference,
    put_text,
    room_left,
)
from savepoint_formats.program.kernel.kryo.kryo_numbers import kryo_varint
from savepoint_formats.program.kernel.kryo.kryo_objects import (
    ARRAY,
    BY_CLASS,
    CASE,
    CLASS_SIZE,
    CLASSED_LIST,
    FINAL,
    FOUND,
    FRAME_SIZE,
    LEAD,
    LIST,
    MOST_OBJECTS,
    NEVER_NULL,
    OBJECT_SIZE,
    OBJECT_TABLE,
    OBJECTS,
    OR_NULL,
    OUT,
    SHOWN,
    STACK,
    TRACKED,
    WITHOUT_NULL,
    any_class,
    is_stream,
    number_object,
    read_count,
)
from savepoint_formats.program.kernel.status import FULL, REFUSED

UNKNOWN, GENERAL, NUMBERS, ENUM, LISTED, MAPPED, OBJECTS_OF, PRIMITIVES, FIELDS = range(9)

_FIELD_SIZE, _PART_SIZE, _ARGUMENTS_SIZE = 24, 16, 40
_OPEN = -1
_OFFSET_OF_ANY_SECONDS = 127
_KEY_AND_VALUE = 2


@part
def _push(
    frame: int, count: int, lead: int, number: int, arguments: int, field: int, close: int
) -> None:
    store_long(frame, count)
    store_long(frame + 8, lead)
    store_long(frame + 16, number)
    store_long(frame + 24, arguments)
    store_long(frame + 32, field)
    store_long(frame + 40, close)
    store_long(frame + 48, 0)
    store_long(frame + 56, 0)


@part
def walk_graph(  # noqa: PLR0912, PLR0915 - a case per kind
    graph: int, table: int, lead: int, number: int, position: int, end: int, is_5: int, depth: int
) -> int:
    """Writes an object as JSON; returns where the next value is, or REFUSED or FULL.

    ``lead`` is what leads it, ``number`` its class if the lead does not tell. At most ``depth``
    objects may be in each other.
    """
    classes, fields = load_native_long(table), load_native_long(table + 24)
    bottom = graph + STACK
    top = bottom
    _push(top, 1, lead, number, 0, 0, CLOSE_NOTHING)
    while position >= 0:
        left = load_native_long(top)
        if room_left(graph) < 0:
            return FULL
        if left <= 0:
            if top == bottom:
                return position
            put_close(graph, top, left)
            top -= FRAME_SIZE
            continue
        store_long(top, left - 1)
        lead = load_native_long(top + 8)
        number = load_native_long(top + 16)
        arguments = load_native_long(top + 24)
        field = load_native_long(top + 32)
        put_lead(graph, top, left)
        if field:
            # Each field has a type of its own. In maps, keys and values take turns.
            if field > 0:
                store_long(top + 32, field + _FIELD_SIZE)
                lead, number, arguments = BY_CLASS, _OPEN, load_native_long(field + 8)
                kind = load_native_long(field)
                put_text(graph, table, load_native_long(field + 16))
                if kind >= 0:
                    position = json_of_part(kind, graph, position, end, is_5)
                    continue
                if kind < _OPEN:
                    lead, number = OR_NULL, -2 - kind
            else:
                pair = load_native_long(table + 32) + _ARGUMENTS_SIZE * arguments
                at = pair + (8 if left % _KEY_AND_VALUE == 0 else 24)
                number, arguments = load_native_long(at), load_native_long(at + 8)
                lead = BY_CLASS if number < 0 else lead
        if lead == BY_CLASS:
            number, position = any_class(graph, table, position, end)
            if position < 0:
                return REFUSED
            if number < 0:
                put_null(graph)
                continue
        entry = classes + CLASS_SIZE * number
        flags = load_native_long(entry + 24)
        is_tracked = flags & TRACKED
        marker = 1
        if is_tracked or lead == OR_NULL:
            marker, position = kryo_varint(position, end)
            if position < 0 or (marker == 0 and lead != OR_NULL):
                return REFUSED
            # An object that is never referred to has a flag in place of a number.
            if marker > 1 and not is_tracked:
                return REFUSED
        if marker == 0:
            put_null(graph)
            continue
        behind = numbered = 0
        if is_tracked:
            objects = load_native_long(graph + OBJECTS)
            if marker > 1:
                if marker - 2 >= objects:
                    return REFUSED
                if marker - 2 >= MOST_OBJECTS:
                    return REFUSED
                again = graph + OBJECT_TABLE + OBJECT_SIZE * (marker - 2)
                if load_native_long(again + 16):
                    put_reference(graph, again, marker - 2)
                    continue
                # A single value that was not written as JSON is read again.
                number, behind = load_native_long(again), position
                entry = classes + CLASS_SIZE * number
                flags = load_native_long(entry + 24)
                position = load_native_long(again + 8)
                kind = load_native_long(entry + 32)
                if number < 0 or (kind != NUMBERS and kind != ENUM):
                    return REFUSED
            else:
                number_object(graph, number, position)
                if objects < MOST_OBJECTS:
                    numbered = graph + OBJECT_TABLE + OBJECT_SIZE * objects
                    store_long(numbered + 16, load_native_long(graph + OUT))
                    store_long(numbered + 24, 0)
        kind = load_native_long(entry + 32)
        first = load_native_long(entry + 40)
        second = load_native_long(entry + 48)
        text = load_native_long(entry + 56)
        if top >= bottom + FRAME_SIZE * depth or kind == GENERAL:
            return REFUSED
        if kind == UNKNOWN:
            if not is_stream(position, end):
                store_long(graph + FOUND, number)
            return REFUSED
        if not flags & SHOWN:
            return REFUSED
        is_frame = False
        if kind == NUMBERS:
            place = load_native_long(table + 16) + _PART_SIZE * first
            last = place + _PART_SIZE * second
            while place < last and position >= 0:
                put_text(graph, table, load_native_long(place + 8))
                position = json_of_part(load_native_long(place), graph, position, end, is_5)
                place += _PART_SIZE
            put_text(graph, table, text)
        elif kind == ENUM:
            constant, position = kryo_varint(position, end)
            if constant > first:
                return REFUSED
            if constant and position >= 0:
                put_text(graph, table, text + constant - 1)
            else:
                put_null(graph)
        elif kind == PRIMITIVES:
            count, position = kryo_varint(position, end)
            if count == 0:
                put_null(graph)
            else:
                put(graph, OPEN_LIST, 1)
            left = count
            while count > 1 and position >= 0:
                if count < left:
                    put(graph, COMMA, 2)
                position = json_of_part(first, graph, position, end, is_5)
                count -= 1
            if left:
                put(graph, CLOSING_LIST, 1)
        else:
            is_frame = True
            top += FRAME_SIZE
            if kind == OBJECTS_OF:
                _push(top, first, BY_CLASS, _OPEN, 0, 0, CLOSE_LIST + second)
            elif kind == FIELDS:
                _push(top, second, BY_CLASS, _OPEN, 0, fields + _FIELD_SIZE * first, CLOSE_OBJECT)
                put_text(graph, table, text)
            else:
                position = skip_head(
                    graph, table, top, first, second, arguments, kind == MAPPED, position, end, is_5
                )
            store_long(top + 48, numbered)
            if kind != FIELDS and load_native_long(top) >= 0:
                put(graph, OPEN_LIST, 1)
        if numbered and not is_frame:
            store_long(numbered + 24, load_native_long(graph + OUT))
        if behind and position >= 0:
            position = behind
    return position


@part
def skip_head(
    graph: int,
    table: int,
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
    pair = load_native_long(table + 32) + _ARGUMENTS_SIZE * arguments
    counted = load_native_long(pair)
    number, inner = _OPEN, 0
    if kind == ARRAY:
        number = component
        inner = 0 if is_5 else arguments
    elif not is_map and counted == 1 and (is_5 or not form & FINAL):
        number, inner = load_native_long(pair + 8), load_native_long(pair + 16)
    lead = BY_CLASS if number < 0 else OR_NULL
    count, flag, position = read_count(form, position, end, is_5)
    if position < 0:
        return REFUSED
    if kind == CLASSED_LIST:
        _, position = any_class(graph, table, position, end)
        number, inner, lead = _OPEN, 0, BY_CLASS
    elif is_map:
        lead = NEVER_NULL if is_5 and form & WITHOUT_NULL else OR_NULL
        arguments = arguments if counted == _KEY_AND_VALUE else 0
        if count > 0:
            count *= _KEY_AND_VALUE
        _push(frame, count, lead, _OPEN, arguments, -1, CLOSE_MAP)
        return position
    elif kind == LIST and is_5 and count > 0:
        if number >= 0:
            lead = OR_NULL if flag else NEVER_NULL
        elif flag:
            number, position = any_class(graph, table, position, end)
            if number < 0 or position < 0 or position >= end:
                return REFUSED
            lead = NEVER_NULL
            if not form & WITHOUT_NULL:
                lead = OR_NULL if load_byte(position) else NEVER_NULL
                position += 1
    _push(frame, count, lead, number, inner, 0, CLOSE_LIST)
    return position


@part
def lead_of_element(kept: int, number: int) -> tuple[int, int]:
    """Lead and class of an element; ``kept`` are the registers of its list."""
    lead, of_all = load_native_long(kept + LEAD), load_native_long(kept + CASE)
    return lead, (of_all - 1 if of_all else number)
