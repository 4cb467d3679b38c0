"""Types of keyed state handles, and records whose fields depend on a type."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Self

from savepoint_formats.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from savepoint_formats.bytes.codecs import Codec
    from savepoint_formats.bytes.data_view import DataInputView, DataOutputView


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


class TypedRecord:
    """A record whose first field is its type, which is stored in front of it."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]]
    FIELDS: ClassVar[tuple[Codec, ...]]

    @classmethod
    def read(cls, view: DataInputView, kind: IntEnum | None) -> Self:
        new: Callable[..., Self] = cls
        values = [
            codec.read(view) if codec.only_in in (None, kind) else None for codec in cls.FIELDS
        ]
        return new(kind, *values)

    def write(self, view: DataOutputView) -> None:
        """Raises ``RefusedError`` if a field is missing, or set although the type lacks it."""
        kind, *values = (getattr(self, name) for name in self.__match_args__)
        for name, value, codec in zip(self.__match_args__[1:], values, self.FIELDS, strict=True):
            is_needed = codec.only_in in (None, kind)
            if (value is not None) != is_needed:
                raise RefusedError(
                    f"a keyed state handle of type {kind.value} ({kind.name})"
                    f" {'without' if is_needed else 'with'} {name}, so it could not be read;"
                    f" {'set it' if is_needed else 'leave it out'}"
                )
            if is_needed:
                codec.write(view, value)
