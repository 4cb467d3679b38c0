"""The handles of two sides, compared before their entries are: which key groups and rows may differ.

| handles of a key group       | what is compared                                                  |
|------------------------------|-------------------------------------------------------------------|
| two files with sections      | the bytes of the section, in the same place or on a local disk    |
| two RocksDBs                 | keys of tables that only one has; see ``rocksdb_candidates``      |
| others, or of one side only  | nothing: all entries have to be compared                          |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from savepoint_extensions.narrowed_diff.gathered_side import header_of_handle, settings_of
from savepoint_extensions.narrowed_diff.rocksdb_candidates import RocksDb, RocksDbPair
from savepoint_extensions.narrowed_diff.same_files import Sections, SnapshotFile
from savepoint_formats.key_groups import KeyGroupRange
from savepoint_formats.metadata import IncrementalHandle, KeyGroupsHandle
from savepoint_formats.sources.keyed_source import keyed_handles
from savepoint_formats.state_files import StateKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from savepoint_database.checks.table_diff import Side
    from savepoint_formats.metadata import KeyedStateHandle
    from savepoint_formats.sources.keyed_source import StoredHandle
    from savepoint_formats.state_files import StateChunk


@dataclass
class Candidates:
    """Entries of rows that may differ, on both sides.

    ``ranges`` are key groups whose entries are still to be compared, and ``compared`` the number of
    entries that were. ``rows`` is the number of rows before; None if not all are counted.
    """

    ranges: Sequence[KeyGroupRange]
    rows: int | None
    before: list[StateChunk] = field(default_factory=list)
    after: list[StateChunk] = field(default_factory=list)
    compared: int = 0

    @property
    def are_few(self) -> bool:
        """Whether at most half of the entries that were compared have to be decoded."""
        count = sum(len(chunk.entries) for chunk in (*self.before, *self.after))
        return 2 * count <= self.compared


class ComparedFiles:
    """The files of both sides; remembers what it has opened."""

    def __init__(self, before: Side, after: Side) -> None:
        self._sides = before, after
        self._pairs: dict[tuple[int, int], RocksDbPair | None] = {}

    def candidates(self, part: KeyGroupRange) -> Candidates:
        """Rows and key groups of a part that may differ."""
        candidates = Candidates([], None)
        left = set[int]()
        seen = [set[int](), set[int]()]
        handles = [list(self._handles(side)) for side in self._sides]
        for of_side, groups in zip(handles, seen, strict=True):
            for stored in of_side:
                groups.update(stored.handle.key_groups.intersection(part) or ())
        for first in handles[0]:
            for second in handles[1]:
                both = first.handle.key_groups.intersection(second.handle.key_groups)
                own = both.intersection(part) if both else None
                if own and first.is_raw == second.is_raw:
                    left.update(self._different(first.handle, second.handle, own, candidates))
        left |= seen[0] ^ seen[1]
        if self._has_raw:
            # Timers of a key group may lie in two files of a side.
            left.update(
                *(chunk.key_groups.tolist() for chunk in (*candidates.before, *candidates.after))
            )
            candidates.before, candidates.after = [], []
        candidates.ranges = list(KeyGroupRange.runs_of(left))
        if candidates.ranges == [part]:
            candidates.rows = 0
        return candidates

    def _handles(self, side: Side) -> Iterator[StoredHandle]:
        for subtask in side.operator.record.subtasks:
            for stored in keyed_handles(subtask):
                if not stored.is_raw or side.table.states[0].kind is StateKind.TIMERS:
                    yield stored

    @property
    def _has_raw(self) -> bool:
        return any(stored.is_raw for side in self._sides for stored in self._handles(side))

    def _different(
        self,
        before: KeyedStateHandle,
        after: KeyedStateHandle,
        key_groups: KeyGroupRange,
        candidates: Candidates,
    ) -> Iterable[int]:
        """Key groups whose entries are to be compared; rows that may differ go to ``candidates``."""
        if type(before) is KeyGroupsHandle and type(after) is KeyGroupsHandle:
            first, second = (
                Sections(SnapshotFile(side.operator.directory, handle.stream), handle)
                for side, handle in zip(self._sides, (before, after), strict=True)
            )
            return first.different(second, key_groups)
        if isinstance(before, IncrementalHandle) and isinstance(after, IncrementalHandle):
            pair = self._pair(before, after)
            rows = None if pair is None else pair.candidates(key_groups)
            if rows is not None:
                candidates.before += rows[0]
                candidates.after += rows[1]
                return ()
        return key_groups

    def _pair(self, before: IncrementalHandle, after: IncrementalHandle) -> RocksDbPair | None:
        place = id(before), id(after)
        if place not in self._pairs:
            handles = list(zip(self._sides, (before, after), strict=True))
            headers = [header_of_handle(side, handle) for side, handle in handles]
            first, second = (RocksDb(side.operator.directory, handle) for side, handle in handles)
            side = self._sides[0]
            pair = RocksDbPair(first, second, side.table.states, settings_of(side))
            self._pairs[place] = None if None in headers else pair
        return self._pairs[place]
