"""Collections, maps and arrays in Kryo.

| what                         | 2.24                              | 5.6                              |
|------------------------------|-----------------------------------|----------------------------------|
| collection                   | varint n, n objects               | flagged n + 1 (0 null), elements |
| TreeSet, PriorityQueue       | comparator, then as above         | comparator behind the number     |
| elements, flag 1: one class  | -                                 | class (0: all null), byte "has   |
|                              |                                   | null", objects without class     |
| elements, flag 0             | -                                 | objects                          |
| map                          | varint n, n (key, value)          | varint n + 1 (0 null), pairs     |
| TreeMap                      | comparator, then as above         | comparator behind the number     |
| Collections.emptyX           | nothing                           | same                             |
| Collections.singletonX       | one object; of a map, two         | same                             |
| Arrays$ArrayList             | varint n, component class, objects| as a collection                  |
| EnumSet                      | class, varint n, varint index + 1 | same                             |
| array of primitives          | varint n + 1 (0 null), values     | same                             |
| array of a final class       | varint n + 1, objects without class                                  |
| other array                  | varint n + 1, objects                                                |

The lists of ``List.of`` admit no null, so that 5.6 leaves the byte "has null" out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.bodies import read_enum, read_primitive

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph

    Collection = Callable[[KryoGraph], Value]

_PRIMITIVES = {
    "B": "byte",
    "Z": "boolean",
    "I": "int",
    "J": "long",
    "S": "short",
    "C": "char",
    "F": "float",
    "D": "double",
}
_FIXED_CODES = {"S": "h", "C": "H", "F": "f", "D": "d"}
MAX_NULLS = 1 << 20

_NEVER_NULL = "java.util.ImmutableCollections$"


def collection_of(class_name: str) -> Collection | None:
    """The function that reads the body of a class, if it is one of this module."""
    if class_name.startswith("["):
        return partial(_read_array, class_name[1:])
    if class_name.startswith("scala."):
        return _scala_collection_of(class_name)
    return _COLLECTIONS.get(class_name)


def _read_list(graph: KryoGraph, *, is_sorted: bool = False, admits_null: bool = True) -> Value:
    if not graph.is_5:
        if is_sorted:
            graph.read_class_and_object()
        return _read_objects(graph.read_count(), graph)
    is_one_class, count = _read_length(graph)
    if count is None:
        return None
    if is_sorted:
        graph.read_class_and_object()
    if count == 0:
        return []
    if not is_one_class:
        return _read_objects(graph.input.check_count(count), graph)
    return _read_elements_of_one_class(count, graph, admits_null)


def _read_length(graph: KryoGraph) -> tuple[bool, int | None]:
    flag, number = graph.input.read_flagged()
    return flag, number - 1 if number else None


def _read_elements_of_one_class(count: int, graph: KryoGraph, admits_null: bool) -> list[Value]:
    element = graph.read_class()
    if element is None:
        # Nulls take no bytes beyond their class, so that bytes do not bound them.
        if count > MAX_NULLS:
            raise graph.view.error(f"a count of {count} nulls")
        return [None] * count
    has_null = admits_null and graph.view.read_bool()
    read = graph.read_object_or_null if has_null else graph.read_object
    return [read(element) for _ in range(graph.input.check_count(count))]


def read_generic_list(element: str, graph: KryoGraph) -> list[Value] | None:
    """A list whose declared elements are of a final class, behind its own class."""
    if not graph.is_5:
        return [graph.read_object_or_null(element) for _ in range(graph.read_count())]
    has_null, count = _read_length(graph)
    if count is None:
        return None
    read = graph.read_object_or_null if has_null else graph.read_object
    return [read(element) for _ in range(graph.input.check_count(count))]


def _read_map(graph: KryoGraph, *, is_sorted: bool = False) -> list[tuple[Value, Value]] | None:
    if is_sorted and not graph.is_5:
        graph.read_class_and_object()
    count = _read_map_count(graph)
    if count is None:
        return None
    if is_sorted and graph.is_5:
        graph.read_class_and_object()
    return _read_pairs(count, graph)


def _read_map_count(graph: KryoGraph) -> int | None:
    return graph.input.read_count() if graph.is_5 else graph.read_count()


def _read_pairs(count: int, graph: KryoGraph) -> list[tuple[Value, Value]]:
    return [(graph.read_class_and_object(), graph.read_class_and_object()) for _ in range(count)]


def read_generic_map(key: str, value: str, graph: KryoGraph) -> list[tuple[Value, Value]] | None:
    """A map whose declared keys or values are of a final class, behind its own class."""
    count = _read_map_count(graph)
    if count is None:
        return None
    return [(_read_declared(key, graph), _read_declared(value, graph)) for _ in range(count)]


def _read_declared(class_name: str, graph: KryoGraph) -> Value:
    if graph.is_final(class_name):
        return graph.read_object_or_null(class_name)
    return graph.read_class_and_object()


def _read_objects(count: int, graph: KryoGraph) -> list[Value]:
    return [graph.read_class_and_object() for _ in range(count)]


def _read_arrays_list(graph: KryoGraph) -> Value:
    if graph.is_5:
        return _read_list(graph)
    count = graph.read_count()
    graph.read_class()
    return _read_objects(count, graph)


def _read_empty(graph: KryoGraph) -> list[Value]:
    return _read_objects(0, graph)


def _read_single(graph: KryoGraph) -> list[Value]:
    return _read_objects(1, graph)


def _read_single_entry(graph: KryoGraph) -> list[tuple[Value, Value]]:
    return _read_pairs(1, graph)


def _read_enum_set(graph: KryoGraph) -> list[Value]:
    element = graph.read_class() or ""
    enum_class = graph.enum_class(element)
    if enum_class is None:
        raise graph.undecodable(f"a set of {element}, whose constants are not known")
    return [read_enum(enum_class, graph) for _ in range(graph.read_count())]


def _read_array(component: str, graph: KryoGraph) -> Value:
    count = graph.input.read_count()
    if count is None:
        return None
    if component == "B":
        return graph.view.read_bytes(count)
    if component in _FIXED_CODES:
        values = graph.input.read_fixed_array(_FIXED_CODES[component], count)
        return [chr(int(value)) for value in values] if component == "C" else values
    if component in _PRIMITIVES:
        return [read_primitive(_PRIMITIVES[component], graph) for _ in range(count)]
    if component.startswith("L"):
        component = component[1:-1]
    if graph.is_final(component):
        return [graph.read_object_or_null(component) for _ in range(count)]
    return _read_objects(count, graph)


# --- Scala, of 2.24 alone ---------------------------------------------------------------------

_SPECIALIZED = {"J": "q", "I": "i", "D": "d"}


def _scala_collection_of(class_name: str) -> Collection | None:
    if class_name in _SCALA_SINGLES:
        return _read_single
    if class_name.startswith("scala.Tuple"):
        return partial(_read_scala_tuple, class_name)
    if class_name == "scala.None$":
        return _read_empty
    return _read_list if class_name.startswith(_SCALA_COLLECTIONS) else None


def _read_scala_tuple(class_name: str, graph: KryoGraph) -> list[Value]:
    name, _, kinds = class_name.removesuffix("$sp").partition("$mc")
    if kinds:
        return [graph.input.read_fixed(_SPECIALIZED[kind]) for kind in kinds]
    return _read_objects(int(name.removeprefix("scala.Tuple")), graph)


_SCALA_SINGLES = ("scala.Some", "scala.util.Left", "scala.util.Right")
_SCALA_COLLECTIONS = (
    "scala.collection.immutable.$colon$colon",
    "scala.collection.immutable.Nil$",
    "scala.collection.immutable.List",
    "scala.collection.immutable.Vector",
    "scala.collection.immutable.Set",
    "scala.collection.immutable.HashSet",
    "scala.collection.immutable.Map",
    "scala.collection.immutable.HashMap",
    "scala.collection.mutable.ArrayBuffer",
    "scala.collection.mutable.ListBuffer",
    "scala.collection.mutable.HashMap",
    "scala.collection.mutable.HashSet",
)

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
_SORTED_LISTS = ("java.util.TreeSet", "java.util.PriorityQueue")
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
    f"{_NEVER_NULL}MapN",
    f"{_NEVER_NULL}Map1",
)
_SORTED_MAPS = ("java.util.TreeMap", "java.util.concurrent.ConcurrentSkipListMap")

_COLLECTIONS: dict[str, Collection] = {
    **dict.fromkeys(_LISTS, _read_list),
    **dict.fromkeys(_LISTS_WITHOUT_NULL, partial(_read_list, admits_null=False)),
    **dict.fromkeys(_SORTED_LISTS, partial(_read_list, is_sorted=True)),
    **dict.fromkeys(_MAPS, _read_map),
    **dict.fromkeys(_SORTED_MAPS, partial(_read_map, is_sorted=True)),
    "java.util.Arrays$ArrayList": _read_arrays_list,
    "java.util.Collections$EmptyList": _read_empty,
    "java.util.Collections$EmptySet": _read_empty,
    "java.util.Collections$EmptyMap": _read_empty,
    "java.util.Collections$SingletonList": _read_single,
    "java.util.Collections$SingletonSet": _read_single,
    "java.util.Collections$SingletonMap": _read_single_entry,
    "java.util.RegularEnumSet": _read_enum_set,
    "java.util.JumboEnumSet": _read_enum_set,
}
