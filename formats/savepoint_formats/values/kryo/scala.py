"""Rows and bodies of Scala's classes, which Kryo 2.24 knows with the serializers of Flink 1.x.

| class                       | bytes                                   |
|-----------------------------|-----------------------------------------|
| Some, Left, Right; None     | one object; nothing                     |
| TupleN; one of primitives   | N objects; fixed values                 |
| Symbol, Regex; Unit         | text; nothing                           |
| lists, sets, maps, buffers  | varint n, n objects, of maps tuples     |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.body import TEXT, Body, Shown, fixed, object_of
from savepoint_formats.values.kryo.classes import names_of
from savepoint_formats.values.kryo.collections import LIST, objects
from savepoint_formats.values.kryo.types import ClassRow

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

_IMMUTABLE = "scala.collection.immutable."
_MUTABLE = "scala.collection.mutable."
_SPECIALIZED = {"J": fixed("q"), "I": fixed("i"), "D": fixed("d")}
_COLLECTIONS = (
    *names_of(_IMMUTABLE, "$colon$colon", "Nil$", "List", "Vector"),
    *names_of(_IMMUTABLE, "Set", "HashSet", "Map", "HashMap"),
    *names_of(_MUTABLE, "ArrayBuffer", "ListBuffer", "HashMap", "HashSet"),
)

SCALA = "scala."
SCALA_ONE = "scala.Some"
SCALA_NONE = "scala.None$"
SCALA_LISTS = (
    *names_of(_IMMUTABLE, "$colon$colon", "Nil$", "Vector", "Set$EmptySet$"),
    *names_of(_IMMUTABLE, "Set$Set1", "Set$Set2", "Set$Set3", "Set$Set4", "HashSet$HashTrieSet"),
    *names_of(_MUTABLE, "ArrayBuffer", "ListBuffer", "HashSet"),
)
"""Classes of lists and sets for programs; ``scala_body`` knows more of them by their beginnings."""

SCALA_MAPS = (
    *names_of(_IMMUTABLE, "Map$EmptyMap$", "Map$Map1", "Map$Map2", "Map$Map3", "Map$Map4"),
    *names_of(_IMMUTABLE, "HashMap$HashTrieMap"),
    *names_of(_MUTABLE, "HashMap"),
)
"""Classes of maps, whose elements are tuples."""


def _tuple(kinds: str) -> Body:
    """A tuple of primitives."""
    bodies = [_SPECIALIZED[kind] for kind in kinds]

    def read(graph: KryoGraph) -> list[Value]:
        return [body.read(graph) for body in bodies]

    def write(values: Value, writer: KryoWriter) -> None:
        for body, value in zip(bodies, values, strict=True):
            body.write(value, writer)

    parts = [part for body in bodies if body.shown for _, part in body.shown.parts]
    fronts = ["[", *[", "] * (len(parts) - 1)]
    return Body(read, write, shown=Shown(tuple(zip(fronts, parts, strict=True)), "]"))


_SIZES = range(1, 23)
_KINDS = (*_SPECIALIZED, *(first + second for first in _SPECIALIZED for second in _SPECIALIZED))
_BODIES: dict[str, Body] = {
    # There is one object of it, which is not null.
    "scala.runtime.BoxedUnit": object_of("scala.runtime.BoxedUnit"),
    "scala.Symbol": TEXT,
    "scala.util.matching.Regex": TEXT,
    SCALA_NONE: objects(0),
    **dict.fromkeys((SCALA_ONE, "scala.util.Left", "scala.util.Right"), objects(1)),
    **{f"scala.Tuple{size}": objects(size) for size in _SIZES},
    **{f"scala.Tuple{len(kinds)}$mc{kinds}$sp": _tuple(kinds) for kinds in _KINDS},
    **dict.fromkeys((*SCALA_LISTS, *SCALA_MAPS), LIST),
}
SCALA_CLASSES: dict[str, ClassRow] = {
    name: ClassRow((body, None)) for name, body in _BODIES.items()
}


def scala_body(class_name: str) -> Body | None:
    """The body of a collection that is known by the beginning of its name."""
    return LIST if class_name.startswith(_COLLECTIONS) else None
