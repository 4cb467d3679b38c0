"""Ranges of stored files that become bytes of new files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from savepoint_formats.locations.location import Location


@dataclass(frozen=True, slots=True)
class StoredRange:
    """A range of bytes of a file."""

    location: Location
    start: int
    size: int

    def is_followed_by(self, other: StoredRange) -> bool:
        """Whether the other range begins where this one ends."""
        return self.location == other.location and self.start + self.size == other.start

    def first(self, size: int) -> StoredRange:
        """Its first ``size`` bytes."""
        return StoredRange(self.location, self.start, size)

    def behind(self, size: int) -> StoredRange:
        """The range without its first ``size`` bytes."""
        return StoredRange(self.location, self.start + size, self.size - size)
