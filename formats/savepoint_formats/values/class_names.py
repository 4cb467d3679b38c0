"""Names of classes in the bytes of values, and how a class gets another name there.

| bytes                        | where they name a class                                             |
|------------------------------|---------------------------------------------------------------------|
| POJO                         | a value of a subclass that is not registered begins with its name   |
| Kryo's object                | a class that is not registered, where it comes first in the object  |
| Java's stream, in Kryo or    | every class, with its serial version: such a name is refused        |
| of a serializer              |                                                                     |

All else stays the bytes that it is, also within the object: what follows a name refers to it by
number, not by place. Lengths around a value follow those of the names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import SchemaChangeError, UndecodableError, UnencodableError
from savepoint_formats.layout import parts
from savepoint_formats.values.kryo.graph import KryoGraph
from savepoint_formats.values.kryo.output import KryoOutput
from savepoint_formats.values.recoding import ValueWalk

if TYPE_CHECKING:
    from typing import Protocol

    from savepoint_formats.layout import Layout
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.dialect import KryoDialect

    class Rename(Protocol):
        """A class that gets another name."""

        @property
        def old(self) -> str:
            """The name that it has."""

        def name(self, name: str) -> str:
            """The name that a class, or an array of it, has then."""

        def is_in(self, data: bytes) -> bool:
            """Whether bytes hold the old name."""


@lru_cache(maxsize=1000)
def may_name_classes(layout: Layout) -> bool:
    """Whether values of a layout may have names of classes in their bytes."""
    naming = layouts.Kryo | layouts.Pojo | layouts.JavaObject | layouts.Opaque
    return isinstance(layout, naming) or any(map(may_name_classes, parts(layout)))


@dataclass(frozen=True)
class Renaming:
    """How values of a layout get other names of classes.

    All names change in one walk, for the user's descriptions of classes have the old ones.

    Attributes:
        layout: The layout, be it that of an entry's key or value.
        kryo: The Kryo that wrote the objects.
        renames: The classes, in order: one may have the name that another has had.
    """

    layout: Layout
    kryo: KryoDialect
    renames: tuple[Rename, ...]

    def of(self, data: bytes) -> bytes:
        """The bytes of one value, with the new names.

        Raises:
            SchemaChangeError: They have an old one where it can't be changed.
            FormatError: They are damaged.
        """
        named = next((rename for rename in self.renames if rename.is_in(data)), None)
        if named is None:
            return data
        walk = _RenamingWalk(DataInputView(data), self.kryo, self.renames)
        try:
            walk.recode(self.layout, self.layout)
        except (UndecodableError, UnencodableError) as error:
            raise SchemaChangeError(
                f"class {named.old} cannot be renamed, for a value holds its name in bytes"
                f" that can't be told apart: {error.message}"
            ) from error
        walk.view.expect_end()
        return walk.target.to_bytes()


class _RenamingWalk(ValueWalk):
    """One value on its way."""

    def __init__(self, view: DataInputView, kryo: KryoDialect, renames: tuple[Rename, ...]) -> None:
        super().__init__(view, kryo, kryo)
        self._renames = renames

    def enters(self, layout: Layout) -> bool:
        """Whether the bytes may name a class."""
        return may_name_classes(layout)

    def recode(self, old: Layout, new: Layout) -> None:
        """The next value."""
        if not isinstance(old, layouts.JavaObject | layouts.Opaque):
            super().recode(old, new)
            return
        start = self.view.position
        self.copy(old)
        self._expect_not_in(start, self.view.position)

    def kryo(self, old: layouts.Kryo, new: Layout) -> None:  # noqa: ARG002  # it is the same
        """An object of Kryo."""
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
        """What a class is to be called."""
        for rename in self._renames:
            name = rename.name(name)
        return name

    def _expect_not_in(self, start: int, end: int) -> None:
        data = bytes(self.view.buffer[start:end])
        if any(rename.is_in(data) for rename in self._renames):
            raise self.refusal("Java's serialization wrote it, whose names have serial versions")


class _NamedGraph(KryoGraph):
    """Reads a graph, and notes where in its bytes classes are named.

    Attributes:
        places: Where each name begins and ends, and what it is.
        streams: Where each object of Java's serialization does.
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
