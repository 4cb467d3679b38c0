"""Maps, in both versions of Kryo.

| what                     | 2.24                               | 5.6                            |
|--------------------------|------------------------------------|--------------------------------|
| map                      | varint n, n (key, value)           | varint n + 1 (0 null), pairs   |
| TreeMap                  | comparator, then as above          | comparator behind the number   |
| ConcurrentSkipListMap    | as any map                         | as TreeMap                     |
| keys or values that are  | without class, or null             | same; those of ``Map.of`` are  |
| declared as final        |                                    | never null                     |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.body import Body
from savepoint_formats.values.kryo.lists import final_class, inner_arguments
from savepoint_formats.values.kryo.objects import detail_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.layout import TypeArgument
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

    Pairs = list[tuple[Value, Value]]

_KEY_AND_VALUE = 2


def read_pairs(count: int, graph: KryoGraph) -> Pairs:
    """So many keys and values, each with its class."""
    return [(graph.read_class_and_object(), graph.read_class_and_object()) for _ in range(count)]


def write_pairs(pairs: Pairs, writer: KryoWriter) -> None:
    """Keys and values, each with its class."""
    for key, value in pairs:
        writer.write_class_and_object(key)
        writer.write_class_and_object(value)


@dataclass(frozen=True, slots=True)
class MapForm:
    """How a map's class is written.

    Attributes:
        is_sorted_in_2: Whether 2.24 writes its comparator.
        is_sorted_in_5: Whether 5.6 does.
        admits_null: Whether a key or a value may be null.
    """

    is_sorted_in_2: bool = False
    is_sorted_in_5: bool = False
    admits_null: bool = True

    @property
    def body(self) -> Body:
        """Both ways."""
        return Body(self._read, self._write)

    def _read(self, graph: KryoGraph) -> Value:
        arguments, comparator = graph.arguments, None
        if self.is_sorted_in_2 and not graph.is_5:
            comparator = graph.read_class_and_object()
        count = graph.input.read_count() if graph.is_5 else graph.read_count()
        if count is None:
            return None
        if self.is_sorted_in_5 and graph.is_5:
            comparator = graph.read_class_and_object()
        if len(arguments) == _KEY_AND_VALUE:
            key, value = (self._reader(argument, graph) for argument in arguments)
            pairs = [(key(), value()) for _ in range(count)]
        else:
            pairs = read_pairs(count, graph)
        return graph.with_detail(comparator, pairs) if self._is_sorted(graph) else pairs

    def _write(self, value: Value, writer: KryoWriter) -> None:
        arguments = writer.arguments
        comparator, pairs = detail_of(value)
        if self.is_sorted_in_2 and not writer.is_5:
            writer.write_class_and_object(comparator)
        null = 0 if pairs is None else 1
        writer.output.write_varint(len(pairs or ()) + (null if writer.is_5 else 0))
        if pairs is None:
            return
        if self.is_sorted_in_5 and writer.is_5:
            writer.write_class_and_object(comparator)
        if len(arguments) == _KEY_AND_VALUE:
            write_key, write_value = (self._writer(argument, writer) for argument in arguments)
            for key, item in pairs:
                write_key(key)
                write_value(item)
        else:
            write_pairs(pairs, writer)

    def _is_sorted(self, graph: KryoGraph) -> bool:
        return self.is_sorted_in_5 if graph.is_5 else self.is_sorted_in_2

    def _reader(self, declared: TypeArgument, graph: KryoGraph) -> Callable[[], Value]:
        """How the next key, or the next value, is read."""
        final = final_class(declared, graph.classes)
        if final is None:
            return partial(graph.read_class_and_object, inner_arguments(declared, graph.classes))
        never_null = graph.is_5 and not self.admits_null
        return partial(graph.read_object if never_null else graph.read_object_or_null, final)

    def _writer(self, declared: TypeArgument, writer: KryoWriter) -> Callable[[Value], None]:
        """How a key, or a value, is written."""
        final, inner = (
            final_class(declared, writer.classes),
            inner_arguments(declared, writer.classes),
        )
        if final is None:
            return partial(writer.write_class_and_object, arguments=inner)
        never_null = writer.is_5 and not self.admits_null
        return partial(writer.write_object if never_null else writer.write_object_or_null, final)
