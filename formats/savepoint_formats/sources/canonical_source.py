"""Keyed state and timers of canonical files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.sources.entry_source import (
    BLOCK_SIZE,
    JOINED_SIZE,
    EntrySource,
    SourceSettings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_formats.entries.entry_spans import Part
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.state_files.canonical_entries import CanonicalEntries
    from savepoint_formats.state_files.sections import Section
    from savepoint_formats.state_files.state import State


class CanonicalSource(EntrySource):
    """Source of a canonical file; ``path`` is its name in errors, ``states`` are in order of ids."""

    def __init__(
        self,
        entries: CanonicalEntries,
        path: str,
        states: Sequence[State],
        settings: SourceSettings,
    ) -> None:
        super().__init__(states, settings, path)
        self.entries = entries
        self._names = tuple(state.name for state in states)

    def parts(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        size = min(JOINED_SIZE, self.settings.portion_size or JOINED_SIZE)
        for batch in self.entries.batches(key_groups, size):
            if self.is_large(batch[0].size):
                yield from self._large_parts(names, batch[0])
            else:
                yield self.entries.block(batch).part(self._names, names)

    def _large_parts(self, names: frozenset[str], section: Section) -> Iterator[Part]:
        file, section = self.entries.content(section)

        def blocks() -> Iterator[Part]:
            for block in self.entries.divided(file, section, BLOCK_SIZE):
                yield block.part(self._names, names)

        yield from self.portions(section.size, blocks)

    @property
    def block_size(self) -> int:
        """Bytes of a block: small enough that the tables of its entries fit into a core's caches."""
        return min(JOINED_SIZE, super().block_size)

    def blocks(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[Part]:
        for block in self.entries.blocks(key_groups, self.block_size, self.settings.share):
            yield block.part(self._names, names)
