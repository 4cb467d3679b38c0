"""Serializer entries: references to a serializer in headers of state files.

| bytes | field          | meaning                                               |
|-------|----------------|-------------------------------------------------------|
| i32   | version        | 2 (Flink 1.7 and later), 1 (before)                   |
| utf   | serializer     | class name of the serializer; version 1 only          |
| …     | snapshot       | version 2: a serializer snapshot                      |

Flink: ``TypeSerializerSnapshotSerializationUtil``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_formats.errors import UnsupportedVersionError
from savepoint_formats.snapshots.snapshot import TypeSerializerSnapshot, read_class_name

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataOutputView
    from savepoint_formats.snapshots.snapshot import SnapshotView

VERSION = 2


@dataclass(frozen=True, slots=True)
class SerializerEntry:
    """A serializer, by its snapshot."""

    snapshot: TypeSerializerSnapshot

    @classmethod
    def read(cls, view: SnapshotView) -> Self:
        """Raises ``UnsupportedVersionError`` for an entry of Flink 1.6 or older."""
        _read_version(view)
        return cls(TypeSerializerSnapshot.read(view))

    @staticmethod
    def expect_begun(view: SnapshotView) -> None:
        """Raises ``FormatError`` if no entry begins here; its serializer may be unknown."""
        _read_version(view)
        read_class_name(view)

    def write(self, view: DataOutputView) -> None:
        view.write_int(VERSION)
        self.snapshot.write(view)


def _read_version(view: SnapshotView) -> None:
    version = view.peek_int()
    if version != VERSION:
        raise view.error(
            f"a serializer entry of version {version}, expected {VERSION}: restore and save"
            " it with Flink 1.7 to 1.20 first",
            UnsupportedVersionError,
        )
    view.read_int()
