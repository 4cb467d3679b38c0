"""Collections of elements one behind the other, in both versions of Kryo.

What a field is declared as decides what is in a collection: elements of a final class lie without it.
Kryo 5.6 knows the arguments of arguments, too, as those of ``List<List<String>>``, and wildcards.

| what                           | 2.24                       | 5.6                                   |
|--------------------------------|----------------------------|---------------------------------------|
| of a final class               | varint n, objects or nulls | flagged n + 1, flag 1 "has null";     |
|                                |                            | objects, or also nulls                |
| any other                      | varint n, n objects        | flagged n + 1 (0 null), elements      |
| elements, flag 1: one class    | -                          | class (0: all null), byte "has null", |
|                                |                            | objects without class                 |
| elements, flag 0               | -                          | objects                               |
| TreeSet, PriorityQueue         | comparator, then as above  | comparator behind the number          |

2.24 takes a PriorityQueue as of any class. The lists of ``List.of`` admit no null, so that 5.6 leaves
the byte "has null" out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.body import Body
from savepoint_formats.values.kryo.objects import detail_of

if TYPE_CHECKING:
    from savepoint_formats.layout import TypeArgument
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import Arguments, KryoGraph
    from savepoint_formats.values.kryo.known_classes import KnownClasses
    from savepoint_formats.values.kryo.writer import KryoWriter

MAX_NULLS = 1 << 20


def read_objects(count: int, graph: KryoGraph, arguments: Arguments = ()) -> list[Value]:
    """So many objects, each with its class."""
    read, values = graph.read_class_and_object, []
    for _ in range(count):
        values.append(read(arguments))  # a comprehension is one more frame at each depth
    return values


def write_objects(values: list[Value], writer: KryoWriter, arguments: Arguments = ()) -> None:
    """Objects, each with its class."""
    for value in values:
        writer.write_class_and_object(value, arguments)


def final_class(argument: TypeArgument, classes: KnownClasses) -> str | None:
    """The class that a type argument stands for, if it is final and this Kryo knows of it."""
    if argument.wildcard and not classes.is_5:
        return None
    return argument.type if classes.is_final(argument.type) else None


def inner_arguments(argument: TypeArgument, classes: KnownClasses) -> Arguments:
    """What this Kryo knows of what is in the objects that a type argument stands for."""
    return argument.arguments if classes.is_5 else ()


@dataclass(frozen=True, slots=True)
class ListForm:
    """How a collection's class is written.

    Attributes:
        is_sorted: Whether there is a comparator.
        admits_null: Whether an element may be null.
        is_declared: Whether 2.24 takes its elements as they are declared.
    """

    is_sorted: bool = False
    admits_null: bool = True
    is_declared: bool = True

    @property
    def body(self) -> Body:
        """Both ways."""
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
        """The final class of the elements, if they are declared as one; what is in them."""
        if len(stream.arguments) != 1 or not (self.is_declared or stream.is_5):
            return None, ()
        (element,) = stream.arguments
        classes = stream.classes
        return final_class(element, classes), inner_arguments(element, classes)

    def _read_one_class(self, count: int, graph: KryoGraph, inner: Arguments) -> list[Value]:
        element = graph.read_class()
        if element is None:
            # Nulls take no bytes beyond their class, so that bytes do not bound them.
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
    """Objects of one class, without it."""
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
