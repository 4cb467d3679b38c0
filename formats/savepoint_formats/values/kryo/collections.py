"""Collections and maps in Kryo.

| what                         | 2.24                              | 5.6                              |
|------------------------------|-----------------------------------|----------------------------------|
| collection                   | varint n, n objects               | flagged n + 1 (0 null), elements |
| TreeSet, PriorityQueue       | comparator, then as above         | comparator behind the number     |
| elements, flag 1: one class  | -                                 | class (0: all null), byte "has   |
|                              |                                   | null", objects without class     |
| elements, flag 0             | -                                 | objects                          |
| map                          | varint n, n (key, value)          | varint n + 1 (0 null), pairs     |
| TreeMap                      | comparator, then as above         | comparator behind the number     |
| ConcurrentSkipListMap        | as any map                        | as TreeMap                       |
| Collections.emptyX           | nothing                           | same                             |
| Collections.singletonX       | one object; of a map, two         | same                             |
| Arrays$ArrayList             | varint n, component class, objects| as a collection                  |
| EnumSet                      | class, varint n, varint index + 1 | same                             |

The lists of ``List.of`` admit no null, so that 5.6 leaves the byte "has null" out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.bodies import read_enum, write_enum
from savepoint_formats.values.kryo.body import Body
from savepoint_formats.values.kryo.objects import Detailed

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

    Pairs = list[tuple[Value, Value]]

MAX_NULLS = 1 << 20

_NEVER_NULL = "java.util.ImmutableCollections$"
_OBJECT = "java.lang.Object"


def read_objects(count: int, graph: KryoGraph) -> list[Value]:
    """So many objects, each with its class."""
    read, values = graph.read_class_and_object, []
    for _ in range(count):
        values.append(read())  # a comprehension is one more frame at each depth
    return values


def write_objects(values: list[Value], writer: KryoWriter) -> None:
    """Objects, each with its class."""
    for value in values:
        writer.write_class_and_object(value)


def _read_list(graph: KryoGraph, *, is_sorted: bool = False, admits_null: bool = True) -> Value:
    if not graph.is_5:
        comparator = graph.read_class_and_object() if is_sorted else None
        values = read_objects(graph.read_count(), graph)
        return graph.with_detail(comparator, values) if is_sorted else values
    is_one_class, count = _read_length(graph)
    if count is None:
        return None
    comparator = graph.read_class_and_object() if is_sorted else None
    if count == 0:
        values = []
    elif is_one_class:
        values = _read_elements_of_one_class(count, graph, admits_null)
    else:
        values = read_objects(graph.input.check_count(count), graph)
    return graph.with_detail(comparator, values) if is_sorted else values


def _write_list(
    value: Value, writer: KryoWriter, *, is_sorted: bool = False, admits_null: bool = True
) -> None:
    comparator, values = _detail(value)
    if not writer.is_5:
        if is_sorted:
            writer.write_class_and_object(comparator)
        writer.output.write_varint(len(values))
        write_objects(values, writer)
        return
    if values is None:
        writer.output.write_flagged(0, flag=False)
        return
    classes = {node.class_name for node in values if node is not None}
    is_one_class = bool(values) and len(classes) <= 1
    writer.output.write_flagged(len(values) + 1, flag=is_one_class)
    if is_sorted:
        writer.write_class_and_object(comparator)
    if is_one_class:
        _write_elements_of_one_class(values, next(iter(classes), None), writer, admits_null)
    else:
        write_objects(values, writer)


def _detail(value: Value) -> tuple[Value, Value]:
    """What only the bytes of a collection tell, and its values."""
    return (value.detail, value.values) if isinstance(value, Detailed) else (None, value)


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


def _write_elements_of_one_class(
    values: list[Value], element: str | None, writer: KryoWriter, admits_null: bool
) -> None:
    writer.write_class(element)
    if element is None:
        return
    has_null = None in values
    if admits_null:
        writer.view.write_bool(has_null)
    write = writer.write_object_or_null if has_null else writer.write_object
    for value in values:
        write(element, value)


def read_generic_list(element: str, graph: KryoGraph) -> list[Value] | None:
    """A list whose declared elements are of a final class, behind its own class."""
    if not graph.is_5:
        return [graph.read_object_or_null(element) for _ in range(graph.read_count())]
    has_null, count = _read_length(graph)
    if count is None:
        return None
    read = graph.read_object_or_null if has_null else graph.read_object
    return [read(element) for _ in range(graph.input.check_count(count))]


def write_generic_list(element: str, values: list[Value] | None, writer: KryoWriter) -> None:
    """Writes what ``read_generic_list`` reads."""
    if values is None:
        writer.output.write_flagged(0, flag=False)
        return
    has_null = not writer.is_5 or None in values
    if writer.is_5:
        writer.output.write_flagged(len(values) + 1, flag=has_null)
    else:
        writer.output.write_varint(len(values))
    write = writer.write_object_or_null if has_null else writer.write_object
    for value in values:
        write(element, value)


def _read_map(graph: KryoGraph, *, is_sorted: bool = False) -> Value:
    comparator = graph.read_class_and_object() if is_sorted and not graph.is_5 else None
    count = _read_map_count(graph)
    if count is None:
        return None
    if is_sorted and graph.is_5:
        comparator = graph.read_class_and_object()
    pairs = _read_pairs(count, graph)
    return graph.with_detail(comparator, pairs) if is_sorted else pairs


def _write_map(value: Value, writer: KryoWriter, *, is_sorted: bool = False) -> None:
    comparator, pairs = _detail(value)
    if is_sorted and not writer.is_5:
        writer.write_class_and_object(comparator)
    _write_map_count(pairs, writer)
    if pairs is None:
        return
    if is_sorted and writer.is_5:
        writer.write_class_and_object(comparator)
    _write_pairs(pairs, writer)


def _read_skip_list_map(graph: KryoGraph) -> Value:
    return _read_map(graph, is_sorted=graph.is_5)


def _write_skip_list_map(value: Value, writer: KryoWriter) -> None:
    _write_map(value, writer, is_sorted=writer.is_5)


def _read_map_count(graph: KryoGraph) -> int | None:
    return graph.input.read_count() if graph.is_5 else graph.read_count()


def _write_map_count(pairs: Pairs | None, writer: KryoWriter) -> None:
    if writer.is_5:
        writer.output.write_varint(0 if pairs is None else len(pairs) + 1)
    else:
        writer.output.write_varint(len(pairs or ()))


def _read_pairs(count: int, graph: KryoGraph) -> Pairs:
    return [(graph.read_class_and_object(), graph.read_class_and_object()) for _ in range(count)]


def _write_pairs(pairs: Pairs, writer: KryoWriter) -> None:
    for pair in pairs:
        write_objects(list(pair), writer)


def read_generic_map(key: str, value: str, graph: KryoGraph) -> Pairs | None:
    """A map whose declared keys or values are of a final class, behind its own class."""
    count = _read_map_count(graph)
    if count is None:
        return None
    return [(_read_declared(key, graph), _read_declared(value, graph)) for _ in range(count)]


def write_generic_map(key: str, value: str, pairs: Pairs | None, writer: KryoWriter) -> None:
    """Writes what ``read_generic_map`` reads."""
    _write_map_count(pairs, writer)
    for map_key, map_value in pairs or ():
        _write_declared(key, map_key, writer)
        _write_declared(value, map_value, writer)


def _read_declared(class_name: str, graph: KryoGraph) -> Value:
    if graph.classes.is_final(class_name):
        return graph.read_object_or_null(class_name)
    return graph.read_class_and_object()


def _write_declared(class_name: str, value: Value, writer: KryoWriter) -> None:
    if writer.classes.is_final(class_name):
        writer.write_object_or_null(class_name, value)
    else:
        writer.write_class_and_object(value)


def _read_arrays_list(graph: KryoGraph) -> Value:
    if graph.is_5:
        return _read_list(graph)
    count = graph.read_count()
    component = graph.read_class()
    return graph.with_detail(component, read_objects(count, graph))


def _write_arrays_list(value: Value, writer: KryoWriter) -> None:
    component, values = _detail(value)
    if writer.is_5:
        _write_list(values, writer)
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
    element, values = _detail(value)
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


_SINGLE_ENTRY = Body(partial(_read_pairs, 1), _write_pairs)


def _list(*, is_sorted: bool = False, admits_null: bool = True) -> Body:
    return Body(
        partial(_read_list, is_sorted=is_sorted, admits_null=admits_null),
        partial(_write_list, is_sorted=is_sorted, admits_null=admits_null),
    )


LIST = _list()
_MAP = Body(_read_map, _write_map)
_SORTED_MAP = Body(partial(_read_map, is_sorted=True), partial(_write_map, is_sorted=True))
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
_SKIP_LIST_MAP = "java.util.concurrent.ConcurrentSkipListMap"


COLLECTIONS: dict[str, Body] = {
    **dict.fromkeys(_LISTS, LIST),
    **dict.fromkeys(_LISTS_WITHOUT_NULL, _list(admits_null=False)),
    **dict.fromkeys(_SORTED_LISTS, _list(is_sorted=True)),
    **dict.fromkeys(_MAPS, _MAP),
    "java.util.TreeMap": _SORTED_MAP,
    _SKIP_LIST_MAP: Body(_read_skip_list_map, _write_skip_list_map),
    "java.util.Arrays$ArrayList": Body(_read_arrays_list, _write_arrays_list),
    **dict.fromkeys(
        (f"java.util.Collections$Empty{kind}" for kind in ("List", "Set", "Map")), objects(0)
    ),
    "java.util.Collections$SingletonList": objects(1),
    "java.util.Collections$SingletonSet": objects(1),
    "java.util.Collections$SingletonMap": _SINGLE_ENTRY,
    "java.util.RegularEnumSet": _ENUM_SET,
    "java.util.JumboEnumSet": _ENUM_SET,
}
"""The bodies by class."""
