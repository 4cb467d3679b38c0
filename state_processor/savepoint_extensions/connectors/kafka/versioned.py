"""Bytes with a version in front, the form in which connectors store state.

| bytes  | field   | meaning                        |
|--------|---------|--------------------------------|
| i32    | version | of the serializer              |
| i32, … | data    | size, and what it wrote        |

Flink: ``SimpleVersionedSerialization``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from savepoint_formats.bytes import BYTES, INT, Codec, Record


@dataclass(frozen=True, slots=True)
class Versioned(Record):
    """Bytes, and the version of the serializer that wrote them."""

    FIELDS: ClassVar[tuple[Codec, ...]] = (INT, BYTES)
    version: int
    data: bytes
