"""Keyed state of an operator passed on into canonical files, as a new savepoint would have it."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.frames import section_frames
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.metadata import ChangelogHandle, InlineStream, SubtaskState
from savepoint_formats.pass_through.stored_states import PassThrough, stored_runs
from savepoint_formats.scan.read_options import ReadOptions
from savepoint_formats.scan.scan import TableScan
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_handles
from savepoint_formats.state_files.canonical_file import CanonicalFile
from savepoint_formats.state_files.changelog import read_registrations
from savepoint_formats.state_files.header import HeaderBytes, KeyedBackendHeader, StateMetaInfo
from savepoint_formats.state_files.raw_timers import raw_timer_infos
from savepoint_formats.tables.catalog import OperatorCatalog, base_handles, raw_keyed_handle
from savepoint_formats.tables.tables import tables_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from savepoint_formats.hashing.key_hash import HashKeys
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.values.kryo.dialect import KryoDialect

Sections = dict[int, list[bytes]]
"""Key group -> its runs."""


def passed_on(
    directory: SnapshotDirectory,
    operator: OperatorState,
    max_parallelism: int | None = None,
    *,
    kryo: KryoDialect | None = None,
    hash_keys: HashKeys | None = None,
) -> OperatorState:
    """The operator, with all its keyed state and timers in canonical files of three subtasks."""
    after = max_parallelism or operator.max_parallelism
    header = header_of(directory, operator)
    sections = sections_of(directory, operator, after, kryo=kryo, hash_keys=hash_keys)
    parallelism = min(3, after)
    subtasks = []
    for index in range(parallelism):
        groups = KeyGroupRange.of_subtask(index, parallelism, after)
        own = [(group, sections[group]) for group in groups if group in sections]
        content = io.BytesIO()
        file = CanonicalFile.write(content, header, groups, own)
        handle = file.handle(InlineStream(f"new file {index}", content.getvalue()))
        subtasks.append(SubtaskState(index, managed_keyed_state=handle))
    return replace(
        operator, max_parallelism=after, parallelism=parallelism, subtasks=tuple(subtasks)
    )


def sections_of(
    directory: SnapshotDirectory,
    operator: OperatorState,
    max_parallelism: int,
    *,
    kryo: KryoDialect | None = None,
    hash_keys: HashKeys | None = None,
) -> Sections:
    """The runs of all keyed state and timers."""
    ids = {info.name: index for index, info in enumerate(infos_of(directory, operator).values())}
    settings = SourceSettings(operator.max_parallelism, kryo)
    target = PassThrough(ids, max_parallelism)
    key = key_of(directory, operator).layout()
    sections: Sections = {}
    for subtask in operator.subtasks:
        for stored in keyed_handles(subtask):
            groups = stored.handle.key_groups
            add(sections, stored_runs(directory, stored, key, settings, groups, target, hash_keys))
    return sections


def add(sections: Sections, batches: Iterator[pa.RecordBatch]) -> None:
    """Puts runs behind those that there are."""
    for batch in batches:
        assert batch.num_rows
        for row in batch.to_pylist():
            sections.setdefault(row["key_group"], []).append(row["run"])


def entries_in(runs: bytes) -> list[tuple[int, bytes, bytes]]:
    """State id, key and value of each entry, state by state."""
    data = runs + b"\xff\xff"
    frames = section_frames(Chunk(np.frombuffer(data, np.uint8)), 0, 1 << 15)
    return [
        (state, bytes([data[start] & 0x7F]) + data[start + 1 : end], data[value:value_end])
        for state, places in frames.by_state.items()
        for start, end, value, value_end in zip(*places.arrays(), strict=True)
    ]


def infos_of(directory: SnapshotDirectory, operator: OperatorState) -> dict[str, StateMetaInfo]:
    """All states of keys, and timers, as headers have them."""
    infos: dict[str, StateMetaInfo] = {}
    for subtask in operator.subtasks:
        handle, raw = subtask.managed_keyed_state, raw_keyed_handle(subtask)
        for base in base_handles(handle):
            header = KeyedBackendHeader.parse(HeaderBytes.of_keyed_state(directory, base))
            infos |= {info.name: info for info in header.states}
        if isinstance(handle, ChangelogHandle):
            registered = read_registrations(directory, handle)
            infos |= {state.info.name: state.info for state in registered}
        if raw is not None:
            infos |= {info.name: info for info in raw_timer_infos(directory, raw)}
    return infos


def key_of(directory: SnapshotDirectory, operator: OperatorState) -> TypeSerializerSnapshot:
    """The serializer of keys: that of a file, or else that of timers."""
    for subtask in operator.subtasks:
        for base in base_handles(subtask.managed_keyed_state):
            header = KeyedBackendHeader.parse(HeaderBytes.of_keyed_state(directory, base))
            return header.key_serializer
    timers = (info for name, info in infos_of(directory, operator).items() if "timer" in name)
    return next(timers).serializers[0][1].nested[0]


def header_of(directory: SnapshotDirectory, operator: OperatorState) -> KeyedBackendHeader:
    """The header of the new files."""
    infos = infos_of(directory, operator)
    return KeyedBackendHeader.of(key_of(directory, operator), tuple(infos.values()))


def has_keyed_state(operator: OperatorState) -> bool:
    """Whether any subtask has state of keys."""
    return any(subtask.managed_keyed_state for subtask in operator.subtasks)


def rows_by_table(
    directory: SnapshotDirectory,
    operator: OperatorState,
    kryo: KryoDialect | None = None,
    **options: Any,
) -> dict[str, list[str]]:
    """The rows of each table of keyed state and timers, in an order of their own."""
    catalog = OperatorCatalog.of(directory, operator, kryo)
    rows: dict[str, list[str]] = {}
    for table in tables_of(catalog.states):
        if table.states[0].kind.is_keyed:
            scan = TableScan(directory, operator, table, ReadOptions.of(options), kryo)
            rows[table.name] = sorted(
                repr(row)
                for split in scan.splits()
                for batch in scan.read(split)
                for row in batch.to_pylist()
            )
    return rows
