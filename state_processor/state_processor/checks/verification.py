"""Whether a snapshot is whole: every file, header, offset, key and value of it.

| what is looked at                                                         | quick | deep |
|---------------------------------------------------------------------------|-------|------|
| files are there, have their size, and begin as files of their kind do     | yes   | yes  |
| headers can be read; offsets lie inside of their files, in their order    | yes   | yes  |
| sections hold whole entries of their own key group, up to their end marks |       | yes  |
| checksums of the blocks of RocksDB's tables and of its manifest           |       | yes  |
| the tables of RocksDB are those that its manifest lists                   |       | yes  |
| keys are there once, in the key group that their hash code says           |       | yes  |
| keys and values can be decoded, to their last byte                        |       | yes  |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from savepoint_formats.checks.entry_faults import CheckedEntries, EntryChecks, key_group_faults
from savepoint_formats.checks.faults import Check, Fault
from savepoint_formats.checks.file_faults import checked_files
from savepoint_formats.checks.header_faults import header_faults
from savepoint_formats.checks.operator_state_faults import checked_elements
from savepoint_formats.checks.rocksdb_faults import foreign_tables, rocksdb_faults
from savepoint_formats.errors import SavepointError
from savepoint_formats.metadata import IncrementalHandle
from savepoint_formats.metadata.references import keyed_streams
from savepoint_formats.scan.splits import pieces_of
from savepoint_formats.scan.subtasks import check_subtasks
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.subtask_sources import keyed_handles, stored_source
from savepoint_formats.state_files.state import key_layout
from savepoint_formats.tables.catalog import base_handles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.metadata import KeyedStateHandle, SubtaskState
    from state_processor.snapshot.operator import Operator
    from state_processor.snapshot.snapshot import Snapshot

Depth = Literal["quick", "deep"]

PART_SIZE = 64 << 20
"""Bytes of keyed state that are looked at together; keys are compared within them."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found.

    Attributes:
        path: The savepoint.
        depth: ``quick`` or ``deep``.
        result: ``whole`` or ``damaged``.
        is_whole: Whether nothing is damaged; what could not be checked is no damage.
        operators: How many operators there are.
        files: How many files were looked at.
        file_size: Their bytes; of a piece of a file its own.
        entries: How many entries and elements were decoded.
        faults: What is wrong, or could not be checked.
    """

    path: str
    depth: str
    result: str
    is_whole: bool
    operators: int
    files: int
    file_size: int
    entries: int
    faults: tuple[Fault, ...]

    @classmethod
    def of(cls, snapshot: Snapshot, depth: Depth = "deep") -> Verification:
        """Looks at a snapshot; see the table of this module.

        Raises:
            ValueError: There is no such depth.
        """
        if depth not in ("quick", "deep"):
            raise ValueError(f"depth is {depth!r}, expected 'quick' or 'deep'")
        seen = _Seen()
        for operator in snapshot.operators():
            _OperatorChecks(operator, seen, is_deep=depth == "deep").run()
        faults = tuple(dict.fromkeys(seen.faults))
        is_damaged = any(fault.is_damage for fault in faults)
        return cls(
            path=snapshot.path,
            depth=depth,
            result="damaged" if is_damaged else "whole",
            is_whole=not is_damaged,
            operators=len(snapshot.operators()),
            files=len(seen.files),
            file_size=sum(seen.files.values()),
            entries=seen.entries,
            faults=faults,
        )

    @classmethod
    def of_unreadable(cls, path: str, depth: Depth, error: SavepointError) -> Verification:
        """What is left to say of a savepoint whose ``_metadata`` can't be read."""
        fault = Fault.of(Check.METADATA, error, cost="all state: nothing else says where it is")
        return cls(path, depth, "damaged", False, 0, 0, 0, 0, (fault,))


class _Seen:
    """What was seen so far, of all operators."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, int, int | None], int] = {}
        self.unreadable: set[str] = set()
        self.checked: set[tuple[str, int]] = set()
        self.faults: list[Fault] = []
        self.entries = 0


class _OperatorChecks:
    """Looks at one operator."""

    def __init__(self, operator: Operator, seen: _Seen, *, is_deep: bool) -> None:
        self._operator = operator
        self._seen = seen
        self._is_deep = is_deep

    def run(self) -> None:
        for fault in self._faults():
            self._seen.faults.append(replace(fault, operator=self._operator.name))

    def _faults(self) -> Iterator[Fault]:
        operator, directory = self._operator, self._operator.directory
        try:
            check_subtasks(operator.record, directory.metadata_path)
        except SavepointError as error:
            yield Fault.of(Check.METADATA, error, cost="rows of its key groups")
        for one in checked_files(directory, operator.record):
            file = one.file
            self._seen.files[file.path, file.start, file.size] = one.size
            if not one.is_readable:
                self._seen.unreadable.add(file.path)
            if one.fault is not None:
                yield one.fault
        unreadable = frozenset(self._seen.unreadable)
        for subtask in operator.record.subtasks:
            yield from header_faults(directory, subtask, unreadable)
        if self._is_deep:
            yield from self._rocksdb_faults()
            yield from self._element_faults()
            yield from self._entry_faults()

    def _rocksdb_faults(self) -> Iterator[Fault]:
        directory, seen = self._operator.directory, self._seen
        for subtask in self._operator.record.subtasks:
            for handle in base_handles(subtask.managed_keyed_state):
                if not isinstance(handle, IncrementalHandle):
                    continue
                for one in (*handle.shared, *handle.private):
                    file = directory.file(one.stream)
                    place = file.path, file.start
                    if file.path not in seen.unreadable and place not in seen.checked:
                        seen.checked.add(place)
                        for fault in rocksdb_faults(file, one.name, one.stream.size):
                            yield replace(fault, subtask=subtask.index)
                for fault in foreign_tables(directory, handle):
                    yield replace(fault, subtask=subtask.index)

    def _element_faults(self) -> Iterator[Fault]:
        operator = self._operator
        for subtask in operator.record.subtasks:
            if self._is_unreadable(subtask):
                continue
            found = checked_elements(
                operator.directory, subtask, operator.catalog.states, operator.kryo
            )
            for count, fault in found:
                self._seen.entries += count
                if fault is not None:
                    yield fault

    def _is_unreadable(self, subtask: SubtaskState) -> bool:
        handle = subtask.managed_operator_state
        if handle is None:
            return True
        return self._operator.directory.file(handle.stream).path in self._seen.unreadable

    def _entry_faults(self) -> Iterator[Fault]:
        operator = self._operator
        states = [state for state in operator.catalog.states if state.kind.is_keyed]
        if not states:
            return
        parallelism = operator.record.max_parallelism
        settings = SourceSettings(parallelism, operator.kryo)
        checks = EntryChecks(replace(settings, has_open_pojos=True))
        names = frozenset(state.name for state in states)
        total = CheckedEntries()
        for subtask in operator.record.subtasks:
            for handle, file in self._handles(subtask):
                try:
                    source = stored_source(
                        operator.directory, subtask, handle, key_layout(states[0]), settings
                    )
                except SavepointError as error:
                    yield replace(Fault.of(Check.HEADERS, error), subtask=subtask.index)
                    continue
                for part in pieces_of(handle, handle.key_groups, PART_SIZE):
                    found = checks.check(source, names, part, file)
                    yield from (replace(one, subtask=subtask.index) for one in found.faults)
                    found.faults.clear()
                    total.take(found)
        self._seen.entries += total.entries.total()
        yield from key_group_faults(states, total, parallelism)

    def _handles(self, subtask: SubtaskState) -> Iterator[tuple[KeyedStateHandle, str]]:
        """The handles of keyed state whose files can all be read, and what to call their file."""
        directory = self._operator.directory
        for handle in keyed_handles(subtask):
            paths = [directory.file(one).path for _, _, one in keyed_streams(handle, "")]
            if not self._seen.unreadable.intersection(paths):
                yield handle, paths[0] if len(set(paths)) == 1 else ""
