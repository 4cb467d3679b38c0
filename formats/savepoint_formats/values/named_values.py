"""Renames classes in the bytes of values.

| bytes                        | place of a class name                                               |
|------------------------------|---------------------------------------------------------------------|
| POJO                         | front of a value of a subclass that is not registered               |
| Kryo's object                | first object of a class that is not registered                      |
| Java's stream, in Kryo or    | every class, with its serial version: such a name is refused        |
| of a serializer              |                                                                     |

All other bytes stay, because bytes behind a name refer to it by number, not by offset. Lengths around a
value change with its names.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import SchemaChangeError, UndecodableError, UnencodableError
from savepoint_formats.layout import nodes_of
from savepoint_formats.values.kryo.graph import KryoGraph
from savepoint_formats.values.kryo.output import KryoOutput
from savepoint_formats.values.recoding import ValueWalk

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeVar

    from savepoint_formats.layout import Layout
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.dialect import KryoDialect

    T = TypeVar("T")

    class Rename(Protocol):
        """A new name for a class."""

        @property
        def old(self) -> str:
            """The old name."""

        def name(self, name: str) -> str:
            """The new name of a class, or of an array of it."""

        def is_in(self, data: bytes) -> bool:
            """Whether bytes hold the old name."""


@lru_cache(maxsize=1000)
def may_name_classes(layout: Layout) -> bool:
    """Whether the bytes of a layout's values may name classes."""
    naming = (layouts.Kryo, layouts.Pojo, layouts.JavaObject, layouts.Opaque, layouts.Coded)
    return any(nodes_of(layout, *naming))


_NAMED_NODES = (
    layouts.Kryo,
    layouts.KryoClass,
    layouts.KryoField,
    layouts.KryoRegistration,
    layouts.NamedClass,
    layouts.TypeArgument,
)
_NAMES = frozenset({"class_name", "type", "superclass"})


def with_new_names(value: T, name: Callable[[str], str]) -> T:
    """Objects of Kryo in a layout, or descriptions of classes, with the new names of classes."""
    result: object = value
    if isinstance(value, tuple):
        result = tuple(with_new_names(item, name) for item in value)
    elif isinstance(value, _NAMED_NODES):
        parts_of_it = {field.name: getattr(value, field.name) for field in fields(value)}
        changed: dict[str, Any] = {
            field: name(part) if field in _NAMES else with_new_names(part, name)
            for field, part in parts_of_it.items()
        }
        result = replace(value, **changed)
    elif isinstance(value, layouts.Layout):
        result = layouts.with_kryo(value, lambda kryo: with_new_names(kryo, name))
    return result  # type: ignore[return-value]  # each is rebuilt as what it was


@dataclass(frozen=True)
class Renaming:
    """Renames classes in values of a layout.

    All names change in one walk, because the user's descriptions have the old names. ``renames`` are
    in order: a class may get the old name of another.
    """

    layout: Layout
    kryo: KryoDialect
    renames: tuple[Rename, ...]

    def name(self, name: str) -> str:
        """The new name of a class."""
        for rename in self.renames:
            name = rename.name(name)
        return name

    def of(self, data: bytes) -> bytes:
        """The bytes of one value, with the new names.

        Raises:
            SchemaChangeError: An old name can't be changed where it is.
            FormatError: The bytes are damaged.
        """
        named = next((rename for rename in self.renames if rename.is_in(data)), None)
        if named is None:
            return data
        walk = _RenamingWalk(DataInputView(data), self)
        try:
            walk.recode(self.layout, self.layout)
        except (UndecodableError, UnencodableError) as error:
            raise SchemaChangeError(
                f"class {named.old} cannot be renamed, because a value has its name in bytes"
                f" that can't be told apart: {error.message}"
            ) from error
        walk.view.expect_end()
        return walk.target.to_bytes()


class _RenamingWalk(ValueWalk):
    def __init__(self, view: DataInputView, renaming: Renaming) -> None:
        super().__init__(view, renaming.kryo, renaming.kryo)
        self._renaming = renaming

    def enters(self, layout: Layout) -> bool:
        """Whether the bytes may name a class."""
        return may_name_classes(layout)

    def recode(self, old: Layout, new: Layout) -> None:
        if not isinstance(old, layouts.JavaObject | layouts.Opaque | layouts.Coded):
            super().recode(old, new)
            return
        start = self.view.position
        self.copy(old)
        self._expect_not_in(start, self.view.position)

    def kryo(self, old: layouts.Kryo, new: Layout) -> None:  # noqa: ARG002  # it is the same
        graph, start = _NamedGraph(old, self.view, self.reads), self.view.position
        graph.read_class_and_object()
        for begin, end in graph.streams:
            self._expect_not_in(begin, end)
        output = KryoOutput(self.target, is_5=self.reads.is_5)
        for begin, end, name in graph.places:
            renamed = self.class_name(name)
            if renamed != name:
                self.target.write_bytes(self.view.buffer[start:begin])
                output.write_class_name(renamed)
                start = end
        self.target.write_bytes(self.view.buffer[start : self.view.position])

    def class_name(self, name: str) -> str:
        """The new name of a class."""
        return self._renaming.name(name)

    def _expect_not_in(self, start: int, end: int) -> None:
        data = bytes(self.view.buffer[start:end])
        if any(rename.is_in(data) for rename in self._renaming.renames):
            raise self.refusal("Java's serialization wrote it, whose names have serial versions")


class _NamedGraph(KryoGraph):
    """Reads a graph and notes the places of class names.

    Attributes:
        places: Start and end of each name, and the name.
        streams: Start and end of each object of Java's serialization.
    """

    def __init__(self, layout: layouts.Kryo, view: DataInputView, dialect: KryoDialect) -> None:
        super().__init__(layout, view, dialect)
        self.places: list[tuple[int, int, str]] = []
        self.streams: list[tuple[int, int]] = []

    def read_name(self) -> str:
        """The name of a class where it comes first."""
        start = self.view.position
        name = super().read_name()
        self.places.append((start, self.view.position, name))
        return name

    def read_java(self, class_name: str) -> Value:
        """An object of Java's serialization."""
        start = self.view.position
        value = super().read_java(class_name)
        self.streams.append((start, self.view.position))
        return value
