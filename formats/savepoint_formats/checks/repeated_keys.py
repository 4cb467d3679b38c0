"""Finds keys that occur more than once in a state, some megabytes of entries at a time.

Entries that ascend have no equal neighbours, so no equal keys in a key group. Equal keys in two key
groups are not both in the key group of their key. So nothing is remembered of a state whose entries
ascend, each in its own key group. Other states have a hash of each key remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.checks.faults import Check, Fault, Severity
from savepoint_formats.entries.stored_entries import placed_hashes
from savepoint_formats.sources.keyed_batch import KeyRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.state_files.state_chunk import StateChunk


class RepeatedKeys:
    """Finds repeated keys in entries of some key groups.

    If ``is_late``, later entries of a state do not ascend: all must go to one that ``remembers`` keys.
    """

    def __init__(self, *, remembers: bool) -> None:
        self.is_late = False
        self._remembers = remembers
        self._last: dict[str, tuple[int, bytes]] = {}
        self._hashes: dict[str, list[NDArray[np.uint64]]] = {}

    def add(self, state_chunk: StateChunk, *, are_in_place: bool) -> None:
        """Adds the next entries; ``are_in_place``: each is in the key group of its key."""
        name = state_chunk.state.name
        is_first = name not in self._hashes
        hashes = self._hashes.setdefault(name, [])
        if are_in_place and not (hashes or self._remembers) and self._go_on(name, state_chunk):
            return
        self.is_late |= not (is_first or hashes)
        hashes.append(placed_hashes(state_chunk.entries.key_places))

    def _go_on(self, name: str, state_chunk: StateChunk) -> bool:
        """Whether all entries are above those before, by key group and key."""
        entries, groups = state_chunk.entries, state_chunk.key_groups
        data, keys = entries.key_places
        # Heap files have no order, and their key groups come one by one.
        if not (len(keys) and entries.prefix_size):
            return False
        first, last = (
            (int(groups[index]), data[keys.starts[index] : keys.ends[index]].tobytes())
            for index in (0, -1)
        )
        if name in self._last and first <= self._last[name]:
            return False
        self._last[name] = last
        rows = KeyRows(Chunk(data), entries.prefix_size)
        rows.rows(keys.starts, keys.ends)
        return len(rows) == len(keys) and rows.are_sorted

    def faults(self, part: KeyGroupRange, file: str) -> Iterator[Fault]:
        """A fault of each state that has repeated keys."""
        for name, parts in self._hashes.items():
            count = _repeated(np.concatenate(parts)) if parts else 0
            if count:
                yield Fault(
                    Severity.DAMAGE,
                    Check.UNIQUE_KEYS,
                    f"{count:,} keys occur more than once",
                    state=name,
                    key_group=str(part.start) if len(part) == 1 else str(part),
                    file=file,
                    lost_entries=count,
                    cost=f"{count:,} entries: of two with the same key, a restore keeps only one",
                )


def _repeated(keys: NDArray[np.uint64]) -> int:
    halves = np.sort(keys[:, 0])
    is_any = (halves[1:] == halves[:-1]).any()
    return len(keys) - len(np.unique(keys, axis=0)) if is_any else 0
