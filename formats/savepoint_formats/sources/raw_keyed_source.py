"""Raw keyed state: timers, or content that only its operator knows.

Timers are read like managed ones. A raw timer is key, namespace and timestamp; a managed timer is
the timestamp (its sign bit flipped, so that bytes sort like times), key and namespace.

A section of raw timers doesn't say which key group it belongs to: only the offsets of its handle
do. Keys prove it if their hash code follows from their type. If a type has the layout of another
class, with another hash code, keys of one section contradict each other, and nothing is reported.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.errors import (
    FormatError,
    SavepointError,
    UndecodableError,
    UnknownSnapshotError,
    within,
)
from savepoint_formats.hashing.key_hash import key_hashes
from savepoint_formats.key_groups import key_groups_of
from savepoint_formats.program.assembly import program
from savepoint_formats.program.byte_ranges import bytes_of
from savepoint_formats.program.decode import decode
from savepoint_formats.sources.heap_source import nothings
from savepoint_formats.state_files.canonical_file import (
    NOTHING_WRITTEN_RAW,
    Section,
    batches_of,
    read_sections,
    sections_of,
)
from savepoint_formats.state_files.heap_records import BackToBack
from savepoint_formats.state_files.raw_timers import (
    TimerServices,
    first_section,
    has_timers,
    raw_file,
    read_timers,
)
from savepoint_formats.state_files.state import key_layout
from savepoint_formats.state_files.state_chunk import StateChunk
from savepoint_formats.tables.visible import TimerRows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from savepoint_formats.key_groups import KeyGroupRange
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import KeyGroupsHandle
    from savepoint_formats.program.byte_ranges import Ranges
    from savepoint_formats.program.program import Program
    from savepoint_formats.snapshots import SnapshotView
    from savepoint_formats.state_files.raw_timers import TimerService
    from savepoint_formats.state_files.state import StateNames
    from savepoint_formats.values.kryo.dialect import KryoDialect

_BATCH_SIZE = 16 << 20
"""Bytes of a file that make one batch, unless a single section is larger."""

_SIGN_BIT = 0x80

KEYS = 8
"""Number of keys of a service that are checked."""


class TimerKeyGroups:
    """Collects the key groups that the keys of sections have."""

    def __init__(self, max_parallelism: int | None) -> None:
        self._max_parallelism = max_parallelism
        self._named: dict[int, set[int]] = {}
        self._is_known = True

    def add(self, key_group: int, layout: Layout, keys: pa.Array) -> None:
        """Adds the first keys of a service in the section of a key group."""
        first = keys[:KEYS]
        if not self._is_known or not len(first) or self._max_parallelism is None:
            return
        try:
            groups = key_groups_of(key_hashes(layout, first), self._max_parallelism)
        except SavepointError:
            self._is_known = False
        else:
            self._named.setdefault(key_group, set()).update(np.unique(groups).tolist())

    @property
    def displaced(self) -> dict[int, int]:
        """Key group of a section -> the other one that its keys have; empty if keys disagree."""
        if not self._is_known or any(len(named) > 1 for named in self._named.values()):
            return {}
        groups = {group: next(iter(named)) for group, named in self._named.items()}
        return {group: named for group, named in groups.items() if group != named}

    @property
    def is_proven(self) -> bool:
        """Whether sections are displaced, rather than hash codes of their keys unknown.

        It is proven if sections have swapped places, or if at least half of them are in their own.
        """
        displaced = self.displaced
        have_each_others = sorted(displaced) == sorted(displaced.values())
        return bool(displaced) and (have_each_others or 2 * len(displaced) <= len(self._named))


class RawKeyedSource:
    """Source of a file of raw keyed state.

    Without ``max_parallelism`` the key groups of timers are not checked.
    """

    def __init__(
        self,
        directory: SnapshotDirectory,
        handle: KeyGroupsHandle,
        kryo: KryoDialect | None = None,
        max_parallelism: int | None = None,
        names: StateNames | None = None,
    ) -> None:
        self._names = names
        self._max_parallelism = max_parallelism
        self._evidence = TimerKeyGroups(max_parallelism)
        self._file = raw_file(directory, handle.stream)
        self._directory = directory
        self._handle = handle
        self._kryo = kryo
        self._records: dict[Layout, BackToBack] = {}
        self._programs: dict[Layout, Program] = {}

    def has_timers(self) -> bool:
        """Whether the first key group, hence each, has timers."""
        first = first_section(self._file, self._handle)
        return first is not None and has_timers(first[1])

    @cached_property
    def problem(self) -> str:
        """Reason why some timers of the first key group can't be read.

        The catalog then has a table of their bytes, with all key groups of the file.
        """
        first = first_section(self._file, self._handle)
        if first is None or not has_timers(first[1]):
            return ""
        section, data = first
        return TimerServices.of(data, self._file.path, section, self._kryo).problem

    def sections(self, key_groups: KeyGroupRange) -> Iterator[list[tuple[Section, bytes]]]:
        """Sections of these key groups and their bytes, some at a time."""
        all_sections = sections_of(self._handle.groups, self._file, key_groups, NOTHING_WRITTEN_RAW)
        for batch in batches_of(all_sections, _BATCH_SIZE):
            data, base = read_sections(self._file, batch), batch[0].start
            yield [(section, data[section.start - base : section.end - base]) for section in batch]

    def timers(self, key_groups: KeyGroupRange) -> Iterator[TimerRows]:
        """Timers of these key groups, named as managed state.

        Raises ``FormatError`` also if key groups have swapped places.
        """
        if not self.has_timers():
            return
        for section, chunk in self._chunks(key_groups):
            with within(f"key group {section.key_group}"):
                try:
                    yield from self._section_timers(chunk, section)
                except (UndecodableError, UnknownSnapshotError):
                    if not self.problem:
                        raise
        self._expect_own_places()

    def state_chunks(
        self, names: frozenset[str], key_groups: KeyGroupRange
    ) -> Iterator[StateChunk]:
        """Timers of these queues as managed ones are stored, per key group and queue.

        Raw state without timers gives nothing. Raises ``UndecodableError`` if the end of a timer is
        unknown.
        """
        if not self.has_timers():
            return
        for section, chunk in self._chunks(key_groups):
            with within(f"key group {section.key_group}"):
                yield from self._section_pieces(chunk, section, names)
        self._expect_own_places()

    def _expect_own_places(self) -> None:
        """Raises ``FormatError`` if timers are not in the key groups of their keys."""
        if not self._evidence.displaced:
            return
        # These key groups may be too few for a proof.
        every = RawKeyedSource(self._directory, self._handle, self._kryo, self._max_parallelism)
        for section, chunk in every._chunks(self._handle.key_groups):
            # Unreadable timers prove nothing; a read of them reports the error.
            with suppress(UndecodableError, UnknownSnapshotError):
                for _ in every._queues(chunk, section):
                    pass
        if every._evidence.is_proven:
            group, named = min(every._evidence.displaced.items())
            offset = self._handle.groups.offsets[group - self._handle.key_groups.start]
            message = f"the timers of key group {named}, expected key group {group}"
            raise FormatError(message, self._file.path, offset)

    def _chunks(self, key_groups: KeyGroupRange) -> Iterator[tuple[Section, Chunk]]:
        for section, data in chain.from_iterable(self.sections(key_groups)):
            yield section, Chunk(np.frombuffer(data, np.uint8), self._file.path, section.start)

    def _section_timers(self, chunk: Chunk, section: Section) -> Iterator[TimerRows]:
        for service, domain, (keys, _, timestamps) in self._queues(chunk, section):
            if len(keys):
                name = service.state_name(domain)
                with within(f"timers {service.name!r}"):
                    key = key_layout(service.queue(domain).with_names(self._names))
                    layout = replace(service, key=key).timer
                    timers = decode(self._program(layout), chunk, keys.starts, timestamps.ends)
                yield TimerRows.of_key_group(name, timers, section.key_group)

    def _section_pieces(
        self, chunk: Chunk, section: Section, names: frozenset[str]
    ) -> Iterator[StateChunk]:
        managed = Chunk(chunk.data.copy(), chunk.path, chunk.base)
        for service, domain, (keys, namespaces, timestamps) in self._queues(chunk, section):
            state = service.queue(domain)
            if state.name in names and len(keys):
                managed.data[timestamps.starts] ^= _SIGN_BIT
                timers = bytes_of(managed, timestamps, keys, namespaces)
                groups = np.full(len(keys), section.key_group, np.uint16)
                yield StateChunk(state, StoredEntries(timers, nothings(len(keys))), groups)

    def _queues(
        self, chunk: Chunk, section: Section
    ) -> Iterator[tuple[TimerService, str, list[Ranges]]]:
        """Borders of key, namespace and timestamp of the timers of each queue."""

        def read(service: TimerService, view: SnapshotView, count: int) -> list[Ranges]:
            if service.timer not in self._records:
                self._records[service.timer] = BackToBack(service.timer.fields, self._kryo)
            with within(f"timers {service.name!r}"):
                records = self._records[service.timer]
                ranges, view.position = records.ranges(chunk, view.position, count)
            return ranges

        data = chunk.data.tobytes()
        for queue in read_timers(data, self._file.path, section, read, self._kryo):
            service, _, (keys, *_) = queue
            if len(keys) and self._max_parallelism is not None:
                first = decode(
                    self._program(service.key), chunk, keys.starts[:KEYS], keys.ends[:KEYS]
                )
                self._evidence.add(section.key_group, service.key, first)
            yield queue

    def _program(self, layout: Layout) -> Program:
        if layout not in self._programs:
            self._programs[layout] = program(layout, self._kryo)
        return self._programs[layout]
