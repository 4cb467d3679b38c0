"""Writes one value of any layout as Flink does: the mirror of ``values``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.values import binary_rows
from savepoint_formats.values.coded_values import write_coded
from savepoint_formats.values.kinds import moments
from savepoint_formats.values.kinds.codec import NullError, pairs_of
from savepoint_formats.values.kinds.scalars import SCALARS, SIZED
from savepoint_formats.values.kryo.object_values import write_kryo_value
from savepoint_formats.values.kryo.structs import has_others, struct_column_type
from savepoint_formats.values.masks import (
    write_masked_list,
    write_masked_struct,
    write_tagged,
    write_union,
)
from savepoint_formats.values.pickle_values import write_pickle
from savepoint_formats.values.pojo_values import write_pojo
from savepoint_formats.values.scala_values import SCALA_LAYOUTS, is_nullable_form, write_scala
from savepoint_formats.values.variants import write_variant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from savepoint_formats.layout import Layout
    from savepoint_formats.values.kinds.codec import Value

_ENTRY = ("key", "value")


def write_value(layout: Layout, value: Value, view: DataOutputView) -> None:
    """Writes a value; ``ValueError`` if the layout does not have it, or only Java can write it."""
    ValueWriter(view).write(layout, value)


class ValueWriter:
    """Writes values; the mirror of ``ValueReader``."""

    def __init__(self, view: DataOutputView) -> None:
        self.view = view
        self.is_lost = False

    def write(self, layout: Layout, value: Value) -> None:
        scalar = SCALARS.get(type(layout))
        if scalar is None:
            self._write_composite(layout, value)
        elif value is None and not scalar.is_nullable:
            raise NullError(f"null, which {type(layout).__name__} cannot be")
        else:
            scalar.write(value, self.view)

    def _write_composite(  # noqa: PLR0912, PLR0915 - the table of layouts
        self, layout: Layout, value: Value
    ) -> None:
        if value is None and not _may_be_null(layout):
            raise NullError(f"null, which {type(layout).__name__} cannot be")
        view = self.view
        match layout:
            case layouts.Nullable():
                self._nullable(layout, value)
            case layouts.Repeated(element):
                view.write_int(len(value))
                self._elements(element, value)
            case layouts.MapOf(key, item):
                self._map(key, item, value)
            case layouts.Struct(names, fields):
                self.fields(names, fields, value)
            case layouts.MaskedStruct():
                write_masked_struct(layout, value, self)
            case layouts.MaskedRepeated(element):
                write_masked_list(element, value, self)
            case layouts.Tagged():
                write_tagged(layout, value, self, has_null)
            case layouts.Pojo():
                write_pojo(layout, value, self)
            case layouts.Ttl(inner):
                moments.write_timestamp_millis(value["timestamp"], view)
                self.write(inner, value["value"])
            case layouts.Framed(inner):
                self._framed(inner, value)
            case layouts.Packed(element, False):
                self._elements(element, value)
            case layouts.Packed(inner) | layouts.Varying(inner) | layouts.OfClass(inner):
                self.write(inner, value)
            case layouts.Pickle():
                write_pickle(value, view)
            case _ if sized := SIZED.get(type(layout)):
                sized[1](layout, value, view)
            case layouts.BinaryRow() | layouts.BinaryArray() | layouts.BinaryMap():
                view.write_bytes(binary_rows.write_binary(layout, value, _bytes_of))
            case layouts.Variant():
                write_variant(layout, value, view)
            case layouts.BlockRepeated(element):
                self._block(element, value)
            case layouts.BlockMap(item):
                entry = layouts.Struct(_ENTRY, (layouts.Utf8(), item))
                pairs = pairs_of(value)
                self._block(entry, [dict(zip(entry.names, pair, strict=True)) for pair in pairs])
            case layouts.IndexedUnion():
                write_union(layout, value, self)
            case layouts.Coded():
                self.is_lost = write_coded(layout, value, view)
            case layouts.Kryo() if _is_typed(layout):
                self.is_lost = write_kryo_value(layout, value, view)
            case layouts.Kryo() | layouts.JavaObject() | layouts.Opaque():
                self._raw(layout, value)
            case _ if isinstance(layout, SCALA_LAYOUTS):
                write_scala(layout, value, self)
            case _:
                raise TypeError(f"{layout!r} is no layout")

    def fields(
        self, names: Sequence[str], fields: Sequence[Layout], values: dict[str, Value]
    ) -> None:
        """Writes the fields of a struct, one after the other."""
        for name, field in zip(names, fields, strict=True):
            if self.is_lost:
                break
            self.write(field, values[name])

    def _elements(self, element: Layout, values: Iterable[Value]) -> None:
        for value in values:
            self.write(element, value)
            self.expect_all("elements")

    def _nullable(self, layout: layouts.Nullable, value: Value, *, is_item: bool = False) -> None:
        is_null = value is None and not (is_item and is_null_of_scala(layout.inner))
        self.view.write_bool(is_null == layout.is_null)
        if is_null:
            self.view.write_bytes(bytes(layout.padding))
        else:
            self.write(layout.inner, value)

    def _map(self, key: Layout, item: Layout, value: Value) -> None:
        pairs = pairs_of(value)
        self.view.write_int(len(pairs))
        for given, content in pairs:
            self.write(key, given)
            if not self.is_lost:
                self._item(item, content)
            self.expect_all("entries")

    def _item(self, layout: Layout, value: Value) -> None:
        if isinstance(layout, layouts.Nullable):
            self._nullable(layout, value, is_item=True)
        else:
            self.write(layout, value)

    def _framed(self, inner: Layout, value: Value) -> None:
        outer, self.view = self.view, DataOutputView()
        self.write(inner, value)
        content, self.view = self.view.to_bytes(), outer
        self.is_lost = False
        self.write(layouts.Bytes(), content)

    def _block(self, element: Layout, values: Sequence[Value]) -> None:
        if values:
            self.view.write_varint(len(values))
            self._elements(element, values)
        self.view.write_varint(0)

    def _raw(self, layout: Layout, value: Value) -> None:
        data = value.get("bytes") if isinstance(value, dict) else None
        if not isinstance(data, bytes):
            raise ValueError(f"{value!r}: only Java can write a {type(layout).__name__}")
        self.view.write_bytes(data)
        self.is_lost = has_others(value)

    def copy(self, undecoded: dict[str, Value]) -> None:
        """Writes the bytes of an undecoded value, which may include other values."""
        self.view.write_bytes(undecoded["bytes"])
        self.is_lost = has_others(undecoded)

    def expect_all(self, what: str) -> None:
        """Raises ``ValueError`` if the bytes of the last value hold others, uncounted."""
        if self.is_lost:
            raise ValueError(
                f"{what} with an element that could not be decoded: their number is unknown"
            )


def _bytes_of(layout: Layout, value: Value) -> bytes:
    view = DataOutputView()
    write_value(layout, value, view)
    return view.to_bytes()


_WITH_NULL = (
    layouts.Nullable,
    layouts.Pojo,
    layouts.Framed,
    layouts.Varying,
    layouts.IndexedUnion,
    layouts.CaseClass,
    layouts.Coproduct,
    layouts.OfScala,
    layouts.OfClass,
    layouts.ScalaValue,
)


def is_null_of_scala(layout: Layout) -> bool:
    """Whether null is ``None``, which lies behind the flag of a map's value."""
    match layout:
        case layouts.Nullable(_, is_null):
            return not is_null
        case layouts.OfScala(inner):
            return isinstance(inner, layouts.Nullable)
        case _:
            return False


def _is_typed(layout: Layout) -> bool:
    """Whether Kryo's objects have a column of their own, and not only their bytes."""
    return isinstance(layout, layouts.Kryo) and struct_column_type(layout) is not None


def _may_be_null(layout: Layout) -> bool:
    """Whether a composite layout, or one inside it, may have null."""
    if isinstance(layout, layouts.Packed):
        return layout.is_single
    if isinstance(layout, layouts.Coded):
        return layout.codec.is_nullable
    if isinstance(layout, layouts.Marker):
        return layout.text is None
    return isinstance(layout, _WITH_NULL) or _is_typed(layout)


def has_null(layout: Layout) -> bool:
    """Whether null is a value of the layout."""
    match layout:
        case layouts.OfScala(_, True):
            return True
        case (
            layouts.Framed(inner)
            | layouts.Varying(inner)
            | layouts.OfScala(inner)
            | layouts.OfClass(inner)
            | layouts.Packed(inner, True)
        ):
            return has_null(inner)
        case layouts.IndexedUnion(_, branches):
            return any(map(has_null, branches))
        case layouts.ScalaValue():
            return is_nullable_form(layout)
        case _:
            scalar = SCALARS.get(type(layout))
            is_nullable = scalar is not None and scalar.is_nullable
            return is_nullable or _may_be_null(layout)
