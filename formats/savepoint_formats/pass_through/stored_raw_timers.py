"""Timers of raw keyed state as the entries that they would be in managed state.

A raw timer is key, namespace and timestamp; a managed one is the timestamp, its sign bit flipped
so that bytes sort as times do, key and namespace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.stored_entries import StoredEntries
from savepoint_formats.errors import within
from savepoint_formats.program.spans import bytes_of
from savepoint_formats.scan.raw_state import RawKeyedSource
from savepoint_formats.snapshots import constructed
from savepoint_formats.sources.canonical_form import nothings
from savepoint_formats.state_files.header import StateMetaInfo
from savepoint_formats.state_files.heap_records import BackToBack
from savepoint_formats.state_files.raw_timers import (
    DOMAINS,
    TimerServices,
    first_section,
    has_timers,
    raw_file,
    read_timers,
)
from savepoint_formats.state_files.state_piece import StatePiece

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import KeyGroupsHandle
    from savepoint_formats.snapshots import SnapshotView
    from savepoint_formats.state_files.raw_timers import TimerService
    from savepoint_formats.state_files.sections import Section
    from savepoint_formats.values.kryo.dialect import KryoDialect

_SIGN_BIT = 0x80


class StoredRawTimers:
    """A file of raw keyed state.

    Args:
        directory: Where the savepoint is.
        handle: The handle of the file.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(
        self, directory: SnapshotDirectory, handle: KeyGroupsHandle, kryo: KryoDialect | None
    ) -> None:
        self._path = raw_file(directory, handle.stream).path
        self._source = RawKeyedSource(directory, handle, kryo)
        self._kryo = kryo
        self._records: dict[Layout, BackToBack] = {}

    def pieces(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[StatePiece]:
        """The timers of these queues, a piece per key group and queue; none if there are none.

        Raises:
            UndecodableError: It cannot be told where timers end.
            FormatError: The file is damaged.
        """
        if not self._source.has_timers():
            return
        for sections in self._source.sections(key_groups):
            for section, data in sections:
                with within(f"key group {section.key_group}"):
                    yield from self._section(section, data, names)

    def _section(
        self, section: Section, data: bytes, names: frozenset[str]
    ) -> Iterator[StatePiece]:
        # A copy, for the signs are flipped in it.
        chunk = Chunk(np.array(np.frombuffer(data, np.uint8)), self._path, section.start)

        def read(service: TimerService, view: SnapshotView, count: int) -> StoredEntries:
            with within(f"timers {service.name!r}"):
                entries, view.position = self._timers(service, chunk, view.position, count)
            return entries

        found = read_timers(data, self._path, section, read, self._kryo)
        for service, domain, entries in found:
            state = service.queue(domain)
            if state.name in names and len(entries.keys):
                groups = np.full(len(entries.keys), section.key_group, np.uint16)
                yield StatePiece(state, entries, groups)

    def _timers(
        self, service: TimerService, chunk: Chunk, position: int, count: int
    ) -> tuple[StoredEntries, int]:
        if service.timer not in self._records:
            self._records[service.timer] = BackToBack(service.timer.fields, self._kryo)
        records = self._records[service.timer]
        (keys, namespaces, timestamps), end = records.spans(chunk, position, count)
        chunk.data[timestamps.starts] ^= _SIGN_BIT
        timers = bytes_of(chunk, timestamps, keys, namespaces)
        return StoredEntries(timers, nothings(count)), end


def raw_timer_infos(
    directory: SnapshotDirectory, handle: KeyGroupsHandle, kryo: KryoDialect | None = None
) -> tuple[StateMetaInfo, ...]:
    """The queues that the timers of raw keyed state become, as a header has them.

    Nothing if there are no timers.

    Raises:
        StateFileNotFoundError: The file is gone.
        FormatError: Its first section is damaged.
    """
    file = raw_file(directory, handle.stream)
    first = first_section(file, handle)
    if first is None or not has_timers(first[1]):
        return ()
    section, data = first
    return tuple(
        StateMetaInfo.of_timers(service.state_name(domain), constructed.timer(*service.serializers))
        for service in TimerServices.of(data, file.path, section, kryo).services
        for domain in DOMAINS
    )
