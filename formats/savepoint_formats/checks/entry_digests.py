"""Digests of entries, which show whether two snapshots have the same entries in any files.

Entries are compared in canonical form. A digest is the sum of the hashes of all entries, so that
it needs no order and little memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.checks.entry_faults import joined
from savepoint_formats.checks.row_hashes import chained, mixed
from savepoint_formats.entries.stored_entries import distinct_hashes
from savepoint_formats.program.spans import Spans, bytes_of
from savepoint_formats.sources.keyed_source import keyed_handles, stored_source
from savepoint_formats.sources.state_rows import EntryDecoder
from savepoint_formats.state_files.state import StateKind, key_layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.checks.row_hashes import Hashes
    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.sources.entry_source import SourceSettings
    from savepoint_formats.state_files.state import State
    from savepoint_formats.state_files.state_piece import StatePiece


@dataclass(slots=True)
class EntryDigest:
    """Sums per state: the number of entries, and both halves of their hashes.

    ``rows`` has hashes of the keys of rows, of all states.
    """

    sums: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    rows: list[Hashes] = field(default_factory=list)

    def row_count(self) -> int:
        """The number of rows that the entries make in a table."""
        if not self.rows:  # each entry is a row
            return sum(count for count, _, _ in self.sums.values())
        # Half of a hash is enough to count: 64 bits of some million keys hardly ever clash.
        keys = np.sort(np.concatenate([row[:, 0] for row in self.rows]))
        return int((keys[1:] != keys[:-1]).sum()) + min(len(keys), 1)


class EntryDigests:
    """Digests entries of some keyed states of an operator."""

    def __init__(
        self,
        directory: SnapshotDirectory,
        operator: OperatorState,
        states: tuple[State, ...],
        settings: SourceSettings,
    ) -> None:
        self._directory = directory
        self._operator = operator
        self._states = states
        self._settings = settings
        self._decoders = {
            state.name: EntryDecoder(state, 0, settings.kryo)
            for state in states
            if state.kind is StateKind.MAP
        }

    def of(self, key_groups: KeyGroupRange, *, with_rows: bool) -> EntryDigest:
        """The digest of some key groups; ``with_rows`` is for ``row_count``."""
        digest = EntryDigest()
        is_timers = self._states[0].kind is StateKind.TIMERS
        is_shared = not is_timers and (len(self._states) > 1 or bool(self._decoders))
        for piece in self._pieces(key_groups):
            keys, entries = distinct_hashes(piece.entries.keys), piece.entries
            hashes = mixed(chained(keys, distinct_hashes(entries.values)))
            sums = [int(hashes[:, half].sum()) for half in range(2)]
            count, low, high = digest.sums.get(piece.state.name, (0, 0, 0))
            digest.sums[piece.state.name] = (
                count + len(entries),
                (low + sums[0]) & _WORD,
                (high + sums[1]) & _WORD,
            )
            if with_rows and is_shared:
                digest.rows.append(self._rows(piece, keys))
        return digest

    def _rows(self, piece: StatePiece, keys: Hashes) -> Hashes:
        decoder = self._decoders.get(piece.state.name)
        if decoder is None:
            return keys
        chunk, spans = joined(piece.entries)
        starts, ends = decoder.identities(chunk, spans)
        hashes = np.unique(distinct_hashes(bytes_of(chunk, Spans(starts, ends))), axis=0)
        return np.asarray(hashes, np.uint64)

    def _pieces(self, key_groups: KeyGroupRange) -> Iterator[StatePiece]:
        names = frozenset(state.name for state in self._states)
        key = key_layout(self._states[0])
        for subtask in self._operator.subtasks:
            for handle in keyed_handles(subtask):
                if own := handle.key_groups.intersection(key_groups):
                    source = stored_source(self._directory, subtask, handle, key, self._settings)
                    yield from source.pieces(names, own)


_WORD = (1 << 64) - 1
