"""The row of a class that Kryo writes, and its column: the Arrow type, and values both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.errors import FormatError, UndecodableError, ValueOutOfRangeError
from savepoint_formats.values.kinds import times
from savepoint_formats.values.kryo.body import PRIMITIVES
from savepoint_formats.values.kryo.classes import BOXED
from savepoint_formats.values.kryo.objects import KryoNode, KryoObject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.body import Body, Parts, SingleValue


_MOST_SHOWN = 100
NEVER_NULL_CLASSES = frozenset(
    f"java.util.Optional{kind}" for kind in ("", "Int", "Long", "Double")
)

WRITTEN_CLASSES = {
    "java.lang.Iterable": "java.util.ArrayList",
    "java.util.Collection": "java.util.ArrayList",
    "java.util.List": "java.util.ArrayList",
    "java.util.Set": "java.util.HashSet",
    "java.util.Queue": "java.util.LinkedList",
    "java.util.Deque": "java.util.LinkedList",
    "java.util.Map": "java.util.HashMap",
    "java.util.concurrent.ConcurrentMap": "java.util.concurrent.ConcurrentHashMap",
}
"""Interface -> the class whose objects are written where it is declared."""


class UnfitError(ValueError):
    """An object does not fit its column; ``kind`` is the error to raise at its bytes."""

    def __init__(self, message: str, kind: type[FormatError] = UndecodableError) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class KryoType:
    """The column of a class.

    Attributes:
        arrow_type: The Arrow type.
        convert: The value of an object that ``read_kryo`` gives.
        content: The mirror: the content of the object of a value, for ``write_nodes``. A value is
            what ``to_pylist`` gives, or Arrow's integer; ValueError if the class can't hold it.
        bits: Size of Arrow's integer, if values must be checked against it.
        is_open: Whether objects of any class fit.
    """

    arrow_type: pa.DataType
    convert: Callable[[Value], Value]
    content: Callable[[Value], Value]
    bits: int = 0
    is_open: bool = False

    def value(self, class_name: str, graph: Value, start: int, view: DataInputView) -> Value:
        """The value of an object, or null; errors name the byte ``start``."""
        try:
            return self.converted(class_name, graph)
        except UnfitError as error:
            view.position = start
            raise view.error(str(error), error.kind) from error

    def converted(self, class_name: str, graph: Value) -> Value:
        """The value of an object, or null.

        Raises:
            UnfitError: The object has another class, or is too large for the type.
        """
        if graph is None:
            return None
        try:
            is_object = isinstance(graph, KryoObject)
            if is_object and not self.is_open and graph.class_name != class_name:
                raise TypeError(graph.class_name)
            value = self.convert(graph)
            if self.bits and not -1 << self.bits - 1 <= value < 1 << self.bits - 1:
                raise UnfitError(f"{_shown(graph)}, beyond its column", ValueOutOfRangeError)
            if isinstance(value, str):
                value.encode()  # half a surrogate pair is legal in Java, but not in UTF-8
            return times.to_date(value) if self.arrow_type == pa.date32() else value
        except UnfitError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UnfitError(f"{_shown(graph)} where a {class_name} is expected") from error

    def node(self, class_name: str, value: Value) -> Value:
        """The mirror of ``converted``: a node, or a value of a primitive type.

        Raises:
            ValueError: The class has no object of this value.
        """
        if class_name in BOXED:
            if value is None:
                raise ValueError(f"null where a {class_name} is expected")
            return self.content(value)
        if value is None and class_name not in NEVER_NULL_CLASSES:
            return None
        if value is None:
            raise ValueError(f"null, which may be an empty {class_name}, or none at all")
        return KryoNode(WRITTEN_CLASSES.get(class_name, class_name), self.content(value))


def of_kind(kind: type) -> Callable[[Value], Value]:
    """Gives a value as it is, if it is of exactly this type of Python."""

    def check(value: Value) -> Value:
        if type(value) is not kind:
            raise TypeError(value)
        return value

    return check


def _shown(graph: Value) -> str:
    text = f"a {graph.class_name}" if isinstance(graph, KryoObject) else repr(graph)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


@dataclass(frozen=True, slots=True)
class ClassRow:
    """A class that Kryo writes.

    Attributes:
        body: The form of objects in 2.24, and in 5.6; None if that version has no serializer for
            them.
        fields: Field -> type, written by versions that have no serializer for the class.
        is_final: Whether it has no subclasses: a field of such a type needs no class in the bytes.
        column: The Arrow type, and the values of objects both ways; None if it is JSON.
        value: How programs make a value of the parts; None if only the general path does.
        is_java: Whether Java serializes the object where there is no body.
        parts_of_2: Parts of 2.24, where the fields are not all primitive.
    """

    body: tuple[Body | None, Body | None] = (None, None)
    fields: Mapping[str, str] | None = None
    is_final: bool = False
    column: KryoType | None = None
    value: SingleValue | None = None
    is_java: bool = False
    parts_of_2: Parts | None = None

    @property
    def parts(self) -> tuple[Parts | None, Parts | None]:
        """The parts of an object in 2.24, and in 5.6; None if they depend on the object."""
        of_2, of_5 = (body.parts if body else self._parts_of_fields() for body in self.body)
        return self.parts_of_2 or of_2, of_5

    def _parts_of_fields(self) -> Parts | None:
        if self.fields is None or not PRIMITIVES.keys() >= set(self.fields.values()):
            return None
        bodies = (PRIMITIVES[kind] for _, kind in sorted(self.fields.items()))
        return tuple(part for body in bodies for part in body.parts or ())
