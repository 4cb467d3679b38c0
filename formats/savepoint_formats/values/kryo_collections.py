"""Collections that Flink 1.x gives to Kryo and Flink 2.x does not: declared as List, Map, Set or the like.

No snapshot of 1.x has the declared type of the elements. Only the objects have classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.layout import Layout, node, parts, rebuilt
from savepoint_formats.values.kryo.collections import COLLECTIONS
from savepoint_formats.values.kryo.descriptions import TUPLES

if TYPE_CHECKING:
    from collections.abc import Iterator

_GENERIC = ("java.util.Optional", "java.util.AbstractMap$SimpleEntry")


@dataclass(frozen=True, slots=True)
class CollectionPlace:
    """The place of a collection of Kryo in a layout.

    Attributes:
        class_name: The declared type: ``java.util.List``.
        pojo: The class of the POJO whose field it is, or nothing.
        path: Indexes of the fields of tuples that lead to it.
    """

    class_name: str
    pojo: str = ""
    field: str = ""
    path: tuple[int, ...] = ()

    def __str__(self) -> str:
        parts_of_it = (f"f{number}" for number in self.path)
        return ".".join([self.pojo, self.field, *parts_of_it]) if self.pojo else self.class_name


@node
class Probe(Layout):
    """Stands in for the collection of this number, whose elements are inspected."""

    number: int


@lru_cache(maxsize=100)
def collection_places(layout: Layout) -> tuple[CollectionPlace, ...]:
    """The places of a layout's collections, in order."""
    return tuple(_places(layout, CollectionPlace("")))


def _places(layout: Layout, around: CollectionPlace) -> Iterator[CollectionPlace]:
    match layout:
        case layouts.Kryo(class_name) if class_name in layouts.FLINK_2_COLLECTIONS:
            yield replace(around, class_name=class_name)
        case layouts.Pojo():
            for name, part in zip(layout.names, layout.fields, strict=True):
                yield from _places(part, CollectionPlace("", layout.class_name, name))
            for _, subclass in (*layout.registered, *layout.unregistered):
                yield from _places(subclass, CollectionPlace(""))
        case layouts.Nullable(inner) | layouts.Repeated(inner):
            yield from _places(inner, around)
        case layouts.Struct():
            for number, part in enumerate(layout.fields):
                yield from _places(part, replace(around, path=(*around.path, number)))
        case _:
            for part in parts(layout):
                yield from _places(part, CollectionPlace(""))


@lru_cache(maxsize=100)
def probed(layout: Layout) -> Layout:
    """The layout with a ``Probe`` in each of its ``collection_places``."""
    numbers = count()

    def change(part: Layout) -> Layout:
        is_collection = (
            isinstance(part, layouts.Kryo) and part.class_name in layouts.FLINK_2_COLLECTIONS
        )
        return Probe(next(numbers)) if is_collection else part

    return rebuilt(layout, change)


def is_generic(class_name: str) -> bool:
    """Whether a class of the JDK or of Flink has type arguments, wherever it is declared."""
    return class_name in COLLECTIONS or class_name in _GENERIC or class_name.startswith(TUPLES)
