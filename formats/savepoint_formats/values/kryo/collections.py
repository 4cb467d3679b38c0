"""Rows of collections and maps: a name in the list of those with the same form, or a body.

| class                        | 2.24                              | 5.6                              |
|------------------------------|-----------------------------------|----------------------------------|
| Collections.emptyX           | nothing                           | same                             |
| Collections.singletonX       | one object; of a map, two         | same                             |
| Arrays$ArrayList             | varint n, component class, objects| as a collection                  |
| EnumSet                      | class, varint n, varint index + 1 | same                             |
| map                          | varint n, n (key, value)          | varint n + 1 (0 null), pairs     |
| TreeMap                      | comparator, then as above         | comparator behind the number     |
| ConcurrentSkipListMap        | as any map                        | as TreeMap                       |

Keys and values of a class that is declared as final have no class in the bytes, and may be null; in
``Map.of`` they are never null.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.body import Body, enum_body
from savepoint_formats.values.kryo.classes import names_of
from savepoint_formats.values.kryo.lists import (
    ListForm,
    final_class,
    inner_arguments,
    read_objects,
    write_objects,
)
from savepoint_formats.values.kryo.objects import detail_of
from savepoint_formats.values.kryo.types import ClassRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.layout import TypeArgument
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

    Pairs = list[tuple[Value, Value]]


_KEY_AND_VALUE = 2


def read_pairs(count: int, graph: KryoGraph) -> Pairs:
    """Pairs of any classes."""
    return [(graph.read_class_and_object(), graph.read_class_and_object()) for _ in range(count)]


def write_pairs(pairs: Pairs, writer: KryoWriter) -> None:
    """The mirror of ``read_pairs``."""
    for key, value in pairs:
        writer.write_class_and_object(key)
        writer.write_class_and_object(value)


@dataclass(frozen=True, slots=True)
class MapForm:
    """How a map's class is written.

    Attributes:
        is_sorted_in_2: Whether 2.24 writes its comparator.
        is_sorted_in_5: Whether 5.6 writes its comparator.
        admits_null: Whether a key or a value may be null.
    """

    is_sorted_in_2: bool = False
    is_sorted_in_5: bool = False
    admits_null: bool = True

    @property
    def body(self) -> Body:
        """The body of such a class."""
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
        final = final_class(declared, graph.classes)
        if final is None:
            return partial(graph.read_class_and_object, inner_arguments(declared, graph.classes))
        never_null = graph.is_5 and not self.admits_null
        return partial(graph.read_object if never_null else graph.read_object_or_null, final)

    def _writer(self, declared: TypeArgument, writer: KryoWriter) -> Callable[[Value], None]:
        final = final_class(declared, writer.classes)
        if final is None:
            inner = inner_arguments(declared, writer.classes)
            return partial(writer.write_class_and_object, arguments=inner)
        never_null = writer.is_5 and not self.admits_null
        return partial(writer.write_object if never_null else writer.write_object_or_null, final)


_NEVER_NULL = "java.util.ImmutableCollections$"
_OBJECT = "java.lang.Object"

LIST = ListForm().body


def _read_arrays_list(graph: KryoGraph) -> Value:
    if graph.is_5:
        return LIST.read(graph)
    count = graph.read_count()
    component = graph.read_class()
    return graph.with_detail(component, read_objects(count, graph))


def _write_arrays_list(value: Value, writer: KryoWriter) -> None:
    component, values = detail_of(value)
    if writer.is_5:
        LIST.write(values, writer)
        return
    writer.output.write_varint(len(values))
    writer.write_class(component or _OBJECT)
    write_objects(values, writer)


def _read_enum_set(graph: KryoGraph) -> Value:
    element = graph.read_class() or ""
    enum_class = graph.classes.enum_class(element)
    if enum_class is None:
        raise graph.undecodable(f"a set of {element}, whose constants are not known")
    body = enum_body(enum_class)
    values = [body.read(graph) for _ in range(graph.read_count())]
    return graph.with_detail(element, values)


def _write_enum_set(value: Value, writer: KryoWriter) -> None:
    element, values = detail_of(value)
    enum_class = writer.classes.enum_class(element)
    if enum_class is None:
        raise ValueError(f"a set of {element}, whose constants are not known")
    writer.write_class(element)
    writer.output.write_varint(len(values))
    for constant in values:
        enum_body(enum_class).write(constant, writer)


def objects(count: int) -> Body:
    """Objects of a fixed number, each with its class."""
    return Body(partial(read_objects, count), write_objects, objects=count)


_UTIL = "java.util."
_CONCURRENT = f"{_UTIL}concurrent."
_COLLECTIONS = f"{_UTIL}Collections$"
_WRAPPED = ("Unmodifiable", "Synchronized", "Checked")
_SETS_AND_LISTS = ("Collection", "List", "RandomAccessList", "Set", "SortedSet", "NavigableSet")
_VIEWS = ("KeySet", "Values", "EntrySet")
_LISTS = (
    *names_of(_UTIL, "ArrayList", "LinkedList", "HashSet", "LinkedHashSet"),
    *names_of(_UTIL, "ArrayDeque", "Vector", "Stack", "ArrayList$SubList"),
    *names_of(f"{_UTIL}AbstractList$", "SubList", "RandomAccessSubList"),
    *names_of(_CONCURRENT, "CopyOnWriteArrayList", "CopyOnWriteArraySet"),
    *names_of(_CONCURRENT, "CopyOnWriteArrayList$COWSubList", "ConcurrentSkipListSet"),
    *names_of(_CONCURRENT, "ConcurrentLinkedQueue", "ConcurrentLinkedDeque", "ArrayBlockingQueue"),
    *names_of(_CONCURRENT, "LinkedBlockingQueue", "LinkedBlockingDeque", "LinkedTransferQueue"),
    *names_of(_CONCURRENT, "PriorityBlockingQueue"),
    *(f"{_COLLECTIONS}{wrapped}{kind}" for wrapped in _WRAPPED for kind in _SETS_AND_LISTS),
    *names_of(_COLLECTIONS, "CheckedQueue", "SetFromMap", "AsLIFOQueue", "CopiesList"),
    f"{_COLLECTIONS}UnmodifiableMap$UnmodifiableEntrySet",
    f"{_COLLECTIONS}UnmodifiableNavigableSet$EmptyNavigableSet",
    *names_of(f"{_UTIL}LinkedHashMap$Linked", *_VIEWS),
    *(
        f"{owner}${view}"
        for owner in (
            *names_of(_UTIL, "HashMap", "TreeMap", "IdentityHashMap", "WeakHashMap", "EnumMap"),
            f"{_CONCURRENT}ConcurrentSkipListMap",
        )
        for view in _VIEWS
    ),
    *names_of(f"{_CONCURRENT}ConcurrentHashMap$", "KeySetView", "ValuesView", "EntrySetView"),
)
_LISTS_WITHOUT_NULL = names_of(_NEVER_NULL, "ListN", "List12", "SetN", "Set12", "SubList")
_MAPS = (
    *names_of(_UTIL, "HashMap", "LinkedHashMap", "Hashtable", "Properties", "EnumMap"),
    *names_of(_UTIL, "IdentityHashMap", "WeakHashMap", "concurrent.ConcurrentHashMap"),
    *(
        f"{_COLLECTIONS}{wrapped}{kind}"
        for wrapped in _WRAPPED
        for kind in ("Map", "SortedMap", "NavigableMap")
    ),
    f"{_COLLECTIONS}UnmodifiableNavigableMap$EmptyNavigableMap",
    *names_of(f"{_UTIL}TreeMap$", "AscendingSubMap", "DescendingSubMap"),
)
_MAPS_WITHOUT_NULL = names_of(_NEVER_NULL, "MapN", "Map1")

LIST_FORMS: dict[str, ListForm] = {
    **dict.fromkeys(_LISTS, ListForm()),
    **dict.fromkeys(_LISTS_WITHOUT_NULL, ListForm(admits_null=False)),
    "java.util.TreeSet": ListForm(is_sorted=True),
    "java.util.PriorityQueue": ListForm(is_sorted=True, is_declared=False),
}
MAP_FORMS: dict[str, MapForm] = {
    **dict.fromkeys(_MAPS, MapForm()),
    **dict.fromkeys(_MAPS_WITHOUT_NULL, MapForm(admits_null=False)),
    "java.util.TreeMap": MapForm(is_sorted_in_2=True, is_sorted_in_5=True),
    "java.util.concurrent.ConcurrentSkipListMap": MapForm(is_sorted_in_5=True),
}
EMPTY_COLLECTIONS = names_of(f"{_COLLECTIONS}Empty", "List", "Set", "Map")
SINGLE_LISTS = names_of(f"{_COLLECTIONS}Singleton", "List", "Set")
SINGLE_ENTRIES = (f"{_COLLECTIONS}SingletonMap",)

_BODIES: dict[str, Body] = {
    **{name: form.body for name, form in LIST_FORMS.items()},
    **{name: form.body for name, form in MAP_FORMS.items()},
    "java.util.Arrays$ArrayList": Body(_read_arrays_list, _write_arrays_list),
    **dict.fromkeys(EMPTY_COLLECTIONS, objects(0)),
    **dict.fromkeys(SINGLE_LISTS, objects(1)),
    **dict.fromkeys(SINGLE_ENTRIES, Body(partial(read_pairs, 1), write_pairs)),
    "java.util.RegularEnumSet": Body(_read_enum_set, _write_enum_set),
    "java.util.JumboEnumSet": Body(_read_enum_set, _write_enum_set),
}

COLLECTIONS = {name: ClassRow((body, body)) for name, body in _BODIES.items()}
