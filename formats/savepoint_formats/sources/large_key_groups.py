"""Key groups that are too large to be decoded as a whole.

The rows of a key group are complete only when all its entries were seen, for its states lie one
behind the other. The entries of a large one are therefore divided among portions, by a hash of
their identity, and each portion is decoded by itself. What is held are the bytes of the portions;
where they are too many, the key group is read again for others of them. So memory is bounded,
however large a key group is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_spans import EntrySpans
from savepoint_formats.entries.portions import CopiedEntries, Memory, copied_spans, divided

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from savepoint_formats.entries.entry_spans import Part

    Positions = NDArray[np.int64]
    Identities = Callable[[str, Chunk, EntrySpans], tuple[Positions, Positions]]

HELD_SIZE = 96 << 20
"""Bytes of the portions that one pass over a key group gathers."""


def portions(
    blocks: Callable[[], Iterator[Part]],
    size: int,
    count: int,
    chosen: range,
    identities: Identities,
    path: str,
    *,
    held: int,
) -> Iterator[Part]:
    """The entries of a key group, portion by portion; all entries of a key are in one portion.

    Args:
        blocks: Reads the key group from its beginning, in blocks of any size.
        size: The bytes of the key group, about.
        count: How many portions.
        chosen: The numbers of those that are wanted.
        identities: Where the identities of entries of a state begin and end.
        path: Where the entries come from; named in errors.
        held: How many portions are gathered in one pass.
    """
    passes = -(-len(chosen) // held)
    for wanted in (chosen[number::passes] for number in range(passes)):
        gathered, memory = [_Portion() for _ in wanted], Memory(size * len(wanted) // count)
        for chunk, by_state in blocks():
            for name, spans in by_state.items():
                own = identities(name, chunk, spans)
                parts = divided(chunk, (*own, *spans.arrays()), count, wanted, memory)
                for portion, entries in zip(gathered, parts, strict=True):
                    portion.add(name, entries)
        while gathered:
            # Nothing else holds a portion, so that it goes when it is done.
            yield gathered.pop(0).part(path)


class _Portion:
    """Entries of a portion, state by state."""

    def __init__(self) -> None:
        self._states: dict[str, list[CopiedEntries]] = {}

    def add(self, name: str, entries: CopiedEntries) -> None:
        """Takes entries of a state."""
        if len(entries):
            self._states.setdefault(name, []).append(entries)

    def part(self, path: str) -> Part:
        """All entries taken, in one chunk."""
        size = 0
        spans: dict[str, EntrySpans] = {}
        for name, of_state in self._states.items():
            spans[name] = EntrySpans(*copied_spans(of_state, size))
            size += sum(len(entries.data) for entries in of_state)
        pieces = [entries.data for state in self._states.values() for entries in state]
        return Chunk(np.concatenate([np.empty(0, np.uint8), *pieces]), path), spans
