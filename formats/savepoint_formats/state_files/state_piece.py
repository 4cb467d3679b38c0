"""Entries of one state as canonical files store them, whatever file they are from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_spans import EntrySpans, key_group_prefix, key_groups_at
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.program.spans import Spans, bytes_of, spans_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.entries.entry_spans import Part
    from savepoint_formats.key_groups.ranges import KeyGroupRange
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


class StoredSource(Protocol):
    """What a handle leads to: entries as they are stored."""

    def pieces(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[StatePiece]:
        """The entries of these states and key groups, some megabytes at a time."""
        ...


def pieces_of(part: Part, states: Sequence[State], prefix_size: int) -> Iterator[StatePiece]:
    """The entries of each state that has any in a chunk.

    Args:
        part: The entries, whose keys begin with their key groups.
        states: Of these states, and maybe others.
        prefix_size: The bytes of the key groups.
    """
    chunk, by_state = part
    for state in states:
        spans = by_state.get(state.name)
        if spans is not None and len(spans):
            groups = key_groups_at(chunk, spans.key_starts, prefix_size)
            entries = StoredEntries(
                bytes_of(chunk, Spans(spans.key_starts + prefix_size, spans.key_ends)),
                bytes_of(chunk, Spans(spans.value_starts, spans.value_ends)),
            )
            yield StatePiece(state, entries, groups.astype(np.uint16))


def part_of(pieces: Sequence[StatePiece], prefix_size: int) -> Part:
    """Entries of some states in one chunk: the other way round.

    Args:
        pieces: The entries, of one key group; those of a state are all in one piece.
        prefix_size: The bytes that the key group takes in front of a key.
    """
    position, data, spans = 0, [], {}
    for piece in pieces:
        prefix = key_group_prefix(int(piece.key_groups[0]), prefix_size)
        columns = (pa.scalar(prefix, pa.large_binary()), piece.entries.keys)
        nothing = pa.scalar(b"", pa.large_binary())
        keys, key_spans = spans_in(pc.binary_join_element_wise(*columns, nothing))
        values, value_spans = spans_in(piece.entries.values)
        behind = position + len(keys)
        spans[piece.state.name] = EntrySpans(
            key_spans.starts + position,
            key_spans.ends + position,
            value_spans.starts + behind,
            value_spans.ends + behind,
        )
        data += [keys, values]
        position = behind + len(values)
    return Chunk(np.concatenate(data)), spans
