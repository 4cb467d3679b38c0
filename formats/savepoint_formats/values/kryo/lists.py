"""Arrays, and collections of adjacent elements, in both versions of Kryo.

The declared type of a field decides about its collection: elements of a final class have no class
in the bytes. Kryo 5.6 also knows the arguments of arguments, such as in ``List<List<String>>``, and
wildcards.

| collection                     | 2.24                       | 5.6                                   |
|--------------------------------|----------------------------|---------------------------------------|
| of a final class               | varint n, objects or nulls | flagged n + 1, flag 1 "has null";     |
|                                |                            | objects, or also nulls                |
| any other                      | varint n, n objects        | flagged n + 1 (0 null), elements      |
| elements, flag 1: one class    | -                          | class (0: all null), byte "has null", |
|                                |                            | objects without class                 |
| elements, flag 0               | -                          | objects                               |
| TreeSet, PriorityQueue         | comparator, then as above  | comparator behind the number          |

2.24 writes a PriorityQueue as if nothing were declared. The lists of ``List.of`` admit no null, so
5.6 leaves out the byte "has null".

| array                  | bytes of both versions               |
|------------------------|--------------------------------------|
| array of primitives    | varint n + 1 (0 null), values        |
| array of a final class | varint n + 1, objects without class  |
| other array            | varint n + 1, objects                |

For the lists in a ``List<String>[]``, 2.24 uses the arguments that the field declares, 5.6 does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.body import PRIMITIVES, Body
from savepoint_formats.values.kryo.classes import CODES
from savepoint_formats.values.kryo.objects import detail_of

if TYPE_CHECKING:
    from savepoint_formats.layout import TypeArgument
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import Arguments, KryoGraph
    from savepoint_formats.values.kryo.known_classes import KnownClasses
    from savepoint_formats.values.kryo.writer import KryoWriter


MAX_NULLS = 1 << 20


def read_objects(count: int, graph: KryoGraph, arguments: Arguments = ()) -> list[Value]:
    """Objects of any class."""
    read, values = graph.read_class_and_object, []
    for _ in range(count):
        values.append(read(arguments))  # a comprehension would be another call at each depth
    return values


def write_objects(values: list[Value], writer: KryoWriter, arguments: Arguments = ()) -> None:
    """The mirror of ``read_objects``."""
    for value in values:
        writer.write_class_and_object(value, arguments)


def final_class(argument: TypeArgument, classes: KnownClasses) -> str | None:
    """The class of a type argument, if it is final and this version uses the argument."""
    if argument.wildcard and not classes.is_5:
        return None
    return argument.type if classes.is_final(argument.type) else None


def inner_arguments(argument: TypeArgument, classes: KnownClasses) -> Arguments:
    """The arguments of a type argument, if this version uses them."""
    return argument.arguments if classes.is_5 else ()


@dataclass(frozen=True, slots=True)
class ListForm:
    """How a collection's class is written.

    Attributes:
        is_sorted: Whether there is a comparator.
        admits_null: Whether an element may be null.
        is_declared: Whether 2.24 writes elements by the declared type.
    """

    is_sorted: bool = False
    admits_null: bool = True
    is_declared: bool = True

    @property
    def body(self) -> Body:
        """The body of such a class."""
        return Body(self._read, self._write)

    def _read(self, graph: KryoGraph) -> Value:
        final, inner = self._elements(graph)
        if not graph.is_5:
            comparator = graph.read_class_and_object() if self.is_sorted else None
            count = graph.read_count()
            values = read_objects(count, graph) if final is None else _read(final, count, graph)
            return graph.with_detail(comparator, values) if self.is_sorted else values
        flag, number = graph.input.read_flagged()
        if number == 0:
            return None
        comparator = graph.read_class_and_object() if self.is_sorted else None
        if number == 1:
            values = []
        elif final is not None:
            count = graph.input.check_count(number - 1)
            values = _read(final, count, graph, has_null=flag)
        elif flag:
            values = self._read_one_class(number - 1, graph, inner)
        else:
            values = read_objects(graph.input.check_count(number - 1), graph, inner)
        return graph.with_detail(comparator, values) if self.is_sorted else values

    def _write(self, value: Value, writer: KryoWriter) -> None:
        final, inner = self._elements(writer)
        comparator, values = detail_of(value)
        if not writer.is_5:
            if self.is_sorted:
                writer.write_class_and_object(comparator)
            writer.output.write_varint(len(values))
            if final is None:
                write_objects(values, writer)
            else:
                _write(final, values, writer)
            return
        if values is None:
            writer.output.write_flagged(0, flag=False)
            return
        has_null = None in values
        classes = {node.class_name for node in values if node is not None} if final is None else ()
        is_one_class = final is None and bool(values) and len(classes) <= 1
        writer.output.write_flagged(
            len(values) + 1, flag=is_one_class if final is None else has_null
        )
        if self.is_sorted:
            writer.write_class_and_object(comparator)
        if final is not None:
            _write(final, values, writer, has_null=has_null)
        elif is_one_class:
            self._write_one_class(values, next(iter(classes), None), writer, inner)
        else:
            write_objects(values, writer, inner)

    def _elements(self, stream: KryoGraph | KryoWriter) -> tuple[str | None, Arguments]:
        """The final class of the declared elements, if they have one, and their arguments."""
        if len(stream.arguments) != 1 or not (self.is_declared or stream.is_5):
            return None, ()
        (element,) = stream.arguments
        classes = stream.classes
        return final_class(element, classes), inner_arguments(element, classes)

    def _read_one_class(self, count: int, graph: KryoGraph, inner: Arguments) -> list[Value]:
        element = graph.read_class()
        if element is None:
            # Nulls take no bytes beyond their class, so the bytes are no limit.
            if count > MAX_NULLS:
                raise graph.view.error(f"a count of {count} nulls")
            return [None] * count
        has_null = self.admits_null and graph.view.read_bool()
        return _read(element, graph.input.check_count(count), graph, inner, has_null=has_null)

    def _write_one_class(
        self, values: list[Value], element: str | None, writer: KryoWriter, inner: Arguments
    ) -> None:
        writer.write_class(element)
        if element is None:
            return
        has_null = None in values
        if self.admits_null:
            writer.view.write_bool(has_null)
        _write(element, values, writer, inner, has_null=has_null)


def _read(
    element: str, count: int, graph: KryoGraph, inner: Arguments = (), *, has_null: bool = True
) -> list[Value]:
    """Objects of one class, without the class."""
    read, values = graph.read_object_or_null if has_null else graph.read_object, []
    for _ in range(count):
        values.append(read(element, inner))
    return values


def _write(
    element: str,
    values: list[Value],
    writer: KryoWriter,
    inner: Arguments = (),
    *,
    has_null: bool = True,
) -> None:
    write = writer.write_object_or_null if has_null else writer.write_object
    for value in values:
        write(element, value, inner)


_FIXED_CODES = {"S": "h", "C": "H", "F": "f", "D": "d"}


def array_body(class_name: str) -> Body:
    """The body of an array, such as ``[I``."""
    component = class_name[1:]
    return Body(partial(_read_array, component), partial(_write_array, component))


def _read_array(component: str, graph: KryoGraph) -> Value:
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


def _write_array(component: str, values: Value, writer: KryoWriter) -> None:
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
