"""Bytes with a version in front, the form in which connectors store state.

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
        version = view.read_int()
        return cls(version, view.read_bytes(view.read_count()))

    @classmethod
    def whole(cls, data: bytes, path: str) -> Self:
        """Reads all of ``data``."""
        view = DataInputView(data, path)
        versioned = cls.read(view)
        view.expect_end()
        return versioned

    def write(self, view: DataOutputView) -> None:
        view.write_int(self.version)
        view.write_int(len(self.data))
        view.write_bytes(self.data)

    def to_bytes(self) -> bytes:
        """Version, size and data."""
        view = DataOutputView()
        self.write(view)
        return view.to_bytes()
