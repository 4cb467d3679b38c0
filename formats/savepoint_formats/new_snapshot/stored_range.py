"""Bytes of a stored file that become bytes of a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from savepoint_formats.locations.location import Location


@dataclass(frozen=True, slots=True)
class StoredRange:
    """A piece of a file.

    Attributes:
        location: The file.
        start: The first byte.
        size: How many bytes.
    """

    location: Location
    start: int
    size: int

    def is_followed_by(self, other: StoredRange) -> bool:
        """Whether the other one begins where this one ends."""
        return self.location == other.location and self.start + self.size == other.start

    def first(self, size: int) -> StoredRange:
        """So many bytes from its beginning."""
        return StoredRange(self.location, self.start, size)

    def behind(self, size: int) -> StoredRange:
        """What follows so many bytes of it."""
        return StoredRange(self.location, self.start + size, self.size - size)
