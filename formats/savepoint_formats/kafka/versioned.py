"""Bytes with a version in front, as connectors hand them to Flink.

| bytes  | field   | meaning                        |
|--------|---------|--------------------------------|
| i32    | version | of the serializer              |
| i32, … | data    | size, and what it wrote        |

Flink: ``SimpleVersionedSerialization``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView


@dataclass(frozen=True, slots=True)
class Versioned:
    """Bytes, and the version of what wrote them."""

    version: int
    data: bytes

    @classmethod
    def read(cls, view: DataInputView) -> Self:
        """Raises ``FormatError`` if there are fewer bytes than the size says."""
        version = view.read_int()
        return cls(version, view.read_bytes(view.read_count()))

    @classmethod
    def whole(cls, data: bytes, path: str) -> Self:
        """All of some bytes; raises ``FormatError`` if there are more, or fewer."""
        view = DataInputView(data, path)
        versioned = cls.read(view)
        view.expect_end()
        return versioned

    def write(self, view: DataOutputView) -> None:
        view.write_int(self.version)
        view.write_int(len(self.data))
        view.write_bytes(self.data)
