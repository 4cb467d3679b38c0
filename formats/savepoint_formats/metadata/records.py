"""Records of ``_metadata``: sequences of fields, each described once for reading and writing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable


class KeyedHandleType(IntEnum):
    """The byte in front of a keyed state handle, in all versions of Flink.

    | type     | class             | since                                                            |
    |----------|-------------------|------------------------------------------------------------------|
    | 0        | (``None``)        |                                                                  |
    | 3, 7, 12 | KeyGroupsHandle   | 3 up to 1.14; 7 canonical savepoint, 1.13; 12 native, 1.15       |
    | 5, 11    | IncrementalHandle | 5 up to 1.14; 11 from 1.15                                       |
    | 8, 14    | ChangelogHandle   | 8 in 1.14 and early 1.15; 14 after that                          |
    | 9        | InMemoryChanges   | inside a ChangelogHandle                                         |
    | 10, 13   | FileChanges       | inside a ChangelogHandle; 13 names its storage                   |

    A file of type 3 or 12 has either the heap's or the canonical format.

    Flink: ``MetadataV2V3SerializerBase.serializeKeyedStateHandle``.
    """

    KEY_GROUPS_V1 = 3
    INCREMENTAL_V1 = 5
    CANONICAL_SAVEPOINT = 7
    CHANGELOG_V1 = 8
    IN_MEMORY_CHANGES = 9
    FILE_CHANGES_V1 = 10
    INCREMENTAL = 11
    KEY_GROUPS = 12
    FILE_CHANGES = 13
    CHANGELOG = 14


@dataclass(frozen=True, slots=True)
class Codec:
    """Reads and writes a field; if ``only_in`` is set, other types of handles don't have it."""

    read: Callable[[DataInputView], Any]
    write: Callable[[DataOutputView, Any], None]
    only_in: KeyedHandleType | None = None

    def only(self, handle_type: KeyedHandleType) -> Codec:
        """The codec of a field of this type of handle alone."""
        return replace(self, only_in=handle_type)


def _write_sized(view: DataOutputView, data: bytes) -> None:
    view.write_int(len(data))
    view.write_bytes(data)


def _write_longs(view: DataOutputView, values: tuple[int, ...]) -> None:
    view.write_int(len(values))
    view.write_longs(values)


INT = Codec(DataInputView.read_int, DataOutputView.write_int)
LONG = Codec(DataInputView.read_long, DataOutputView.write_long)
UTF = Codec(DataInputView.read_utf, DataOutputView.write_utf)
BYTES = Codec(lambda view: view.read_bytes(view.read_count()), _write_sized)
BOOL = Codec(DataInputView.read_strict_bool, DataOutputView.write_bool)
LONGS = Codec(lambda view: view.read_longs(view.read_count(element_size=8)), _write_longs)


def list_of(element: Codec | type[Record], size: int = 1) -> Codec:
    """An i32 count, then elements of at least ``size`` bytes each."""

    def read(view: DataInputView) -> tuple[Any, ...]:
        return tuple(element.read(view) for _ in range(view.read_count(size)))

    def write(view: DataOutputView, values: tuple[Any, ...]) -> None:
        view.write_int(len(values))
        for value in values:
            if isinstance(element, Codec):
                element.write(view, value)
            else:
                value.write(view)

    return Codec(read, write)


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


class TypedRecord:
    """A record whose first field is the type of the handle, which is stored in front of it."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]]
    FIELDS: ClassVar[tuple[Codec, ...]]
    type: KeyedHandleType

    @classmethod
    def read(cls, view: DataInputView, handle_type: KeyedHandleType) -> Self:
        new: Callable[..., Self] = cls
        values = [
            codec.read(view) if codec.only_in in (None, handle_type) else None
            for codec in cls.FIELDS
        ]
        return new(handle_type, *values)

    def write(self, view: DataOutputView) -> None:
        """Raises ``RefusedError`` if a field is missing, or set although the type lacks it."""
        values = [getattr(self, name) for name in self.__match_args__[1:]]
        for name, value, codec in zip(self.__match_args__[1:], values, self.FIELDS, strict=True):
            is_needed = codec.only_in in (None, self.type)
            if (value is not None) != is_needed:
                raise RefusedError(
                    f"a keyed state handle of type {self.type.value} ({self.type.name})"
                    f" {'without' if is_needed else 'with'} {name}, so that nobody could read it;"
                    f" {'set it' if is_needed else 'leave it out'}"
                )
            if is_needed:
                codec.write(view, value)
