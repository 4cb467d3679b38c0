"""Rows and bodies of Scala's classes, which Kryo 2.24 knows with the serializers of Flink 1.x.

| what                        | bytes                                   |
|-----------------------------|-----------------------------------------|
| Some, Left, Right; None     | one object; nothing                     |
| TupleN; one of primitives   | N objects; fixed values                 |
| Symbol, Regex; Unit         | text; nothing                           |
| lists, sets, maps, buffers  | varint n, n objects, of maps tuples     |
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.values.kryo.body import NOTHING, TEXT, Body
from savepoint_formats.values.kryo.collections import LIST, objects
from savepoint_formats.values.kryo.row import ClassRow

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

_SPECIALIZED = {"J": "q", "I": "i", "D": "d"}


def scala_body(class_name: str) -> Body | None:
    """The body of a class of Scala that has no row."""
    if class_name in _SCALA_SINGLES:
        return objects(1)
    if class_name.startswith("scala.Tuple"):
        return _tuple(class_name)
    if class_name == "scala.None$":
        return objects(0)
    return LIST if class_name.startswith(_SCALA_COLLECTIONS) else None


def _tuple(class_name: str) -> Body:
    name, _, kinds = class_name.removesuffix("$sp").partition("$mc")
    if not kinds:
        return objects(int(name.removeprefix("scala.Tuple")))
    codes = [_SPECIALIZED[kind] for kind in kinds]
    return Body(partial(_read_fixed, codes), partial(_write_fixed, codes))


def _read_fixed(codes: list[str], graph: KryoGraph) -> list[Value]:
    return [graph.input.read_fixed(code) for code in codes]


def _write_fixed(codes: list[str], values: Value, writer: KryoWriter) -> None:
    for code, value in zip(codes, values, strict=True):
        writer.output.write_fixed(code, value)


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

SCALA = "scala."
SCALA_LISTS = (
    *(
        f"scala.collection.immutable.{name}"
        for name in (
            "$colon$colon",
            "Nil$",
            "Vector",
            "Set$EmptySet$",
            *(f"Set$Set{size}" for size in range(1, 5)),
            "HashSet$HashTrieSet",
        )
    ),
    *(f"scala.collection.mutable.{name}" for name in ("ArrayBuffer", "ListBuffer", "HashSet")),
)
"""The classes of lists and sets, of which ``scala_body`` knows more by how they begin."""

SCALA_ONE = "scala.Some"
SCALA_NONE = "scala.None$"
"""The classes of what an ``Option`` is: of one object, and of none."""

SCALA_CLASSES: dict[str, ClassRow] = {
    "scala.runtime.BoxedUnit": ClassRow((NOTHING, None)),
    "scala.Symbol": ClassRow((TEXT, None)),
    "scala.util.matching.Regex": ClassRow((TEXT, None)),
}
