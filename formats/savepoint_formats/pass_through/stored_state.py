"""Entries of existing state on their way into a new savepoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from savepoint_formats.entries.stored_entries import StoredEntries
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.state_files.state import State

RUN_SCHEMA = pa.schema({"key_group": pa.int32(), "run": pa.large_binary()})
"""A run of entries, or several one behind the other, of a key group of the new savepoint."""


@dataclass(frozen=True, slots=True, eq=False)
class StatePiece:
    """Entries of one state.

    Attributes:
        state: The state.
        entries: The entries, as canonical files store them.
        key_groups: The key group of each entry in the savepoint that it is from.
    """

    state: State
    entries: StoredEntries
    key_groups: NDArray[np.uint16]


class StoredSource(Protocol):
    """What a handle leads to: entries as they are stored."""

    def pieces(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[StatePiece]:
        """The entries of these states and key groups, some megabytes at a time."""
        ...
