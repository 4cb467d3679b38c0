"""Values rewritten for another Kryo, and for serializers that only Flink 2.x has.

The old and the new layout are walked side by side. A value without objects of Kryo is copied if its
layout stays. An object graph is read with all facts in its bytes, and written again. A collection
of Kryo becomes one of Flink's if the new layout has one there.

| old           | new                      | written                                           |
|---------------|--------------------------|---------------------------------------------------|
| Kryo          | Kryo                     | the graph in the form of the other version        |
| Kryo          | any other                | its objects; see ``kryo_values``                  |
| any other     | the same kind            | the values inside it                              |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import UndecodableError, UnencodableError
from savepoint_formats.layout import holds_kryo
from savepoint_formats.values.kryo.graph import NodeGraph
from savepoint_formats.values.kryo_collections import Probe, probed
from savepoint_formats.values.kryo_values import ObjectWriter, node_elements
from savepoint_formats.values.pojo_values import (
    IS_NULL,
    IS_SUBCLASS,
    IS_TAGGED_SUBCLASS,
    NO_SUBCLASS,
    subclass_of,
)
from savepoint_formats.values.scala_recoding import recode_scala
from savepoint_formats.values.separable_parts import Times, parts_of
from savepoint_formats.values.state_entries import (
    DELIMITER,
    Delimited,
    EntryReader,
    KeyPrefix,
    NullableRest,
    Suffixed,
    length_suffix,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_formats.layout import Layout
    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.kryo.objects import KryoNode

_ADVICE = (
    ": describe the class with its fields, as kryo_class(…) or by --classes, or leave the state out"
)


@lru_cache(maxsize=1000)
@dataclass(frozen=True, slots=True)
class Recoding:
    """Turns values of an old layout and Kryo into values of a new layout and Kryo."""

    old: Layout
    new: Layout
    reads: KryoDialect
    writes: KryoDialect

    def of(self, data: bytes) -> bytes:
        """The new bytes of one value.

        Raises:
            UndecodableError: An object has an unknown class.
            UnencodableError: An object can't be written for the other Flink.
            FormatError: The bytes are damaged.
        """
        walk = ValueWalk(DataInputView(data), self.reads, self.writes)
        walk.recode(self.old, self.new)
        walk.view.expect_end()
        return walk.target.to_bytes()


def element_classes(
    layout: Layout, data: bytes, reads: KryoDialect
) -> Iterator[tuple[int, tuple[str | None, ...]]]:
    """The number of a collection among ``collection_places``, and the classes in it.

    These are the class of each element, or the classes of each key and value; None for null.

    Raises:
        UndecodableError: An object has an unknown class.
        FormatError: The bytes are damaged.
    """
    walk = ValueWalk(DataInputView(data), reads, reads)
    walk.recode(layout, probed(layout))
    yield from walk.seen


def unknown_class(layout: Layout, data: bytes, reads: KryoDialect) -> str | None:
    """The first class in a value whose fields are unknown; None if there is none."""
    walk = ValueWalk(DataInputView(data), reads, reads)
    try:
        walk.recode(layout, layout)
    except (UndecodableError, UnencodableError):
        return walk.unknown
    return None


class ValueWalk:
    """One value, read from a view and written to a target."""

    unknown: str | None = None

    def __init__(self, view: DataInputView, reads: KryoDialect, writes: KryoDialect) -> None:
        self.view = view
        self.target = DataOutputView()
        self.seen: list[tuple[int, tuple[str | None, ...]]] = []
        self.reads, self._writes = reads, writes

    def recode(self, old: Layout, new: Layout) -> None:  # noqa: PLR0912  # the table of layouts
        if old == new and not self.enters(old):
            self.copy(old)
            return
        if old != new and recode_scala(self, old, new):
            return
        match old, new:
            case layouts.Kryo(), _:
                self.kryo(old, new)
            case layouts.Nullable(), layouts.Nullable():
                self._nullable(old, new)
            case Times(element, count), Times(other):
                for _ in range(count):
                    self.recode(element, other)
            case layouts.Pojo(), layouts.Pojo():
                self._pojo(old, new)
            case layouts.Framed(inner), layouts.Framed(other):
                self._framed(inner, other)
            case Suffixed(inner), Suffixed(other):
                self._suffixed(inner, other)
            case Delimited(element), Delimited(other):
                self._delimited(element, other)
            case NullableRest(inner), NullableRest(other):
                is_null = self.view.read_bool()
                self.target.write_bool(is_null)
                if is_null:
                    self.target.write_bytes(self.view.read_rest())
                else:
                    self.recode(inner, other)
            case KeyPrefix(size), _:
                self.target.write_bytes(self.view.read_bytes(size))
            case _:
                self._inside(old, new)

    def enters(self, layout: Layout) -> bool:
        """Whether values of a layout that stays may change inside."""
        return holds_kryo(layout)

    def kryo(self, old: layouts.Kryo, new: Layout) -> None:
        node = self._read(old)
        try:
            if isinstance(new, Probe):
                self._look_into(new.number, node)
            else:
                ObjectWriter(self.target, self._writes).write(node, new)
        except UnencodableError as error:
            raise self.refusal(error.message) from error

    def class_name(self, name: str) -> str:
        """The new name of a class that the bytes of a POJO name."""
        return name

    def _read(self, layout: layouts.Kryo) -> KryoNode | None:
        graph = NodeGraph(layout, self.view, self.reads)
        try:
            return graph.read_nodes()
        except UndecodableError as error:
            error.message += _ADVICE
            self.unknown = graph.unknown
            raise

    def copy(self, layout: Layout) -> None:
        """A value that stays as it is."""
        start = self.view.position
        self.skip(layout)
        self.target.write_bytes(self.view.buffer[start : self.view.position])

    def skip(self, layout: Layout) -> None:
        """A value that is not written."""
        reader = EntryReader(self.view, self.reads)
        reader.read(layout)
        if reader.is_lost:
            raise self.view.error(reader.reason, UndecodableError)

    def recoded_apart(self, old: Layout, new: Layout) -> bytes:
        """The next value, which is not written to the target."""
        target, self.target = self.target, DataOutputView()
        self.recode(old, new)
        content, self.target = self.target.to_bytes(), target
        return content

    def described_fields(self, class_name: str) -> tuple[str, ...]:
        """The fields of a described class, in the order of the description."""
        classes = {described.class_name: described for described in self._writes.classes}
        return tuple(field.name for field in classes[class_name].fields)

    def _look_into(self, number: int, node: KryoNode | None) -> None:
        for element in [] if node is None else node_elements(node):
            nodes = element if isinstance(element, tuple) else (element,)
            names = tuple(None if inner is None else inner.class_name for inner in nodes)
            self.seen.append((number, names))

    def _nullable(self, old: layouts.Nullable, new: layouts.Nullable) -> None:
        if self.view.read_bool() == old.is_null:
            self.view.read_bytes(old.padding)
            self.target.write_bool(new.is_null)
            self.target.write_bytes(bytes(new.padding))
        else:
            self.target.write_bool(not new.is_null)
            self.recode(old.inner, new.inner)

    def _inside(self, old: Layout, new: Layout) -> None:
        """Copies flags and counts, and recodes the values behind them."""
        start = self.view.position
        values = parts_of(old, self.view) if type(old) is type(new) else None
        if values is None:
            raise self.refusal(f"a {type(old).__name__}, whose values can't be told apart")
        self.target.write_bytes(self.view.buffer[start : self.view.position])
        self.view.position = start
        self._fields(values, parts_of(new, self.view) or ())

    def _fields(self, old: Sequence[Layout], new: Sequence[Layout]) -> None:
        for old_field, new_field in zip(old, new, strict=True):
            self.recode(old_field, new_field)

    def _pojo(self, old: layouts.Pojo, new: layouts.Pojo) -> None:
        start = self.view.position
        flags = self.view.read_unsigned_byte()
        if flags == IS_NULL:
            self.target.write_byte(flags)
        elif flags == NO_SUBCLASS:
            self.target.write_byte(flags)
            self._fields(old.fields, new.fields)
        elif flags in (IS_SUBCLASS, IS_TAGGED_SUBCLASS):
            self.subclass(old, new, flags)
        else:
            self.view.position = start
            raise self.view.error(f"a POJO with flags {flags}, expected 1, 2, 4 or 8")

    def subclass(self, old: layouts.Pojo, new: layouts.Pojo, flags: int) -> None:
        """A value of a subclass, behind its flags."""
        start = self.view.position
        name, layout = subclass_of(old, flags, self.view)
        self.target.write_byte(flags)
        if flags == IS_SUBCLASS:
            self.target.write_utf(self.class_name(name))
        else:
            self.target.write_bytes(self.view.buffer[start : self.view.position])
        self.recode(layout, dict((*new.registered, *new.unregistered))[name])

    def _framed(self, old: Layout, new: Layout) -> None:
        view = self.view
        self.view = view.read_view(view.read_count())
        content = self.recoded_apart(old, new)
        self.view.expect_end()
        self.view = view
        self.target.write_int(len(content))
        self.target.write_bytes(content)

    def _suffixed(self, old: Layout, new: Layout) -> None:
        start, begin = self.view.position, self.target.position
        self.recode(old, new)
        self.view.read_bytes(len(length_suffix(self.view.position - start)))
        self.target.write_bytes(length_suffix(self.target.position - begin))

    def _delimited(self, old: Layout, new: Layout) -> None:
        while self.view.remaining:
            self.recode(old, new)
            if self.view.remaining:
                byte = self.view.read_unsigned_byte()
                if byte != DELIMITER:
                    self.view.position -= 1
                    raise self.view.error(f"a byte of {byte} between elements, expected a comma")
                self.target.write_byte(byte)

    def refusal(self, message: str) -> UnencodableError:
        """The error of a value that can be read, but not written."""
        return UnencodableError(f"{message}, at offset {self.view.offset} of the value")
