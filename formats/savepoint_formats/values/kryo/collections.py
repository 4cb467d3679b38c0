"""Collections and maps in Kryo, by class: those of ``lists`` and ``maps``, and others.

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

from savepoint_formats.values.kryo.bodies import read_enum, write_enum
from savepoint_formats.values.kryo.body import Body
from savepoint_formats.values.kryo.lists import ListForm, read_objects, write_objects
from savepoint_formats.values.kryo.maps import MapForm, read_pairs, write_pairs
from savepoint_formats.values.kryo.objects import detail_of

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
    values = [read_enum(enum_class, graph) for _ in range(graph.read_count())]
    return graph.with_detail(element, values)


def _write_enum_set(value: Value, writer: KryoWriter) -> None:
    element, values = detail_of(value)
    enum_class = writer.classes.enum_class(element)
    if enum_class is None:
        raise ValueError(f"a set of {element}, whose constants are not known")
    writer.write_class(element)
    writer.output.write_varint(len(values))
    for constant in values:
        write_enum(enum_class, constant, writer)


def objects(count: int) -> Body:
    """So many objects, without their number."""
    return Body(partial(read_objects, count), write_objects)


_SINGLE_ENTRY = Body(partial(read_pairs, 1), write_pairs)
_ENUM_SET = Body(_read_enum_set, _write_enum_set)

_VIEWS = ("Unmodifiable", "Synchronized")
_LISTS = (
    *(
        f"java.util.{name}"
        for name in (
            "ArrayList",
            "LinkedList",
            "HashSet",
            "LinkedHashSet",
            "ArrayDeque",
            "Vector",
            "Stack",
        )
    ),
    *(
        f"java.util.concurrent.{name}"
        for name in (
            "CopyOnWriteArrayList",
            "CopyOnWriteArraySet",
            "ConcurrentLinkedQueue",
            "ConcurrentLinkedDeque",
            "LinkedBlockingQueue",
            "LinkedBlockingDeque",
        )
    ),
    *(
        f"java.util.Collections${view}{name}"
        for view in _VIEWS
        for name in ("Collection", "List", "RandomAccessList", "Set", "SortedSet", "NavigableSet")
    ),
)
_LISTS_WITHOUT_NULL = tuple(
    f"{_NEVER_NULL}{name}" for name in ("ListN", "List12", "SetN", "Set12", "SubList")
)
_MAPS = (
    *(
        f"java.util.{name}"
        for name in (
            "HashMap",
            "LinkedHashMap",
            "Hashtable",
            "EnumMap",
            "IdentityHashMap",
            "WeakHashMap",
            "concurrent.ConcurrentHashMap",
        )
    ),
    *(
        f"java.util.Collections${view}{name}"
        for view in _VIEWS
        for name in ("Map", "SortedMap", "NavigableMap")
    ),
)
_MAPS_WITHOUT_NULL = (f"{_NEVER_NULL}MapN", f"{_NEVER_NULL}Map1")


LIST_FORMS: dict[str, ListForm] = {
    **dict.fromkeys(_LISTS, ListForm()),
    **dict.fromkeys(_LISTS_WITHOUT_NULL, ListForm(admits_null=False)),
    "java.util.TreeSet": ListForm(is_sorted=True),
    "java.util.PriorityQueue": ListForm(is_sorted=True, is_declared=False),
}
"""How collections are written, by class."""

MAP_FORMS: dict[str, MapForm] = {
    **dict.fromkeys(_MAPS, MapForm()),
    **dict.fromkeys(_MAPS_WITHOUT_NULL, MapForm(admits_null=False)),
    "java.util.TreeMap": MapForm(is_sorted_in_2=True, is_sorted_in_5=True),
    "java.util.concurrent.ConcurrentSkipListMap": MapForm(is_sorted_in_5=True),
}
"""How maps are written, by class."""

EMPTY_COLLECTIONS = tuple(f"java.util.Collections$Empty{kind}" for kind in ("List", "Set", "Map"))
SINGLE_LISTS = ("java.util.Collections$SingletonList", "java.util.Collections$SingletonSet")
SINGLE_ENTRIES = ("java.util.Collections$SingletonMap",)

COLLECTIONS: dict[str, Body] = {
    **{name: form.body for name, form in LIST_FORMS.items()},
    **{name: form.body for name, form in MAP_FORMS.items()},
    "java.util.Arrays$ArrayList": Body(_read_arrays_list, _write_arrays_list),
    **dict.fromkeys(EMPTY_COLLECTIONS, objects(0)),
    **dict.fromkeys(SINGLE_LISTS, objects(1)),
    **dict.fromkeys(SINGLE_ENTRIES, _SINGLE_ENTRY),
    "java.util.RegularEnumSet": _ENUM_SET,
    "java.util.JumboEnumSet": _ENUM_SET,
}
"""The bodies by class."""
