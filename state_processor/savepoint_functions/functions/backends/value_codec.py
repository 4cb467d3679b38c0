"""Python values of a function to and from the bytes that a serializer writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_database.types import given, shaped, taken
from savepoint_formats.bytes import DataInputView, DataOutputView
from savepoint_formats.errors import UnencodableError
from savepoint_formats.values import (
    SCALARS,
    EntryReader,
    EntryWriter,
    NullableRest,
    arrow_type,
    written_dialect,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.layout import Layout

    Shape = Callable[[Any], Any]


def shape_of(layout: Layout, name: str) -> Shape | None:
    """Gives values of a layout the form that functions take; None if they have it already.

    ``name`` names the values in messages. A value that doesn't fit raises ``UnencodableError``.
    """
    convert = shaped(arrow_type(layout))
    if convert is None:
        return None

    def shape(value: Any) -> Any:
        try:
            return None if value is None else convert(value)
        except (TypeError, ValueError) as error:
            raise UnencodableError(f"{value!r} is no value of {name}: {error}") from error

    return shape


class ValueCodec:
    """Values of one layout, which may be a ``NullableRest`` as in maps of RocksDB.

    ``name`` names the values in messages.
    """

    def __init__(self, layout: Layout, name: str) -> None:
        self._layout = layout
        self._name = name
        inner = layout.inner if isinstance(layout, NullableRest) else layout
        self._kryo = written_dialect(layout)
        self._scalar = SCALARS.get(type(layout))
        self._taken = taken(arrow_type(inner))
        self._is_plain = self._taken is None
        self._given = given(arrow_type(inner))

    def encode(self, value: Any) -> bytes:
        """The bytes of a value. Raises ``UnencodableError`` if it doesn't fit the layout."""
        view = DataOutputView()
        try:
            if self._scalar is not None and self._is_plain:
                self._scalar.write(value, view)
            else:
                EntryWriter(view).write(self._layout, self._given(value))
        except (
            TypeError,
            ValueError,
            KeyError,
            OverflowError,
            AttributeError,
            ArithmeticError,
        ) as e:
            raise UnencodableError(f"{value!r} is no value of {self._name}: {e}") from e
        return view.to_bytes()

    def decode(self, data: bytes) -> Any:
        view = DataInputView(data)
        if self._scalar is not None and self._is_plain:
            return self._scalar.read(view)
        value = EntryReader(view, self._kryo).read(self._layout)
        return value if value is None or self._taken is None else self._taken(value)
