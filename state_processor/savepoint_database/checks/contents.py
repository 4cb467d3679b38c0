"""Contents of operators, divided into splits that any process can check independently.

Checks, and the order of faults, are the same in all processes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from savepoint_formats.checks.entry_faults import (
    CheckedEntries,
    EntryChecks,
    checked_elements,
    key_group_faults,
)
from savepoint_formats.checks.faults import Check, Fault
from savepoint_formats.checks.rocksdb_faults import directory_faults, rocksdb_faults
from savepoint_formats.errors import SavepointError
from savepoint_formats.metadata import IncrementalHandle, keyed_streams
from savepoint_formats.scan import ranges_of_handle
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import StoredHandle, keyed_handles
from savepoint_formats.state_files import key_layout
from savepoint_formats.tables import base_handles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.locations import SnapshotDirectory
    from savepoint_formats.metadata import OperatorState, StreamHandle
    from savepoint_formats.state_files import State, StoredSource
    from savepoint_formats.values import KryoDialect

PART_SIZE = 64 << 20
"""Bytes of keyed state that are checked together; keys are compared within them."""


@dataclass(frozen=True, slots=True)
class RocksDbFile:
    """A file of RocksDB with checksums."""

    name: str
    stream: StreamHandle


@dataclass(frozen=True, slots=True)
class RocksDbTables:
    """The tables of a RocksDB, which must agree with its manifest."""

    handle: IncrementalHandle


@dataclass(frozen=True, slots=True)
class Elements:
    """The operator state of a subtask."""


@dataclass(frozen=True, slots=True)
class KeyedEntries:
    """Some key groups of a handle of keyed state."""

    handle: int
    key_groups: KeyGroupRange


@dataclass(frozen=True, slots=True)
class Part:
    """A task of the check; ``subtask`` is an index, ``size`` the approximate number of bytes to read."""

    contents: OperatorContents
    subtask: int
    what: RocksDbFile | RocksDbTables | Elements | KeyedEntries
    size: int


@dataclass(frozen=True, eq=False)
class OperatorContents:
    """State of an operator whose headers were checked; faults of ``unreadable`` files are known already."""

    directory: SnapshotDirectory
    record: OperatorState
    states: tuple[State, ...]
    kryo: KryoDialect | None
    unreadable: frozenset[str]

    def parts(self) -> Iterator[Part]:
        """All splits, in the order of their faults."""
        yield from self._rocksdb_parts()
        for number, subtask in enumerate(self.record.subtasks):
            handle = subtask.managed_operator_state
            if handle is not None and self._is_readable([handle.stream]):
                yield Part(self, number, Elements(), max(handle.stream.size, 0))
        if self.keyed_states:
            yield from self._keyed_parts()

    def _rocksdb_parts(self) -> Iterator[Part]:
        seen = set()
        for number, subtask in enumerate(self.record.subtasks):
            for handle in base_handles(subtask.managed_keyed_state):
                if not isinstance(handle, IncrementalHandle):
                    continue
                for stored_file in (*handle.shared, *handle.private):
                    file = self.directory.file(stored_file.stream)
                    place = file.path, file.start
                    if file.path not in self.unreadable and place not in seen:
                        seen.add(place)
                        what = RocksDbFile(stored_file.name, stored_file.stream)
                        yield Part(self, number, what, max(stored_file.stream.size, 0))
                yield Part(self, number, RocksDbTables(handle), 0)

    def _keyed_parts(self) -> Iterator[Part]:
        for number, subtask in enumerate(self.record.subtasks):
            for place, (handle, _) in enumerate(keyed_handles(subtask)):
                streams = [stream for _, _, stream in keyed_streams(handle, "")]
                if not self._is_readable(streams):
                    continue
                if handle.key_groups.end >= self.record.max_parallelism:
                    continue  # already a fault of ``_metadata``; no key can have such a prefix
                size = sum(max(stream.size, 0) for stream in streams)
                for key_groups in ranges_of_handle(handle, handle.key_groups, PART_SIZE):
                    own_size = size * len(key_groups) // len(handle.key_groups)
                    yield Part(self, number, KeyedEntries(place, key_groups), own_size)

    def _is_readable(self, streams: Iterable[StreamHandle]) -> bool:
        return self.unreadable.isdisjoint(self.directory.file(stream).path for stream in streams)

    @cached_property
    def keyed_states(self) -> tuple[State, ...]:
        return tuple(state for state in self.states if state.kind.is_keyed)

    def faults(self, seen: Iterable[CheckedEntries]) -> tuple[int, list[Fault]]:
        """Number of decoded entries, and the faults; ``seen`` has the result of each of the ``parts``."""
        total = CheckedEntries()
        for entries in seen:
            total.take(entries)
        parallelism = self.record.max_parallelism
        belonging = key_group_faults(self.keyed_states, total, parallelism)
        return total.entries.total(), [*total.faults, *belonging]


def looked_at(parts: Iterable[Part]) -> Iterator[CheckedEntries]:
    """Checks each of these splits."""
    for contents, own in groupby(parts, attrgetter("contents")):
        checks = _ContentChecks(contents)
        for part in own:
            seen = checks.look(part)
            index = contents.record.subtasks[part.subtask].index
            seen.faults[:] = [replace(fault, subtask=index) for fault in seen.faults]
            yield seen


class _ContentChecks:
    """Checks splits of one operator, and remembers how to read them."""

    def __init__(self, contents: OperatorContents) -> None:
        self._contents = contents
        self._settings = SourceSettings(contents.record.max_parallelism, contents.kryo)
        self._entries = EntryChecks(replace(self._settings, has_open_pojos=True))
        self._names = frozenset(state.name for state in contents.keyed_states)
        self._source: tuple[tuple[int, int], StoredSource] | None = None

    def look(self, part: Part) -> CheckedEntries:
        directory = self._contents.directory
        match part.what:
            case RocksDbFile(name, stream):
                file = directory.file(stream)
                return CheckedEntries(faults=list(rocksdb_faults(file, name, stream.size)))
            case RocksDbTables(handle):
                return CheckedEntries(faults=list(directory_faults(directory, handle)))
            case Elements():
                return self._elements(part.subtask)
            case KeyedEntries(place, key_groups):
                return self._keyed(part.subtask, place, key_groups)

    def _elements(self, number: int) -> CheckedEntries:
        contents, seen = self._contents, CheckedEntries()
        subtask = contents.record.subtasks[number]
        for name, count, fault in checked_elements(
            contents.directory, subtask, contents.states, contents.kryo
        ):
            seen.entries[name] += count
            if fault is not None:
                seen.faults.append(fault)
        return seen

    def _keyed(self, number: int, place: int, key_groups: KeyGroupRange) -> CheckedEntries:
        stored = keyed_handles(self._contents.record.subtasks[number])[place]
        streams = [stream for _, _, stream in keyed_streams(stored.handle, "")]
        paths = {self._contents.directory.file(stream).path for stream in streams}
        try:
            source = self._source_of((number, place), stored)
        except SavepointError as error:
            return CheckedEntries(faults=[Fault.of(Check.HEADERS, error)])
        file = next(iter(paths)) if len(paths) == 1 else ""
        return self._entries.check(source, self._names, key_groups, file)

    def _source_of(self, place: tuple[int, int], stored: StoredHandle) -> StoredSource:
        if self._source is None or self._source[0] != place:
            key = key_layout(self._contents.keyed_states[0])
            self._source = place, stored.source(self._contents.directory, key, self._settings)
        return self._source[1]
