"""The general path: one value of any layout, by plain recursion.

It defines the meaning of each layout; tests prove that faster paths are equal to it. A value is
what pyarrow's ``to_pylist`` gives for ``arrow_type(layout)``, or Arrow's integer of a date or time
that Python does not have (``times``).

The end of an undecodable value is unknown, unless ``separation`` has found it. Such a value takes
all bytes up to the end of the ``Framed`` value around it, or of the view. Values behind it in there
are null, and its reason names them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.counts import MAX_EMPTY_ELEMENTS, can_be_empty
from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.java.stream import read_java_object
from savepoint_formats.values import binary_rows
from savepoint_formats.values.arrow_types import is_nullable_key
from savepoint_formats.values.coded_values import read_coded
from savepoint_formats.values.kinds import moments
from savepoint_formats.values.kinds.codec import MAX_DEPTH
from savepoint_formats.values.kinds.scalars import SCALARS, SIZED
from savepoint_formats.values.kryo.object_values import DescribedObject, read_kryo_value, take_rest
from savepoint_formats.values.kryo.structs import ALONG, has_others
from savepoint_formats.values.masks import (
    read_masked_list,
    read_masked_struct,
    read_tagged,
    read_union,
)
from savepoint_formats.values.pickle_values import read_pickle
from savepoint_formats.values.pojo_values import read_pojo
from savepoint_formats.values.scala_values import SCALA_LAYOUTS, read_scala
from savepoint_formats.values.undecoded import JAVA_REASON
from savepoint_formats.values.variants import read_variant

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.layout import Layout
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.undecoded import HiddenEnds

_ENTRY = ("key", "value")


def read_value(layout: Layout, view: DataInputView, kryo: KryoDialect | None = None) -> Value:
    """The next value of ``view``; ``kryo`` is the Kryo that wrote its object graphs.

    Raises:
        FormatError: The bytes are no value of the layout.
        UndecodableError: The Arrow type cannot hold the value.
    """
    return ValueReader(view, kryo).read(layout)


class ValueReader:
    """Reads values, and notes those that it could not decode.

    Attributes:
        undecoded_values: The bytes and the reason of each value that could not be decoded.
        is_lost: Whether one of them took all bytes up to the end.
        hides: Whether these bytes have other values in them.
        hides_elements: Whether they include elements or entries, which are then missing.
        is_damaged: Whether bytes that could not be decoded are no value of their layout.
        is_ambiguous: Whether a value can be decoded in several ways, unless its end is known.
        ends: The known ends of such values.
        described: The last object of a class that the user described.
        distrusted: Places of objects whose description does not fit the bytes behind them.
    """

    def __init__(self, view: DataInputView, kryo: KryoDialect | None = None) -> None:
        self.view = view
        self.kryo = kryo
        self.undecoded_values: list[dict[str, Value]] = []
        self.is_lost = False
        self.hides = False
        self.hides_elements = False
        self.is_damaged = False
        self.is_ambiguous = False
        self.ends: HiddenEnds | None = None
        self._depth = 0
        self.described: DescribedObject | None = None
        self.distrusted: Container[int] = frozenset()

    def read(self, layout: Layout) -> Value:
        scalar = SCALARS.get(type(layout))
        if scalar is not None:
            return scalar.read(self.view)
        if self._depth >= MAX_DEPTH:
            raise self.view.error(f"a value nested deeper than {MAX_DEPTH}", UndecodableError)
        self._depth += 1
        try:
            return self._read_composite(layout)
        finally:
            self._depth -= 1

    def _read_composite(self, layout: Layout) -> Value:  # noqa: PLR0912 - the table of layouts
        view = self.view
        match layout:
            case layouts.Nullable():
                return self.nullable(layout)
            case layouts.Repeated(element):
                return self._elements(element, self._count(element))
            case layouts.MapOf(key, value):
                return self._map(key, value)
            case layouts.Struct(names, fields):
                return self.fields(names, fields)
            case layouts.MaskedStruct():
                return read_masked_struct(layout, self)
            case layouts.MaskedRepeated(element):
                return read_masked_list(element, self)
            case layouts.Tagged():
                return read_tagged(layout, self)
            case layouts.Pojo():
                return read_pojo(layout, self)
            case layouts.Ttl(value):
                return {"timestamp": moments.read_timestamp_millis(view), "value": self.read(value)}
            case layouts.Framed(inner):
                return self.bounded(inner, view.read_count())
            case layouts.Packed(element, False):
                return self._packed(element)
            case layouts.Packed(inner) | layouts.Varying(inner) | layouts.OfClass(inner):
                return self.read(inner)
            case layouts.Pickle():
                return read_pickle(layout, view)
            case _ if sized := SIZED.get(type(layout)):
                return sized[0](layout, view)
            case layouts.BinaryRow() | layouts.BinaryArray() | layouts.BinaryMap():
                nesting = binary_rows.Nesting(self._inside)
                return binary_rows.read_binary(layout, view.read_view(view.remaining), nesting)
            case layouts.Variant():
                return read_variant(layout, view)
            case layouts.BlockRepeated(element):
                return self._blocks(element)
            case layouts.BlockMap(value):
                entries = self._blocks(layouts.Struct(_ENTRY, (layouts.Utf8(), value)))
                return [(entry["key"], entry["value"]) for entry in entries]
            case layouts.IndexedUnion():
                return read_union(layout, self)
            case layouts.Kryo():
                return read_kryo_value(layout, self)
            case layouts.Coded():
                return read_coded(layout, self)
            case layouts.JavaObject():
                return self._java_object()
            case layouts.Opaque():
                return self.undecoded(layout.note)
            case _ if isinstance(layout, SCALA_LAYOUTS):
                return read_scala(layout, self)
            case _:
                raise TypeError(f"{layout!r} is no layout")

    def fields(self, names: Sequence[str], fields: Sequence[Layout]) -> dict[str, Value]:
        """The fields of a struct, one after the other."""
        values: dict[str, Value] = dict.fromkeys(names)
        for name, field in zip(names, fields, strict=True):
            if self.is_lost:
                self.take_along(repr(name))
            else:
                values[name] = self.read(field)
        return values

    @property
    def reason(self) -> str:
        """The reason of the first undecoded value that has others in its bytes, or of the first."""
        first = self.undecoded_values[0]
        return str(next(filter(has_others, self.undecoded_values), first)["reason"])

    def undecoded(self, reason: str) -> dict[str, Value]:
        """A value's bytes and the reason; all remaining bytes if its end is unknown."""
        view, end = self.view, self.known_end(self.view.position)
        data = view.read_rest() if end is None else view.read_bytes(end - view.position)
        shown: dict[str, Value] = {"bytes": data, "reason": reason}
        self.undecoded_values.append(shown)
        self.is_lost = end is None
        return shown

    def known_end(self, position: int) -> int | None:
        """The end of the value at a position of the view, if it is known."""
        base = self.view.base
        end = None if self.ends is None else self.ends.of_values.get(base + position)
        return None if end is None else end - base

    def take_along(self, what: str, *, are_elements: bool = False) -> None:
        """Names something in the reason of the value that took all bytes."""
        last = self.undecoded_values[-1]
        last["reason"] += f"{',' if has_others(last) else ALONG} {what}"
        self.hides = True
        self.hides_elements |= are_elements

    def _count(self, element: Layout) -> int:
        """The number of elements, at most what the remaining bytes can hold."""
        if not can_be_empty(element):
            return self.view.read_count()
        count = self.view.read_count(element_size=0)
        if count > MAX_EMPTY_ELEMENTS:
            raise self.view.error(f"a count of {count} elements without bytes")
        return count

    def _elements(self, element: Layout, count: int) -> list[Value]:
        if borders := self.known_borders():
            return [self.bounded(element, end - start) for start, end in pairwise(borders)]
        values: list[Value] = []
        while len(values) < count and not self.is_lost:
            values.append(self.read(element))
        if len(values) < count:
            self.take_along(f"{count - len(values)} more elements", are_elements=True)
        return values

    def _packed(self, element: Layout) -> list[Value]:
        if can_be_empty(element):
            raise self.view.error("elements without bytes and without a count", UndecodableError)
        values: list[Value] = []
        while self.view.remaining and not self.is_lost:
            values.append(self.read(element))
        return values

    def known_borders(self) -> tuple[int, ...]:
        """The known borders of the next elements, if decoding does not tell them."""
        return () if self.ends is None else self.ends.of_elements.get(self.view.offset, ())

    def nullable(self, layout: layouts.Nullable) -> Value:
        """A flag, and a value behind it unless it is null."""
        if self.view.read_bool() == layout.is_null:
            self.view.read_bytes(layout.padding)
            return None
        return self.read(layout.inner)

    def _map(self, key: Layout, value: Layout) -> list[Value]:
        start = self.view.position
        entry = layouts.Struct(_ENTRY, (key, value))
        entries = self._elements(entry, self._count(entry))
        if is_nullable_key(key):
            return entries
        if any(entry["key"] is None for entry in entries):
            self.view.position = start
            raise self.view.error("a null key, which Arrow's maps do not have", UndecodableError)
        return [(entry["key"], entry["value"]) for entry in entries]

    def bounded(self, inner: Layout, size: int) -> Value:
        return self._inside(inner, self.view.read_view(size))

    def _inside(self, inner: Layout, content: DataInputView) -> Value:
        outer, self.view = self.view, content
        value = self.read(inner)
        self.expect_end()
        self.view, self.is_lost = outer, False
        return value

    def _blocks(self, element: Layout) -> list[Value]:
        values: list[Value] = []
        while not self.is_lost:
            count = self.view.read_varint()
            if count == 0:
                break
            limit = MAX_EMPTY_ELEMENTS if can_be_empty(element) else self.view.remaining
            if count > limit:
                raise self.view.error(f"a block of {count} elements, expected {limit} at most")
            values += self._elements(element, count)
        return values

    def expect_end(self) -> None:
        """Raises ``FormatError`` if bytes remain, unless a described object takes them."""
        take_rest(self)
        self.view.expect_end()

    def _java_object(self) -> dict[str, Value]:
        """The bytes of an object of Java, which is read only to find its end."""
        start = self.view.position
        try:
            read_java_object(self.view)
        except FormatError as error:
            self.view.position = start
            return self.undecoded(f"an object of Java: {error.message}")
        data = bytes(self.view.buffer[start : self.view.position])
        return {"bytes": data, "reason": JAVA_REASON}
