"""Arrays in Kryo, of both versions.

| what                   | bytes                                |
|------------------------|--------------------------------------|
| array of primitives    | varint n + 1 (0 null), values        |
| array of a final class | varint n + 1, objects without class  |
| other array            | varint n + 1, objects                |

2.24 takes what is declared of the lists in a ``List<String>[]`` from the field, 5.6 does not.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.body import PRIMITIVES, Body
from savepoint_formats.values.kryo.classes import CODES
from savepoint_formats.values.kryo.lists import read_objects, write_objects

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

_FIXED_CODES = {"S": "h", "C": "H", "F": "f", "D": "d"}


def array_body(class_name: str) -> Body:
    """The body of an array's class: ``[I``."""
    component = class_name[1:]
    return Body(partial(_read, component), partial(_write, component))


def _read(component: str, graph: KryoGraph) -> Value:
    count = graph.input.read_count()
    if count is None:
        return None
    if component == "B":
        return graph.view.read_bytes(count)
    if component in _FIXED_CODES:
        values = graph.input.read_fixed_array(_FIXED_CODES[component], count)
        return [chr(int(value)) for value in values] if component == "C" else values
    if component in CODES:
        read = PRIMITIVES[CODES[component]].read
        return [read(graph) for _ in range(count)]
    element = _class_of(component)
    if graph.classes.is_final(element):
        return [graph.read_object_or_null(element) for _ in range(count)]
    return read_objects(count, graph, () if graph.is_5 else graph.arguments)


def _write(component: str, values: Value, writer: KryoWriter) -> None:
    writer.output.write_varint(0 if values is None else len(values) + 1)
    if values is None:
        return
    if component == "B":
        writer.view.write_bytes(values)
        return
    if component in CODES:
        for value in values:
            PRIMITIVES[CODES[component]].write(value, writer)
        return
    element = _class_of(component)
    if not writer.classes.is_final(element):
        write_objects(values, writer, () if writer.is_5 else writer.arguments)
        return
    for value in values:
        writer.write_object_or_null(element, value)


def _class_of(component: str) -> str:
    return component[1:-1] if component.startswith("L") else component
