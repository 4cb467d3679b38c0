"""Structures of bytes whose fields are described once, for reading and writing.

A codec writes back byte for byte what it reads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from enum import IntEnum


@dataclass(frozen=True, slots=True)
class Codec:
    """Reads and writes a field; if ``only_in`` is set, other types of a structure don't have it."""

    read: Callable[[Any], Any]
    write: Callable[[DataOutputView, Any], None]
    only_in: IntEnum | None = None

    def only(self, kind: IntEnum) -> Codec:
        """The codec of a field that holds only structures of this type."""
        return replace(self, only_in=kind)


class Record:
    """A dataclass that is stored as its fields in order."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]]
    FIELDS: ClassVar[tuple[Codec, ...]]

    @classmethod
    def read(cls, view: DataInputView) -> Self:
        new: Callable[..., Self] = cls
        return new(*[codec.read(view) for codec in cls.FIELDS])

    def write(self, view: DataOutputView) -> None:
        for name, codec in zip(self.__match_args__, self.FIELDS, strict=True):
            codec.write(view, getattr(self, name))

    @classmethod
    def whole(cls, data: bytes, path: str) -> Self:
        """Reads all of ``data``; ``FormatError`` names ``path``."""
        view = DataInputView(data, path)
        record = cls.read(view)
        view.expect_end()
        return record

    def to_bytes(self) -> bytes:
        view = DataOutputView()
        self.write(view)
        return view.to_bytes()


class FormRecord:
    """A dataclass whose stored fields, and their order, depend on a form such as a version.

    A field that a form doesn't have keeps its default.
    """

    __slots__ = ()

    @classmethod
    def fields(cls, form: Any) -> Mapping[str, Codec]:
        """The codec of each stored field, in the order of the bytes."""
        raise NotImplementedError

    @classmethod
    def codec(cls, form: Any) -> Codec:
        fields = tuple(cls.fields(form).items())

        def write(view: DataOutputView, record: Self) -> None:
            for name, field in fields:
                field.write(view, getattr(record, name))

        return Codec(lambda view: cls(**{name: field.read(view) for name, field in fields}), write)


def _write_sized(view: DataOutputView, data: bytes) -> None:
    view.write_int(len(data))
    view.write_bytes(data)


def _write_longs(view: DataOutputView, values: tuple[int, ...]) -> None:
    view.write_int(len(values))
    view.write_longs(values)


def _read_text(view: DataInputView) -> str:
    try:
        return view.read_bytes(view.read_count()).decode()
    except UnicodeDecodeError as error:
        raise view.error(f"not UTF-8: {error.reason}") from error


SHORT = Codec(lambda view: view.read_short(), DataOutputView.write_short)
INT = Codec(lambda view: view.read_int(), DataOutputView.write_int)
LONG = Codec(lambda view: view.read_long(), DataOutputView.write_long)
UTF = Codec(lambda view: view.read_utf(), DataOutputView.write_utf)
BOOL = Codec(lambda view: view.read_strict_bool(), DataOutputView.write_bool)
BYTES = Codec(lambda view: view.read_bytes(view.read_count()), _write_sized)
"""An i32 size, then the bytes."""
TEXT = Codec(_read_text, lambda view, text: _write_sized(view, text.encode()))
"""An i32 size, then UTF-8."""
LONGS = Codec(lambda view: view.read_longs(view.read_count(element_size=8)), _write_longs)


def constant(value: Any) -> Codec:
    """A field without bytes, which always has this value."""
    return Codec(lambda _: value, lambda _view, _value: None)


def record_of(kind: type[Record]) -> Codec:
    """A record."""
    return Codec(kind.read, lambda view, record: record.write(view))


def enum_codec(kind: type[IntEnum], what: str, number: Codec = INT) -> Codec:
    """A number that is a member of an enumeration; ``what`` names it in errors."""
    known = {member.value: member for member in kind}

    def read(view: DataInputView) -> IntEnum:
        if (code := number.read(view)) not in known:
            raise view.error(f"{what} {code}, expected {min(known)} to {max(known)}")
        return known[code]

    return Codec(read, number.write)


def optional_codec(field: Codec) -> Codec:
    """A bool; the field follows if it is set. None if it is not."""

    def write(view: DataOutputView, value: Any) -> None:
        view.write_bool(value is not None)
        if value is not None:
            field.write(view, value)

    return Codec(lambda view: field.read(view) if view.read_strict_bool() else None, write)


def tuple_codec(*fields: Codec) -> Codec:
    """Fields that follow each other, as a tuple."""

    def write(view: DataOutputView, values: tuple[Any, ...]) -> None:
        for field, value in zip(fields, values, strict=True):
            field.write(view, value)

    return Codec(lambda view: tuple([field.read(view) for field in fields]), write)


def list_codec(element: Codec | type[Record], size: int = 1) -> Codec:
    """An i32 count, then elements of at least ``size`` bytes each."""
    codec = element if isinstance(element, Codec) else record_of(element)

    def write(view: DataOutputView, values: tuple[Any, ...]) -> None:
        view.write_int(len(values))
        for value in values:
            codec.write(view, value)

    return Codec(
        lambda view: tuple([codec.read(view) for _ in range(view.read_count(size))]), write
    )
