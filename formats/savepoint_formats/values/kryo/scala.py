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

from savepoint_formats.values.kryo.body import NOTHING, TEXT, Body, fixed
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

SCALA_CLASSES: dict[str, ClassRow] = {
    "scala.runtime.BoxedUnit": ClassRow((NOTHING, None)),
    "scala.Symbol": ClassRow((TEXT, None)),
    "scala.util.matching.Regex": ClassRow((TEXT, None)),
}


def scala_body(class_name: str) -> Body | None:
    """The body of a class of Scala that has no row."""
    if class_name in (SCALA_ONE, "scala.util.Left", "scala.util.Right"):
        return objects(1)
    if class_name.startswith("scala.Tuple"):
        return _tuple(class_name)
    if class_name == SCALA_NONE:
        return objects(0)
    return LIST if class_name.startswith(_COLLECTIONS) else None


def _tuple(class_name: str) -> Body:
    name, _, kinds = class_name.removesuffix("$sp").partition("$mc")
    if not kinds:
        return objects(int(name.removeprefix("scala.Tuple")))
    bodies = [_SPECIALIZED[kind] for kind in kinds]

    def read(graph: KryoGraph) -> list[Value]:
        return [body.read(graph) for body in bodies]

    def write(values: Value, writer: KryoWriter) -> None:
        for body, value in zip(bodies, values, strict=True):
            body.write(value, writer)

    return Body(read, write)
