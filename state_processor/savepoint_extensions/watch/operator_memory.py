"""What is remembered of an operator from one checkpoint to the next: its tables, and how it is sampled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from savepoint_extensions.watch.key_sample import VALUE, Entries, Sample, Sampler
from savepoint_extensions.watch.table_files import TableReader
from savepoint_formats.bytes import Chunk
from savepoint_formats.checks.rocksdb_faults import rocksdb_faults
from savepoint_formats.errors import StateFileNotFoundError, within
from savepoint_formats.key_groups import KeyGroupRange, prefix_size
from savepoint_formats.metadata import IncrementalHandle, KeyGroupsStream, SegmentStream
from savepoint_formats.scan import key_group_sizes
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.keyed_source import keyed_handles
from savepoint_formats.state_files import key_layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from savepoint_database.snapshot import Operator
    from savepoint_extensions.watch.table_files import TableFile
    from savepoint_formats.locations import SnapshotDirectory
    from savepoint_formats.metadata import LocalFile, StreamHandle
    from savepoint_formats.sources.keyed_source import StoredHandle
    from savepoint_formats.state_files import State, StateChunk

FileKey = tuple[str, str, int]
"""Directory of a relative path, path, and first byte of a file or of a part of one."""

MOST_SAMPLED = 1 << 15
"""Entries in the sample of a state; if there are more, half of the keys leave it."""

_LEAST_GROUPS = 8
_SST, _MANIFEST = ".sst", "MANIFEST"


def file_key(directory: SnapshotDirectory, stream: StreamHandle) -> FileKey | None:
    """What tells a file, or a part of one, from all others; None if it is in ``_metadata``."""
    if isinstance(stream, KeyGroupsStream):
        return file_key(directory, stream.stream)
    path = getattr(stream, "path", None)
    if path is None:
        return None
    is_relative = "/" not in path
    start = stream.start if isinstance(stream, SegmentStream) else 0
    return (directory.uri if is_relative else "", path, start)


@dataclass(slots=True)
class KeyedParts:
    """Keyed state of an operator in one checkpoint.

    Attributes:
        samples: Living entries of each state that are in its sample.
        group_sizes: Bytes of each key group.
        subtask_sizes: Bytes of each subtask, by its place.
        read_size: Bytes that were read for it.
        problems: Damage that no state's bytes are lost by.
    """

    samples: dict[str, Sample]
    group_sizes: NDArray[np.float64]
    subtask_sizes: list[float]
    read_size: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class OperatorMemory:
    """The memory of an operator; another number of key groups needs a new one.

    Attributes:
        is_wanted: Whether a sample has a key group.
        shifts: State -> its sample has ``2**-shift`` of the keys.
        tables: Tables of RocksDB that the newest checkpoint has.
        manifests: Lists of tables that are right, of the newest checkpoint.
    """

    is_wanted: NDArray[np.bool_]
    shifts: dict[str, int] = field(default_factory=dict)
    tables: dict[FileKey, TableFile] = field(default_factory=dict)
    manifests: set[FileKey] = field(default_factory=set)

    @classmethod
    def of(cls, operator: Operator, most_size: int) -> OperatorMemory:
        """Chooses key groups that have about ``most_size`` bytes of the operator's keyed state."""
        count = operator.record.max_parallelism
        handles = [
            stored.handle
            for subtask in operator.record.subtasks
            for stored in keyed_handles(subtask)
        ]
        total = sum(int(key_group_sizes(handle).sum()) for handle in handles)
        return cls(_chosen(count, total, most_size))

    def narrow(self, group_sizes: NDArray[np.float64], most_size: int) -> None:
        """Leaves key groups out of later samples if those in the sample have grown to twice the limit."""
        if group_sizes[self.is_wanted].sum() > 2 * most_size:
            fewer = _chosen(len(group_sizes), int(group_sizes.sum()), most_size)
            self.is_wanted = self.is_wanted & fewer

    def keyed_parts(self, operator: Operator, states: tuple[State, ...]) -> KeyedParts:
        """Reads what is new of an operator's keyed states.

        Raises:
            StateFileNotFoundError: A file is gone.
            FormatError: A file is damaged.
            RocksDbError: A file has a feature that is not read here.
        """
        count = operator.record.max_parallelism
        samplers = {state.name: Sampler(state, operator.kryo) for state in states}
        reader = TableReader(samplers, self.shifts, prefix_size(count), self.is_wanted)
        parts = KeyedParts({}, np.zeros(count), [])
        samples: dict[str, list[Sample]] = {}
        seen: dict[FileKey, TableFile] = {}
        manifests = set[FileKey]()
        for subtask in operator.record.subtasks:
            before = float(parts.group_sizes.sum())
            for stored in keyed_handles(subtask):
                with within(f"subtask {subtask.index}"):
                    if isinstance(stored.handle, IncrementalHandle):
                        own = self._of_tables(
                            operator, stored.handle, reader, parts, seen, manifests
                        )
                    else:
                        own = self._of_files(operator, stored, states, samplers, parts)
                for name, sample in own:
                    samples.setdefault(name, []).append(sample)
            parts.subtask_sizes.append(float(parts.group_sizes.sum()) - before)
        self.tables, self.manifests = seen, manifests
        parts.samples = {
            state.name: Sample.joined(samples.get(state.name, [])).living() for state in states
        }
        self._thin(samples, parts)
        return parts

    def _of_tables(
        self,
        operator: Operator,
        handle: IncrementalHandle,
        reader: TableReader,
        parts: KeyedParts,
        seen: dict[FileKey, TableFile],
        manifests: set[FileKey],
    ) -> Iterator[tuple[str, Sample]]:
        """Samples of a handle's tables; a table may have key groups of other subtasks too."""
        start, end = handle.key_groups.start, handle.key_groups.end + 1
        for local in (*handle.shared, *handle.private):
            key = file_key(operator.directory, local.stream)
            if key is None:
                continue
            is_manifest = local.name.startswith(_MANIFEST)
            if is_manifest and (key in self.manifests or self._is_right(operator, local, parts)):
                manifests.add(key)
            if not local.name.endswith(_SST):
                continue
            table = seen.get(key) or self.tables.get(key)
            if table is None:
                file = operator.directory.file(local.stream)
                if file.location is None:
                    raise StateFileNotFoundError(f"{file.path} does not exist")
                table = reader.read(file, local.stream.size)
                parts.read_size += table.read_size
            seen[key] = table = table.thinned(self.shifts.get(table.state, 0))
            parts.group_sizes[start:end] += table.group_sizes[start:end]
            groups = table.sample.groups
            is_own = (groups >= start) & (groups < end) & self.is_wanted[groups]
            yield table.state, table.sample if is_own.all() else table.sample.chosen(is_own)

    def _is_right(self, operator: Operator, local: LocalFile, parts: KeyedParts) -> bool:
        """Reads a list of tables, which tells RocksDB what it has."""
        file, size = operator.directory.file(local.stream), local.stream.size
        if file.location is None:
            return False  # a problem already, as each file that is not there
        faults = [f"{file.path}: {it.problem}" for it in rocksdb_faults(file, local.name, size)]
        parts.problems += faults
        parts.read_size += size
        return not faults

    def _of_files(
        self,
        operator: Operator,
        stored: StoredHandle,
        states: tuple[State, ...],
        samplers: dict[str, Sampler],
        parts: KeyedParts,
    ) -> Iterator[tuple[str, Sample]]:
        """Samples of a handle whose files are new in each checkpoint."""
        handle = stored.handle
        own = handle.key_groups
        sizes = key_group_sizes(handle)
        parts.group_sizes[own.start : own.end + 1] += sizes
        settings = SourceSettings(operator.record.max_parallelism, operator.kryo)
        source = stored.source(operator.directory, key_layout(states[0]), settings)
        wanted = [group for group in own if self.is_wanted[group]]
        for key_groups in KeyGroupRange.runs_of(wanted):
            first = key_groups.start - own.start
            parts.read_size += int(sizes[first : first + len(key_groups)].sum())
            for chunk in source.state_chunks(frozenset(samplers), key_groups):
                name = chunk.state.name
                entries = _entries(chunk)
                yield name, samplers[name].sample(entries, self.shifts.get(name, 0))

    def _thin(self, samples: dict[str, list[Sample]], parts: KeyedParts) -> None:
        for name, own in samples.items():
            held = sum(map(len, own))
            while held > MOST_SAMPLED:
                shift = self.shifts.get(name, 0) + 1
                self.shifts[name] = shift
                own = [sample.thinned(shift) for sample in own]  # noqa: PLW2901  # smaller each time
                parts.samples[name] = parts.samples[name].thinned(shift)
                held = sum(map(len, own))
        self.tables = {
            key: table.thinned(self.shifts.get(table.state, 0))
            for key, table in self.tables.items()
        }


def _chosen(count: int, total: int, most_size: int) -> NDArray[np.bool_]:
    """Flags of key groups with about ``most_size`` of ``total`` bytes; fewer are a part of more."""
    chosen = count if total <= most_size else max(_LEAST_GROUPS, count * most_size // total)
    # Hashes of their numbers spread the chosen ones over all subtasks.
    order = np.argsort(np.arange(count, dtype=np.uint32) * np.uint32(2654435769))
    is_wanted = np.zeros(count, np.bool_)
    is_wanted[order[:chosen]] = True
    return is_wanted


def _entries(chunk: StateChunk) -> Entries:
    (key_data, keys), (value_data, values) = chunk.entries.key_places, chunk.entries.value_places
    trailers = np.full(len(chunk.key_groups), VALUE, np.uint64)
    return Entries(Chunk(key_data), keys, Chunk(value_data), values, chunk.key_groups, trailers)
