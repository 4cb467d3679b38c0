"""Entries of one state as canonical files store them, whatever file they are from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.entries.entry_spans import key_groups_at
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.program.spans import Spans, bytes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.entries.entry_spans import Part
    from savepoint_formats.state_files.state import State


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


def pieces_of(part: Part, states: Sequence[State], prefix_size: int) -> Iterator[StatePiece]:
    """The entries of each state that has any in a chunk.

    Args:
        part: The entries, whose keys begin with their key groups.
        states: Of these states, and maybe others.
        prefix_size: The bytes of the key groups.
    """
    chunk, found = part
    for state in states:
        spans = found.get(state.name)
        if spans is not None and len(spans):
            groups = key_groups_at(chunk, spans.key_starts, prefix_size)
            entries = StoredEntries(
                bytes_of(chunk, Spans(spans.key_starts + prefix_size, spans.key_ends)),
                bytes_of(chunk, Spans(spans.value_starts, spans.value_ends)),
            )
            yield StatePiece(state, entries, groups.astype(np.uint16))
