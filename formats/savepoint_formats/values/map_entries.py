"""The entries of a map, in the forms in which a caller may have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.values.kinds.codec import NullError

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value


def pairs_of(value: Value) -> list[tuple[Value, Value]]:
    """The entries of a map, given as a dict, as pairs, or as dicts of ``key`` and ``value``."""
    entries = value.items() if isinstance(value, dict) else value
    if None in entries:
        raise NullError("null, which an entry of a map cannot be")
    return [
        (entry["key"], entry["value"]) if isinstance(entry, dict) else entry for entry in entries
    ]
