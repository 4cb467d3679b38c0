"""The general path: one value of any layout, by plain recursion.

What a layout means is said here and nowhere else; faster paths are proved equal to it. A value
is what pyarrow's ``to_pylist`` gives for ``arrow_type(layout)``, but for two things: a time or
date that Python has not is Arrow's integer (``times``).

Where a value ends that cannot be decoded is not known: it takes the bytes up to the end of the
frame, or else of the whole view. What follows it inside there is null, and its reason says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.counts import MAX_EMPTY_ELEMENTS, can_be_empty
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import FormatError, UndecodableError
from savepoint_formats.java.stream import read_java_object
from savepoint_formats.values import binary_rows
from savepoint_formats.values.alternatives import (
    read_tagged,
    read_union,
    write_tagged,
    write_union,
)
from savepoint_formats.values.arrow_types import (
    ROW_KIND,
    ROW_KINDS,
    is_nullable_key,
)
from savepoint_formats.values.kinds import moments, scalars
from savepoint_formats.values.kinds.codec import MAX_DEPTH, NullError
from savepoint_formats.values.kinds.scalars import SCALARS
from savepoint_formats.values.kryo.values import DescribedObject, read_kryo_value, take_rest
from savepoint_formats.values.map_entries import pairs_of
from savepoint_formats.values.masks import (
    read_masked_list,
    read_masked_struct,
    write_masked_list,
    write_masked_struct,
)
from savepoint_formats.values.pojo_values import read_pojo, write_pojo
from savepoint_formats.values.undecoded import JAVA_REASON

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from savepoint_formats.layout import Layout
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.dialect import KryoDialect

_ENTRY = ("key", "value")
_ALONG = "; these bytes are also those of"


def read_value(layout: Layout, view: DataInputView, kryo: KryoDialect | None = None) -> Value:
    """The next value of ``view``, as pyarrow's ``to_pylist`` would give it.

    Args:
        layout: How it lies.
        view: Its bytes; the position moves behind them.
        kryo: What is known of the Kryo that wrote its object graphs.

    Raises:
        FormatError: The bytes are no value of the layout.
        UndecodableError: They are one that its Arrow type cannot hold.
    """
    return ValueReader(view, kryo).read(layout)


def write_value(layout: Layout, value: Value, view: DataOutputView) -> None:
    """Writes a value as Flink does; the mirror of ``read_value``.

    Raises:
        ValueError: The value is none of the layout, or one that only Java can write.
    """
    ValueWriter(view).write(layout, value)


class ValueReader:
    """Reads values, and keeps what it could not decode.

    Attributes:
        view: The bytes.
        undecoded_values: The bytes and the reason of each value that could not be decoded.
        is_lost: Whether one of them took all bytes up to the end of the frame.
        described: The last object of a class that the user described.
        distrusted: Where objects lie whose description does not fit what follows them.
    """

    def __init__(self, view: DataInputView, kryo: KryoDialect | None = None) -> None:
        self.view = view
        self.kryo = kryo
        self.undecoded_values: list[dict[str, Value]] = []
        self.is_lost = False
        self._depth = 0
        self.described: DescribedObject | None = None
        self.distrusted: set[int] = set()

    def read(self, layout: Layout) -> Value:
        """The next value."""
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
                return self._nullable(layout)
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
                return self._framed(inner)
            case layouts.Varying(inner):
                return self.read(inner)
            case layouts.Enum():
                return scalars.read_enum(layout, view)
            case layouts.Marker():
                return scalars.read_marker(layout, view)
            case layouts.FixedBytes():
                return scalars.read_fixed_bytes(layout, view)
            case layouts.DecimalData():
                return scalars.read_decimal_data(layout, view)
            case layouts.TimestampData():
                return moments.read_timestamp_data(layout, view)
            case layouts.BinaryRow(names, types):
                row = binary_rows.read_row(types, view.read_view(view.remaining))
                return dict(zip([*names, ROW_KIND], row, strict=True))
            case layouts.BinaryArray(element_type):
                return binary_rows.read_array(element_type, view.read_view(view.remaining))
            case layouts.BinaryMap(key_type, value_type):
                content = view.read_view(view.remaining)
                return binary_rows.read_map(key_type, value_type, content)
            case layouts.BlockRepeated(element):
                return self._blocks(element)
            case layouts.BlockMap(value):
                entries = self._blocks(layouts.Struct(_ENTRY, (layouts.Utf8(), value)))
                return [(entry["key"], entry["value"]) for entry in entries]
            case layouts.IndexedUnion():
                return read_union(layout, self)
            case layouts.Kryo():
                return read_kryo_value(layout, self)
            case layouts.JavaObject():
                return self._java_object()
            case layouts.Opaque(class_name, reason):
                return self.undecoded(f"{class_name}: {reason}")
            case _:
                raise TypeError(f"{layout!r} is no layout")

    def fields(self, names: Sequence[str], fields: Sequence[Layout]) -> dict[str, Value]:
        """The fields of a struct, one behind the other."""
        values: dict[str, Value] = dict.fromkeys(names)
        for name, field in zip(names, fields, strict=True):
            if self.is_lost:
                self.take_along(repr(name))
            else:
                values[name] = self.read(field)
        return values

    @property
    def reason(self) -> str:
        """Why a value could not be decoded; of several, the first."""
        return str(self.undecoded_values[0]["reason"])

    def undecoded(self, reason: str) -> dict[str, Value]:
        """All bytes that are left, and the reason."""
        found: dict[str, Value] = {"bytes": self.view.read_rest(), "reason": reason}
        self.undecoded_values.append(found)
        self.is_lost = True
        return found

    def take_along(self, what: str) -> None:
        """Says of the value that took all bytes that those of something else are among them."""
        last = self.undecoded_values[-1]
        is_first = _ALONG not in last["reason"]
        last["reason"] += f"{_ALONG if is_first else ','} {what}"

    def _count(self, element: Layout) -> int:
        """The number of elements, no more than the bytes that are left can hold."""
        if not can_be_empty(element):
            return self.view.read_count()
        count = self.view.read_count(element_size=0)
        if count > MAX_EMPTY_ELEMENTS:
            raise self.view.error(f"a count of {count} elements without bytes")
        return count

    def _elements(self, element: Layout, count: int) -> list[Value]:
        values: list[Value] = []
        while len(values) < count and not self.is_lost:
            values.append(self.read(element))
        if len(values) < count:
            self.take_along(f"{count - len(values)} more elements")
        return values

    def _nullable(self, layout: layouts.Nullable) -> Value:
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
        if any(one["key"] is None for one in entries):
            self.view.position = start
            raise self.view.error("a null key, which Arrow's maps have not", UndecodableError)
        return [(one["key"], one["value"]) for one in entries]

    def _framed(self, inner: Layout) -> Value:
        outer = self.view
        self.view = outer.read_view(outer.read_count())
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
        """Raises ``FormatError`` if bytes are left that are no object's."""
        take_rest(self)
        self.view.expect_end()

    def _java_object(self) -> dict[str, Value]:
        """The bytes of an object of Java, which is read for nothing but to know where it ends."""
        start = self.view.position
        try:
            read_java_object(self.view)
        except FormatError as error:
            self.view.position = start
            return self.undecoded(f"an object of Java: {error.message}")
        data = bytes(self.view.buffer[start : self.view.position])
        return {"bytes": data, "reason": JAVA_REASON}


class ValueWriter:
    """Writes values; the mirror of ``ValueReader``."""

    def __init__(self, view: DataOutputView) -> None:
        self.view = view
        self.is_lost = False

    def write(self, layout: Layout, value: Value) -> None:
        """Writes the next value."""
        scalar = SCALARS.get(type(layout))
        if scalar is None:
            self._write_composite(layout, value)
        elif value is None and not scalar.is_nullable:
            raise NullError(f"null, which {type(layout).__name__} has not")
        else:
            scalar.write(value, self.view)

    def _write_composite(  # noqa: PLR0912, PLR0915 - the table of layouts
        self, layout: Layout, value: Value
    ) -> None:
        if value is None and not isinstance(layout, _WITH_NULL):
            raise NullError(f"null, which {type(layout).__name__} has not")
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
            case layouts.Varying(inner):
                self.write(inner, value)
            case layouts.Enum():
                scalars.write_enum(layout, value, view)
            case layouts.Marker():
                scalars.write_marker(layout, value, view)
            case layouts.FixedBytes():
                scalars.write_fixed_bytes(layout, value, view)
            case layouts.DecimalData():
                scalars.write_decimal_data(layout, value, view)
            case layouts.TimestampData():
                moments.write_timestamp_data(layout, value, view)
            case layouts.BinaryRow(names, types):
                kind = value.get(ROW_KIND) or ROW_KINDS[0]
                row = [value[name] for name in names]
                view.write_bytes(binary_rows.write_row(types, row, kind))
            case layouts.BinaryArray(element_type):
                view.write_bytes(binary_rows.write_array(element_type, value))
            case layouts.BinaryMap(key_type, value_type):
                pairs = pairs_of(value)
                view.write_bytes(binary_rows.write_map(key_type, value_type, pairs))
            case layouts.BlockRepeated(element):
                self._block(element, value)
            case layouts.BlockMap(item):
                entry = layouts.Struct(_ENTRY, (layouts.Utf8(), item))
                pairs = pairs_of(value)
                self._block(entry, [dict(zip(entry.names, pair, strict=True)) for pair in pairs])
            case layouts.IndexedUnion():
                write_union(layout, value, self)
            case layouts.Kryo() | layouts.JavaObject() | layouts.Opaque():
                self._raw(layout, value)
            case _:
                raise TypeError(f"{layout!r} is no layout")

    def fields(
        self, names: Sequence[str], fields: Sequence[Layout], values: dict[str, Value]
    ) -> None:
        """The fields of a struct, one behind the other."""
        for name, field in zip(names, fields, strict=True):
            if self.is_lost:
                break
            self.write(field, values[name])

    def _elements(self, element: Layout, values: Iterable[Value]) -> None:
        for value in values:
            self.write(element, value)
            self.expect_all("elements")

    def _nullable(self, layout: layouts.Nullable, value: Value) -> None:
        self.view.write_bool((value is None) == layout.is_null)
        if value is None:
            self.view.write_bytes(bytes(layout.padding))
        else:
            self.write(layout.inner, value)

    def _map(self, key: Layout, item: Layout, value: Value) -> None:
        pairs = pairs_of(value)
        self.view.write_int(len(pairs))
        for pair in pairs:
            self.fields(_ENTRY, (key, item), dict(zip(_ENTRY, pair, strict=True)))
            self.expect_all("entries")

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
        self.is_lost = _takes_rest(layout, value)

    def copy(self, data: bytes) -> None:
        """Writes what could not be decoded, with all that lay behind it."""
        self.view.write_bytes(data)
        self.is_lost = True

    def expect_all(self, what: str) -> None:
        """Raises ``ValueError`` if others were among the bytes of the last value, uncounted."""
        if self.is_lost:
            raise ValueError(f"{what} of which one could not be decoded: nobody knows how many")


def _takes_rest(layout: Layout, value: dict[str, Value]) -> bool:
    """Whether the bytes of a value are those up to the end of what holds it."""
    if not isinstance(layout, layouts.JavaObject):
        return isinstance(layout, layouts.Opaque) or value.get("reason") is not None
    view = DataInputView(value["bytes"])
    try:
        read_java_object(view)
    except FormatError:
        return True
    return view.remaining > 0


_WITH_NULL = (
    layouts.Nullable,
    layouts.Marker,
    layouts.Pojo,
    layouts.Framed,
    layouts.Varying,
    layouts.IndexedUnion,
)


def has_null(layout: Layout) -> bool:
    """Whether null is a value of the layout."""
    match layout:
        case layouts.Framed(inner) | layouts.Varying(inner):
            return has_null(inner)
        case layouts.IndexedUnion(_, branches):
            return any(map(has_null, branches))
        case _:
            scalar = SCALARS.get(type(layout))
            return isinstance(layout, _WITH_NULL) or (scalar is not None and scalar.is_nullable)
