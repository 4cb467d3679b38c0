"""Keys and values of keyed state in canonical files and RocksDB.

| state            | key                                                       | value            |
|------------------|-----------------------------------------------------------|------------------|
| value, reducing, | prefix, key, [size], namespace, [size]                    | the value        |
| aggregating      |                                                           |                  |
| list             | as above                                                  | ``Delimited``    |
| map              | as above, then the user key                               | ``NullableRest`` |
| timers           | prefix, timer                                             | nothing          |

The sizes are there if both key and namespace vary in length: ``Suffixed``. No serializer has the nodes
below, so they are not among the layouts. They hold layouts, and a ``Struct`` may hold them.

Flink: ``SerializedCompositeKeyBuilder``, ``ListDelimitedSerializer``, ``RocksDBMapState``.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.errors import FormatError, TruncatedError, UndecodableError
from savepoint_formats.layout import (
    VARIABLE,
    Layout,
    Opaque,
    Struct,
    node,
    nodes_of,
    serializer_length,
)
from savepoint_formats.values.arrow_types import arrow_type
from savepoint_formats.values.kinds.codec import NullError
from savepoint_formats.values.kryo.object_values import take_rest
from savepoint_formats.values.value_writer import ValueWriter, has_null, is_null_of_scala
from savepoint_formats.values.values import ValueReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.values.kinds.codec import Value

DELIMITER = ord(",")


@node
class KeyPrefix(Layout):
    """The key group, in ``size`` bytes. Its value is null, because the file knows it."""

    size: int


@node
class Suffixed(Layout):
    """A value, then the number of its bytes, little endian, in as few bytes as it needs.

    It is not certain that a number follows if the serializer of key or namespace is not known.
    """

    inner: Layout
    is_certain: bool = True


@node
class Sized(Layout):
    """A value whose size alone is read."""

    inner: Layout


@node
class Delimited(Layout):
    """Elements with a comma between them, up to the end."""

    element: Layout


@node
class NullableRest(Layout):
    """A flag of null, then the value; bytes behind a null have no meaning."""

    inner: Layout


def is_ambiguous(key: Layout, namespace: Layout) -> bool:
    """Whether key and namespace are ``Suffixed``, because both vary in length."""
    return VARIABLE == serializer_length(key) == serializer_length(namespace)


def entry_key(
    prefix_size: int, key: Layout, namespace: Layout, user_key: Layout | None = None
) -> Struct:
    """The key of an entry; a map state has a ``user_key``."""
    if is_ambiguous(key, namespace):
        is_certain = not any(nodes_of(Struct(("key", "namespace"), (key, namespace)), Opaque))
        key, namespace = Suffixed(key, is_certain), Suffixed(namespace, is_certain)
    fields: dict[str, Layout] = {
        "prefix": KeyPrefix(prefix_size),
        "key": key,
        "namespace": namespace,
    }
    if user_key is not None:
        fields["user_key"] = user_key
    return Struct(tuple(fields), tuple(fields.values()))


def entry_type(layout: Layout) -> pa.DataType:
    """The Arrow type of an entry's key or value, of a node here or any layout."""
    match layout:
        case KeyPrefix():
            return pa.null()
        case Suffixed(inner) | NullableRest(inner):
            return entry_type(inner)
        case Sized():
            return pa.int32()
        case Delimited(element):
            return pa.list_(arrow_type(element))
        case Struct(names, fields):
            types = map(entry_type, fields)
            return pa.struct(
                [pa.field(name, kind) for name, kind in zip(names, types, strict=True)]
            )
        case _:
            return arrow_type(layout)


class EntryReader(ValueReader):
    """The general path, with the nodes of entries."""

    def read(self, layout: Layout) -> Value:
        view = self.view
        match layout:
            case KeyPrefix(size):
                view.read_bytes(size)
                return None
            case Suffixed(inner, is_certain):
                start = view.position
                value = self.read(inner)
                if self.is_lost:
                    self.take_along("its size")
                else:
                    _read_suffix(view.position - start, view, is_certain=is_certain)
                return value
            case Sized(inner):
                start = view.position
                self.read(inner)
                return view.position - start
            case Delimited(element):
                if borders := self.known_borders():
                    return list(self._separated(element, borders))
                return list(self._delimited(element))
            case NullableRest(inner):
                if view.read_bool():
                    view.read_rest()
                    return None
                return self.read(inner)
            case _:
                return super().read(layout)

    def _delimited(self, element: Layout) -> Iterator[Value]:
        view = self.view
        if not view.remaining:
            return
        yield self.read(element)
        while view.remaining:
            if view.read_unsigned_byte() != DELIMITER:
                view.position -= 1
                if take_rest(self):
                    return
                byte = view.buffer[view.position]
                raise view.error(f"a byte of {byte} between elements, expected a comma")
            yield self.read(element)
        if self.is_lost:
            self.take_along("the elements behind it, if there are any", are_elements=True)

    def _separated(self, element: Layout, borders: tuple[int, ...]) -> Iterator[Value]:
        for start, following in pairwise(borders):
            yield self.bounded(element, following - 1 - start)
            if following != borders[-1]:
                self.view.read_unsigned_byte()


class EntryWriter(ValueWriter):
    """The mirror of ``EntryReader``."""

    def write(self, layout: Layout, value: Value) -> None:
        view = self.view
        match layout:
            case KeyPrefix(size):
                view.write_bytes(bytes(size))
            case Suffixed(inner):
                start = view.position
                self.write(inner, value)
                view.write_bytes(length_suffix(view.position - start))
            case Delimited() if value is None:
                raise NullError("null, which Delimited cannot be")
            case Delimited(element):
                for index, item in enumerate(value):
                    if index:
                        view.write_byte(DELIMITER)
                    self.write(element, item)
            case NullableRest(inner):
                is_null = value is None and not is_null_of_scala(inner)
                view.write_bool(is_null)
                if not is_null:
                    self.write(inner, value)
            case _:
                super().write(layout, value)


def knows_null(layout: Layout) -> bool:
    """Whether null is a value of a node here or of any layout."""
    match layout:
        case KeyPrefix() | NullableRest():
            return True
        case Suffixed(inner):
            return knows_null(inner)
        case _:
            return has_null(layout)


def _read_suffix(size: int, view: DataInputView, *, is_certain: bool) -> None:
    start = view.position
    expected = length_suffix(size)
    data = view.read_bytes(min(len(expected), view.remaining))
    if data != expected:
        view.position = start
        message = f"a length suffix of {data.hex() or 'no bytes'} behind {size} bytes"
        if is_certain:
            is_cut = len(data) < len(expected) and expected.startswith(data)
            raise view.error(message, TruncatedError if is_cut else FormatError)
        message += "; none is stored if the serializer that is not known has a fixed length"
        raise view.error(message, UndecodableError)


def suffixed_size(data: bytes | memoryview) -> int | None:
    """Size of a value that fills the bytes together with its suffix; None if none does."""
    for suffix in range(1, _suffix_size(len(data)) + 1):
        size = len(data) - suffix
        if size >= 0 and data[size:] == length_suffix(size):
            return size
    return None


def length_suffix(size: int) -> bytes:
    """The suffix of ``Suffixed`` behind a value of ``size`` bytes."""
    return size.to_bytes(_suffix_size(size), "little")


def _suffix_size(size: int) -> int:
    return max(1, (size.bit_length() + 7) // 8)
