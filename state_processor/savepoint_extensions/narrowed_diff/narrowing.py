"""Finds the rows of two savepoints that may differ, before any is decoded."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from savepoint_database.checks.table_diff import Narrowed
from savepoint_extensions.narrowed_diff.compared_entries import EntryDigests, entries_that_differ
from savepoint_extensions.narrowed_diff.compared_files import Candidates, ComparedFiles
from savepoint_extensions.narrowed_diff.gathered_side import gathered_side, header_of, settings_of
from savepoint_extensions.narrowed_diff.rocksdb_candidates import key_group_pieces
from savepoint_formats.errors import FormatError, SavepointError
from savepoint_formats.scan import check_subtasks

if TYPE_CHECKING:
    from savepoint_database.checks.table_diff import Narrowing, Side, TableDiff
    from savepoint_formats.key_groups import KeyGroupRange

_GIVEN_UP = 2
"""Consecutive parts with few equal entries after which entries are no longer compared."""

_PIECES = 4
"""Number of pieces of a range, of which one at a time is in memory."""


def narrowed(pair: TableDiff) -> Narrowing | None:
    """Finds rows of a table that may differ; None if equal bytes don't mean equal rows."""
    sides = pair.before, pair.after
    kryo = {side.operator.kryo.version if side.operator.kryo else None for side in sides}
    states = {frozenset(side.table.states) for side in sides}
    is_same = len(kryo) == len(states) == 1 and pair.has_unique_keys
    return ByBytes(sides) if is_same and all(map(_has_own_key_groups, sides)) else None


def _has_own_key_groups(side: Side) -> bool:
    """Whether subtasks have the key groups of their numbers; otherwise decoding raises the error."""
    try:
        check_subtasks(side.operator.record, side.operator.directory.metadata_path)
    except FormatError:
        return False
    return True


class ByBytes:
    """The narrowing of a table; remembers what it has read of its files."""

    def __init__(self, sides: tuple[Side, Side]) -> None:
        self._sides = sides
        self._files = ComparedFiles(*sides)
        self._failures = 0

    def __call__(self, part: KeyGroupRange) -> Narrowed | None:
        try:
            candidates = self._files.candidates(part)
        except SavepointError:
            candidates = Candidates([part], rows=0)  # the file may not be needed, or raises again
        if candidates.ranges:
            if self._failures >= _GIVEN_UP or not self._compare(candidates):
                return None
            self._failures = 0 if candidates.are_few else self._failures + 1
        if not (candidates.before or candidates.after):
            return Narrowed(None, candidates.rows)
        (before, after), (first, second) = self._sides, self._headers
        if first is None or second is None:
            return None
        sides = (
            gathered_side(before, first, candidates.before),
            gathered_side(after, second, candidates.after),
        )
        return Narrowed(sides, candidates.rows)

    def _compare(self, candidates: Candidates) -> bool:
        """Compares all entries of the remaining ranges; whether that is possible."""
        before, after = self._digests
        for key_groups in (
            each for wide in candidates.ranges for each in key_group_pieces(wide, _PIECES)
        ):
            try:
                first, second = before.of(key_groups), after.of(key_groups)
                candidates.compared += len(first) + len(second)
                if candidates.rows is not None:
                    count = first.row_count()
                    candidates.rows = None if count is None else candidates.rows + count
                if first.total() == second.total():
                    continue
                differ = entries_that_differ(first, second)
            except SavepointError:
                return False  # decoding may succeed, or raises the error
            if differ is None:
                return False
            candidates.before += differ[0]
            candidates.after += differ[1]
        return True

    @cached_property
    def _digests(self) -> tuple[EntryDigests, EntryDigests]:
        before, after = (
            EntryDigests(
                side.operator.directory, side.operator.record, side.table.states, settings_of(side)
            )
            for side in self._sides
        )
        return before, after

    @cached_property
    def _headers(self) -> tuple[bytes | None, bytes | None]:
        before, after = map(header_of, self._sides)
        return before, after
