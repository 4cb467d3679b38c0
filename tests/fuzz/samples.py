"""Inputs that are right: what the sample savepoints hold, and what a corpus does if one is named."""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from savepoint_database.snapshot.operator import Operator
from savepoint_formats.errors import SavepointError
from savepoint_formats.metadata import InlineStream
from savepoint_formats.metadata.references import stream_references, with_streams
from savepoint_formats.metadata.stream_handles import KeyGroupsStream
from savepoint_formats.scan.read_options import ReadOptions
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_handles
from savepoint_formats.state_files.state import StateKind, entry_layouts, key_layout
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.metadata.stream_handles import PlainStream
    from savepoint_formats.values.kryo.dialect import KryoDialect

SAMPLES = Path(__file__).parents[2] / "sample_savepoints"

_LARGEST = 100_000
"""Bytes of the largest file that is an input; damage to larger ones would be no other."""

_VALUES_OF_LAYOUT = 6


@dataclass(frozen=True, eq=False)
class InMemory:
    """An operator of a sample whose files lie in memory.

    Attributes:
        record: The operator; all its streams are ``InlineStream``.
        files: Name of a stream -> its bytes and what it is for.
        snapshot: The snapshot that it is of.
    """

    record: OperatorState
    files: dict[str, tuple[bytes, str]]
    snapshot: Snapshot

    @property
    def sample(self) -> str:
        """The name of its sample."""
        path = Path(self.snapshot.path)
        return path.parent.name if path.name.startswith("chk-") else path.name

    @property
    def directory(self) -> SnapshotDirectory:
        """End of the search."""
        return self.snapshot.directory

    def with_file(self, name: str, data: bytes) -> OperatorState:
        """The operator with other bytes in one of its streams."""

        def replacement(stream: PlainStream) -> PlainStream:
            is_it = isinstance(stream, InlineStream) and stream.name == name
            return InlineStream(name, data) if is_it else stream

        return with_streams(self.record, replacement)

    def opened(self, record: OperatorState) -> Snapshot:
        """The snapshot with nothing but this operator, changed as the record says."""
        snapshot = self.snapshot
        operator = Operator(record, None, snapshot.directory, snapshot.kryo)
        metadata = replace(snapshot.metadata, operators=(record,))
        return replace(snapshot, metadata=metadata, _operators=(operator,), plan=None)


@dataclass(frozen=True)
class StoredValue:
    """Bytes of a key or a value, and what they are."""

    layout: Layout
    kryo: KryoDialect | None
    data: bytes


class Inputs:
    """Content of some folders of savepoints.

    Args:
        folders: The folders.
    """

    def __init__(self, *folders: Path) -> None:
        self.folders = folders
        self.metadata_files = sorted(file for one in folders for file in one.rglob("_metadata"))

    @classmethod
    def all(cls) -> Self:
        """The samples, and the corpus that ``SAVEPOINT_CORPUS`` names."""
        corpus = os.environ.get("SAVEPOINT_CORPUS")
        return cls(SAMPLES, *([Path(corpus)] if corpus else ()))

    @cached_property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """Savepoints that can be opened."""
        opened = []
        for path in self.metadata_files:
            try:
                with warnings.catch_warnings(action="ignore"):
                    opened.append(Savepoint.open(str(path.parent)))
            except SavepointError:
                continue
        return tuple(opened)

    @cached_property
    def operators(self) -> tuple[InMemory, ...]:
        """The operators whose files can all be read into memory."""
        return tuple(
            one
            for snapshot in self.snapshots
            for operator in snapshot.operators()
            if (one := _in_memory(snapshot, operator.record)) is not None
        )

    @cached_property
    def values(self) -> tuple[StoredValue, ...]:
        """Keys and values of every layout that occurs, a few of each."""
        by_layout: dict[object, list[StoredValue]] = {}
        for snapshot in self.snapshots:
            for operator in snapshot.operators():
                with suppress(SavepointError):
                    for value in _stored_values(operator):
                        known = by_layout.setdefault((value.layout, value.kryo), [])
                        if len(known) < _VALUES_OF_LAYOUT and value not in known:
                            known.append(value)
        return tuple(value for known in by_layout.values() for value in known)


def _in_memory(snapshot: Snapshot, record: OperatorState) -> InMemory | None:
    files: dict[str, tuple[bytes, str]] = {}
    names: dict[PlainStream, str] = {}
    for reference in stream_references(record):
        stream = reference.stream
        if isinstance(stream, KeyGroupsStream) or reference.subtask < 0:
            continue
        try:
            data = snapshot.directory.file(stream).read()
        except SavepointError:
            return None
        if len(data) > _LARGEST:
            return None
        if stream not in names:
            names[stream] = f"{reference.subtask}-{len(names)}-{reference.role}".replace(" ", "-")
            files[names[stream]] = data, str(reference.kind)
    inline = with_streams(
        record, lambda stream: InlineStream(names[stream], files[names[stream]][0])
    )
    return InMemory(inline, files, snapshot) if files else None


def batches(snapshot: Snapshot) -> Iterator[pa.RecordBatch]:
    """All rows of all tables; raises the error of a table that can't be read."""
    for operator in snapshot.operators():
        for table in operator.readable_tables:
            scan = operator.scan(table, ReadOptions(undescribed_subclasses="bytes"))
            for split in scan.splits():
                for batch in scan.read(split):
                    batch.validate(full=True)
                    yield batch
        for problem in operator.catalog.problems:
            raise problem.error


def rows(snapshot: Snapshot) -> list[str]:
    """The values of all rows of all tables, in an order that is always the same.

    Neither names nor subtasks are among them: whoever damages a name renames, and loses nothing.
    """
    # As Arrow prints them: Python has no times before its first year.
    return sorted(
        "".join(column.slice(row, 1).to_string() for column in batch.columns)
        for batch in batches(snapshot)
        for row in range(batch.num_rows)
    )


def _stored_values(operator: Operator) -> Iterator[StoredValue]:
    states = {one.name: one for one in operator.catalog.states if one.kind.is_keyed}
    if not states:
        return
    settings = SourceSettings(operator.record.max_parallelism, operator.kryo)
    key = key_layout(next(iter(states.values())))
    for subtask in operator.record.subtasks:
        for stored_handle in keyed_handles(subtask):
            source = stored_handle.source(operator.directory, key, settings)
            groups = stored_handle.handle.key_groups
            for chunk in source.state_chunks(frozenset(states), groups):
                is_timer = chunk.state.kind is StateKind.TIMERS
                layout = entry_layouts(chunk.state)[1] or chunk.state.stored
                stored = chunk.entries.keys if is_timer else chunk.entries.values
                for value in stored.to_pylist()[:20]:
                    yield StoredValue(layout, operator.kryo, value)
