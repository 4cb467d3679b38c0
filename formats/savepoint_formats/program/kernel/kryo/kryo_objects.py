# ruff: noqa: PLR0913, PLR0917 - the kernel has no objects that would hold its arguments
"""Objects of Kryo: the bytes in front of their bodies, and the number of elements.

The memory of a graph begins with these numbers and ends with three tables:

| i64               | what                                                                       |
|-------------------|----------------------------------------------------------------------------|
| names, objects    | number of classes that came by name, and of objects that came              |
| behind            | position behind an object that is read again; 0 if none is                 |
| parts             | eight numbers that a value is made of                                      |
| scratch           | 16 bytes for dates                                                         |
| found             | the class that ended a graph: its number, or -2 - size of its name; and    |
|                   | where the name is                                                          |
| out, limit        | where JSON goes on, and where it has no more room                          |
| start             | where the graph begins                                                     |
| powers            | the table of ``json_numbers``                                              |
| table, is 5       | the graph's classes, and whether Kryo 5 wrote it                           |
| of each name      | its class                                                                  |
| of each object    | its class, where its body is, where its JSON begins and ends; 0 if it has  |
|                   | none                                                                       |
| stack             | that of ``any_graphs``                                                     |

An object that occurs again is read again at its first body. So only single values and objects shown
as JSON may occur again. The classes of a layout are a table; each is eight numbers:

| i64    | what                                                                                  |
|--------|---------------------------------------------------------------------------------------|
| number | that the graph has in its place; -1 if it is written by its name                       |
| name   | where the bytes of its name lie                                                       |
| size   | how many they are                                                                     |
| kind   | ``TRACKED``, if its objects are numbered; ``SINGLE``, if they are single values;      |
|        | ``SHOWN``, if they have JSON                                                          |
| others | what is in its objects: see ``any_graphs``                                            |
"""

from __future__ import annotations

from savepoint_formats.program.kernel.code.machine_code import part
from savepoint_formats.program.kernel.code.memory import (
    load_byte,
    load_int,
    load_native_int,
    load_native_long,
    store_long,
)
from savepoint_formats.program.kernel.columns import set_valid
from savepoint_formats.program.kernel.key_lookup import are_equal
from savepoint_formats.program.kernel.kryo.kryo_numbers import flagged, kryo_varint, skip_text
from savepoint_formats.program.kernel.ops import OP_SIZE, Op
from savepoint_formats.program.kernel.status import REFUSED

CLASS_SIZE = 64
TRACKED, SINGLE, SHOWN = 1, 2, 4
TABLE_SIZE = 48
"""A table of classes is six numbers: the addresses of the classes, their count, and the addresses of
parts, fields, arguments and texts, which ``any_graphs`` needs."""

MOST_NAMES = 256
MOST_OBJECTS = 1 << 16
"""Only the first objects of a graph may come again, up to this number."""

OBJECTS, BEHIND, PARTS, SCRATCH, FOUND = 8, 16, 24, 88, 104
OUT, LIMIT, START, POWERS, TABLE, IS_5 = 120, 128, 136, 144, 152, 160
NAME_TABLE = 168
OBJECT_TABLE = NAME_TABLE + 8 * MOST_NAMES
OBJECT_SIZE = 32
STACK = OBJECT_TABLE + OBJECT_SIZE * MOST_OBJECTS
FRAME_SIZE, MOST_DEPTH = 64, 128
GRAPH_SIZE = STACK + FRAME_SIZE * (MOST_DEPTH + 1)

# Leads: the bytes in front of an object. To BY_LIST the number of its list's column is added.
BY_CLASS, OR_NULL, NEVER_NULL, BY_LIST = range(4)

# Forms: how elements are counted, and flags.
LIST, MAP, ARRAY, ONE, CLASSED_LIST = range(5)
FINAL, SORTED, WITHOUT_NULL = 8, 16, 32
_COUNTED = 7

LEAD, CASE = 16, 24
"""Registers of a list: the lead of its elements, and the CASE of their class."""

_UNKNOWN = -1
_STREAM_HEADER = -0x5312FFFB  # AC ED 00 05


@part
def begin_graph(graph: int, position: int, table: int, is_5: int) -> None:
    """Numbers classes and objects anew; ``table`` has the graph's classes."""
    store_long(graph, 0)
    store_long(graph + OBJECTS, 0)
    store_long(graph + BEHIND, 0)
    store_long(graph + FOUND, _UNKNOWN)
    store_long(graph + START, position)
    store_long(graph + TABLE, table)
    store_long(graph + IS_5, is_5)


@part
def read_object(
    graph: int,
    classes: int,
    kept: int,
    column: int,
    row: int,
    at: int,
    count: int,
    position: int,
    end: int,
) -> tuple[int, int]:
    """Reads the bytes in front of an object.

    ``kept`` are the registers of its list, if it is an element. ``at`` is the first CASE; ``count``
    more follow. Returns where the body is, or REFUSED, and the number of the next instruction.
    """
    form = load_native_int(at + 4)
    case = at + OP_SIZE
    if form >= BY_LIST:
        form = load_native_long(kept + LEAD)
        if form != BY_CLASS and load_native_long(kept + CASE):
            case = load_native_long(kept + CASE)
    if form == BY_CLASS:
        case, position = read_class(graph, classes, at, count, position, end)
        if case == 0:
            set_valid(column, row, False)
            return position, load_native_int(at + 8)
        if position < 0:
            return REFUSED, 0
    number = load_native_int(case + 4)
    is_tracked = load_native_long(classes + CLASS_SIZE * number + 24) & TRACKED
    marker = 1
    if is_tracked or form == OR_NULL:
        marker, position = kryo_varint(position, end)
        if position < 0 or (marker == 0 and form != OR_NULL):
            return REFUSED, 0
        # An object that is never referred to has a flag in place of a number.
        if not is_tracked and marker > 1:
            return REFUSED, 0
    set_valid(column, row, marker != 0)
    if marker == 0:
        return position, load_native_int(at + 8)
    if is_tracked:
        if marker == 1:
            number_object(graph, number, position)
        else:
            position = _again(graph, classes, number, marker - 2, position)
    return position, load_native_int(case + 8)


@part
def number_object(graph: int, number: int, position: int) -> None:
    """Remembers the class of the next object, and where its body lies."""
    objects = load_native_long(graph + OBJECTS)
    if objects < MOST_OBJECTS:
        entry = graph + OBJECT_TABLE + OBJECT_SIZE * objects
        store_long(entry, number)
        store_long(entry + 8, position)
        store_long(entry + 16, 0)
    store_long(graph + OBJECTS, objects + 1)


@part
def _again(graph: int, classes: int, number: int, index: int, position: int) -> int:
    """Where the body of an earlier object is, which must be a single value of the class."""
    is_single = load_native_long(classes + CLASS_SIZE * number + 24) & SINGLE
    if not is_single or index >= load_native_long(graph + OBJECTS) or index >= MOST_OBJECTS:
        return REFUSED
    entry = graph + OBJECT_TABLE + OBJECT_SIZE * index
    if load_native_long(entry) != number:
        return REFUSED
    store_long(graph + BEHIND, position)
    return load_native_long(entry + 8)


@part
def read_class(
    graph: int, classes: int, at: int, count: int, position: int, end: int
) -> tuple[int, int]:
    """The CASE of the next class, 0 if it is null; and where the object is, or REFUSED."""
    number, position = kryo_varint(position, end)
    if position < 0:
        return -1, REFUSED
    if number == 0:
        return 0, position
    known = _UNKNOWN
    names = load_native_long(graph)
    if number == 1:
        name, position = kryo_varint(position, end)
        if position < 0 or name > names:
            return -1, REFUSED
        if name == names:
            return _read_name(graph, classes, at, count, position, end)
        known = load_native_long(graph + NAME_TABLE + 8 * name)
    while count > 0:
        count -= 1
        at += OP_SIZE
        expected = load_native_int(at + 4)
        if expected == known or (
            number > 1 and load_native_long(classes + CLASS_SIZE * expected) == number
        ):
            return at, position
    return -1, REFUSED


@part
def _read_name(
    graph: int, classes: int, at: int, count: int, position: int, end: int
) -> tuple[int, int]:
    """The CASE of a class whose name comes for the first time."""
    names = load_native_long(graph)
    while count > 0:
        count -= 1
        at += OP_SIZE
        expected = load_native_int(at + 4)
        size = load_native_long(classes + CLASS_SIZE * expected + 16)
        name = load_native_long(classes + CLASS_SIZE * expected + 8)
        if size <= end - position and names < MOST_NAMES and are_equal(name, position, size):
            store_long(graph + NAME_TABLE + 8 * names, expected)
            store_long(graph, names + 1)
            return at, position + size
    return -1, REFUSED


@part
def read_list_start(
    graph: int, table: int, kept: int, at: int, ops: int, position: int, end: int, is_5: int
) -> tuple[int, int]:
    """The number of elements, -1 if there is no list; and where they are, or REFUSED.

    The lead of the elements goes into registers.
    """
    form = load_native_int(at + 4)
    kind = form & _COUNTED
    is_final = form & FINAL != 0
    lead = OR_NULL if is_final else BY_CLASS
    case = 0
    count, flag, position = read_count(form, position, end, is_5)
    if position < 0:
        return count, REFUSED
    if kind == CLASSED_LIST:
        inner = ops + OP_SIZE * load_native_int(at + 8)
        if load_native_int(inner) == Op.JSON:
            _, position = any_class(graph, table, position, end)
        else:
            position = _skip_class(graph, load_native_long(table), inner, position, end)
    elif kind == LIST and is_5 and count > 0:
        if is_final:
            lead = OR_NULL if flag else NEVER_NULL
        elif flag:
            inner = ops + OP_SIZE * load_native_int(at + 8)
            if load_native_int(inner) == Op.JSON:
                case, position = any_class(graph, table, position, end)
                case += 1
            else:
                case, position = _class_of_elements(graph, table, inner, position, end)
            lead = NEVER_NULL
            if case == 0 or position < 0 or position >= end:
                return count, REFUSED
            if not form & WITHOUT_NULL:
                lead = OR_NULL if load_byte(position) else NEVER_NULL
                position += 1
    elif kind == MAP and is_final and is_5 and form & WITHOUT_NULL:
        lead = NEVER_NULL
    store_long(kept + LEAD, lead)
    store_long(kept + CASE, case)
    return count, position


@part
def read_count(form: int, position: int, end: int, is_5: int) -> tuple[int, bool, int]:
    """The number of elements, -1 for null; Kryo 5's flag of lists; and where they are, or REFUSED."""
    kind = form & _COUNTED
    count = 1
    flag = False
    if form & SORTED and not is_5:
        position = skip_no_comparator(position, end)
    if position >= 0 and kind != ONE:
        if kind == LIST and is_5:
            flag, count, position = flagged(position, end)
        else:
            count, position = kryo_varint(position, end)
        if kind == ARRAY or (is_5 and kind != CLASSED_LIST):
            count -= 1
    if position >= 0 and count >= 0 and form & SORTED and is_5:
        position = skip_no_comparator(position, end)
    return count, flag, position if count <= end - position else REFUSED


@part
def _class_of_elements(
    graph: int, table: int, inner: int, position: int, end: int
) -> tuple[int, int]:
    """The CASE of the class of all elements, whose instruction is ``inner``."""
    count = load_native_int(inner + 8)
    return read_class(graph, load_native_long(table), inner + OP_SIZE, count, position, end)


@part
def skip_no_comparator(position: int, end: int) -> int:
    """Refuses a comparator, which is for the general path."""
    return position + 1 if position < end and load_byte(position) == 0 else REFUSED


@part
def _skip_class(graph: int, classes: int, inner: int, position: int, end: int) -> int:
    """Skips a class. If its name comes for the first time, it must be a class of elements."""
    number, behind = kryo_varint(position, end)
    if behind < 0 or number != 1:
        return behind
    name, behind = kryo_varint(behind, end)
    if behind >= 0 and name == load_native_long(graph):
        count = load_native_int(inner + 8)
        _, behind = _read_name(graph, classes, inner + OP_SIZE, count, behind, end)
    return behind if name <= load_native_long(graph) else REFUSED


@part
def any_class(graph: int, table: int, position: int, end: int) -> tuple[int, int]:
    """The number of the next class in the table, -1 if it is null; and where the object is."""
    classes, count = load_native_long(table), load_native_long(table + 8)
    token, position = kryo_varint(position, end)
    if position < 0 or token == 0:
        return _UNKNOWN, position
    if token != 1:
        for number in range(count):
            if load_native_long(classes + CLASS_SIZE * number) == token:
                return number, position
        return _UNKNOWN, REFUSED
    name, position = kryo_varint(position, end)
    names = load_native_long(graph)
    if position < 0 or name > names or names >= MOST_NAMES:
        return _UNKNOWN, REFUSED
    if name < names:
        return load_native_long(graph + NAME_TABLE + 8 * name), position
    start = position
    position = skip_text(position, end)
    size = position - start
    for number in range(count if position >= 0 else 0):
        entry = classes + CLASS_SIZE * number
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
    return _UNKNOWN, REFUSED


@part
def is_stream(position: int, end: int) -> bool:
    """Whether an object is Java's own, whose class the general path knows."""
    return end - position >= 4 and load_int(position) == _STREAM_HEADER
