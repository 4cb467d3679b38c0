"""Stored keys and values: their borders, and the runs of entries."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_formats.entries.entry_encoder import (
        EncodedEntries,
        KeyColumns,
        ListEncoder,
        MapEncoder,
        TimerEncoder,
        ValueEncoder,
    )
    from savepoint_formats.entries.entry_ranges import EntryRanges, key_group_bounds, key_groups_at
    from savepoint_formats.entries.entry_ranges import Part as Part
    from savepoint_formats.entries.frames import section_frames
    from savepoint_formats.entries.stored_entries import (
        StoredEntries,
        distinct_hashes,
        placed_hashes,
        runs,
    )
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "EncodedEntries",
    "EntryRanges",
    "KeyColumns",
    "ListEncoder",
    "MapEncoder",
    "StoredEntries",
    "TimerEncoder",
    "ValueEncoder",
    "distinct_hashes",
    "key_group_bounds",
    "key_groups_at",
    "placed_hashes",
    "runs",
    "section_frames",
]
