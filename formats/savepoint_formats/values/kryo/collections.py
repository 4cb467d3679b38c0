"""Rows of collections and maps: a name in the list of those that lie in the same way, or a body.

| what                         | 2.24                              | 5.6                              |
|------------------------------|-----------------------------------|----------------------------------|
| Collections.emptyX           | nothing                           | same                             |
| Collections.singletonX       | one object; of a map, two         | same                             |
| Arrays$ArrayList             | varint n, component class, objects| as a collection                  |
| EnumSet                      | class, varint n, varint index + 1 | same                             |
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.body import Body, enum_body
from savepoint_formats.values.kryo.lists import ListForm, read_objects, write_objects
from savepoint_formats.values.kryo.maps import MapForm, read_pairs, write_pairs
from savepoint_formats.values.kryo.objects import detail_of
from savepoint_formats.values.kryo.row import ClassRow

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

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
    return Body(partial(read_objects, count), write_objects)


def _names(package: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{package}{name}" for name in names)


_COLLECTIONS = "java.util.Collections$"
_LISTS = (
    *_names("java.util.", "ArrayList", "LinkedList", "HashSet", "LinkedHashSet"),
    *_names("java.util.", "ArrayDeque", "Vector", "Stack"),
    *_names("java.util.concurrent.", "CopyOnWriteArrayList", "CopyOnWriteArraySet"),
    *_names("java.util.concurrent.", "ConcurrentLinkedQueue", "ConcurrentLinkedDeque"),
    *_names("java.util.concurrent.", "LinkedBlockingQueue", "LinkedBlockingDeque"),
    *_names(f"{_COLLECTIONS}Unmodifiable", "Collection", "List", "RandomAccessList"),
    *_names(f"{_COLLECTIONS}Unmodifiable", "Set", "SortedSet", "NavigableSet"),
    *_names(f"{_COLLECTIONS}Synchronized", "Collection", "List", "RandomAccessList"),
    *_names(f"{_COLLECTIONS}Synchronized", "Set", "SortedSet", "NavigableSet"),
)
_LISTS_WITHOUT_NULL = _names(_NEVER_NULL, "ListN", "List12", "SetN", "Set12", "SubList")
_MAPS = (
    *_names("java.util.", "HashMap", "LinkedHashMap", "Hashtable", "EnumMap"),
    *_names("java.util.", "IdentityHashMap", "WeakHashMap", "concurrent.ConcurrentHashMap"),
    *_names(f"{_COLLECTIONS}Unmodifiable", "Map", "SortedMap", "NavigableMap"),
    *_names(f"{_COLLECTIONS}Synchronized", "Map", "SortedMap", "NavigableMap"),
)
_MAPS_WITHOUT_NULL = _names(_NEVER_NULL, "MapN", "Map1")

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
EMPTY_COLLECTIONS = _names(f"{_COLLECTIONS}Empty", "List", "Set", "Map")
SINGLE_LISTS = _names(f"{_COLLECTIONS}Singleton", "List", "Set")
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
