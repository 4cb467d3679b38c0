"""Measures a checkpoint by what is new in it."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from pyarrow import fs

from savepoint_database.audit.key_state import stored_key_texts
from savepoint_extensions.watch.estimates import (
    Rate,
    StateEstimate,
    largest_keys,
    share_before,
    skew,
)
from savepoint_extensions.watch.key_sample import timed_from
from savepoint_extensions.watch.operator_memory import FileKey, OperatorMemory, file_key
from savepoint_extensions.watch.watch_round import WatchedKey, WatchedOperator, WatchedState
from savepoint_formats.errors import SavepointError
from savepoint_formats.locations import Location
from savepoint_formats.metadata import (
    FileKind,
    SegmentStream,
    in_flight_size,
    size_of,
    stream_references,
    streams_of,
)
from savepoint_formats.quantities import ByteCount
from savepoint_formats.state_files import TIMER_STATE_PREFIX, StateKind, key_layout
from savepoint_formats.tables import PROCESSING_TIME, TIME_DOMAINS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from savepoint_database.snapshot import Operator, Snapshot
    from savepoint_extensions.watch.operator_memory import KeyedParts
    from savepoint_formats.metadata import OperatorStateHandle, StreamHandle
    from savepoint_formats.state_files import State


@dataclass(frozen=True, slots=True)
class Measuring:
    """How checkpoints are measured.

    Attributes:
        sample_size: Bytes of an operator's keyed state whose key groups are sampled.
        ttl_ms: State -> its time to live.
        top: Number of keys per operator.
    """

    sample_size: int
    ttl_ms: Mapping[str, int]
    top: int


@dataclass(frozen=True, slots=True)
class Measures:
    """What was measured in a checkpoint; ``is_intact`` says whether all its files are right."""

    size: int
    new_size: int
    metadata_size: int
    in_flight_size: int
    states: tuple[WatchedState, ...]
    operators: tuple[WatchedOperator, ...]
    keys: tuple[WatchedKey, ...]
    read_size: int
    is_intact: bool
    problems: tuple[str, ...]


@dataclass(slots=True)
class _ListedSizes:
    """Sizes of files by lists of their folders, because a store answers a request per file slowly."""

    folders: dict[str, dict[str, int]] = field(default_factory=dict)

    def size_of(self, file: Location) -> int:
        """The size of a file; -1 if it is not there."""
        folder = posixpath.dirname(file.path)
        if folder not in self.folders:
            infos = Location(file.filesystem, folder).infos()
            self.folders[folder] = {
                info.base_name: info.size or 0 for info in infos if info.type == fs.FileType.File
            }
        return self.folders[folder].get(posixpath.basename(file.path), -1)


@dataclass(slots=True)
class CheckpointMemory:
    """What is remembered from one checkpoint to the next.

    Attributes:
        measuring: How they are measured.
        operators: Hash of an operator -> its memory.
        files: Files of the newest checkpoint, and where each of them is; None for one that is not right.
    """

    measuring: Measuring
    operators: dict[str, OperatorMemory] = field(default_factory=dict)
    files: dict[FileKey, Location | None] = field(default_factory=dict)

    def measured(self, snapshot: Snapshot, at_ms: int) -> Measures:
        """Measures a checkpoint that was completed at a time, in ms since the epoch."""
        problems, new_size = self._files(snapshot)
        states, operators, keys = list[WatchedState](), list[WatchedOperator](), list[WatchedKey]()
        read_size, kept = len(snapshot.metadata_bytes), dict[str, OperatorMemory]()
        for operator in snapshot.operators():
            streams = [reference.stream for reference in stream_references(operator.record)]
            size = size_of(streams)
            problems += [f"operator {operator.name}: {it}" for it in operator.catalog.problems]
            states += _operator_states(operator)
            keyed = tuple(state for state in operator.catalog.states if state.kind.is_keyed)
            keyed = tuple(state.as_told(operator.kryo) for state in keyed)
            parts, seen_share = None, 1.0
            if keyed:
                try:
                    memory = self._memory(operator)
                    kept[operator.id] = memory
                    parts = memory.keyed_parts(operator, keyed)
                    read_size += parts.read_size
                    problems += [f"operator {operator.name}: {it}" for it in parts.problems]
                    seen_share = _seen_share(memory, parts)
                    states += self._keyed_states(operator, keyed, memory, parts, seen_share, at_ms)
                    keys += self._keys(operator, keyed, memory, parts)
                    memory.narrow(parts.group_sizes, self.measuring.sample_size)
                except SavepointError as error:
                    problems.append(str(error.within(f"operator {operator.name}")))
            operators.append(_operator(operator, size, parts, seen_share))
        self.operators = kept
        return Measures(
            ByteCount(size_of(streams_of(snapshot.metadata))),
            ByteCount(new_size),
            ByteCount(len(snapshot.metadata_bytes)),
            ByteCount(in_flight_size(snapshot.metadata) or 0),
            tuple(sorted(states, key=lambda state: -state.size)),
            tuple(sorted(operators, key=lambda operator: -operator.size)),
            tuple(keys),
            read_size,
            not problems,
            tuple(problems),
        )

    def _memory(self, operator: Operator) -> OperatorMemory:
        memory = self.operators.get(operator.id)
        if memory is None or len(memory.is_wanted) != operator.record.max_parallelism:
            return OperatorMemory.of(operator, self.measuring.sample_size)
        return memory

    def _files(self, snapshot: Snapshot) -> tuple[list[str], int]:
        """What is wrong with the checkpoint's files, and bytes of those that the one before did not have."""
        problems, files, new = list[str](), dict[FileKey, Location | None](), list[object]()
        listed, logs = _ListedSizes(), _logs(snapshot)
        for stream in streams_of(snapshot.metadata):
            key = file_key(snapshot.directory, stream)
            if key is None or key in files:
                continue
            if key not in self.files:
                new.append(stream)
            end, location = key[2] + stream.size, self.files.get(key)
            # Other ranges follow in a merged file, and other changes in a log.
            may_be_longer = isinstance(stream, SegmentStream) or stream in logs
            if location is None or not _fits(listed.size_of(location), end, may_be_longer):
                file = snapshot.directory.file(stream)
                location = file.location
                size = None if location is None else location.file_size()
                if size is None:
                    problems.append(f"{file.path} does not exist")
                elif not _fits(size, end, may_be_longer):
                    problems.append(f"{file.path} has {size:,} bytes, expected {end:,}")
                    location = None
            files[key] = location
        self.files = files
        return problems, size_of(new)  # type: ignore[arg-type]  # streams

    def _keyed_states(
        self,
        operator: Operator,
        states: tuple[State, ...],
        memory: OperatorMemory,
        parts: KeyedParts,
        seen_share: float,
        at_ms: int,
    ) -> Iterator[WatchedState]:
        for state in states:
            living = parts.samples[state.name]
            rate = Rate(memory.shifts.get(state.name, 0), memory.is_wanted, seen_share)
            estimate = StateEstimate.of(living, rate)
            life = self.measuring.ttl_ms.get(state.name)
            expired, error = None, 0.0
            if life is not None and timed_from(state) is not None:
                expired, error = share_before(living, at_ms - life)
                if expired is None:  # no value of the sample, so none is expired
                    expired, error = 0.0, estimate.error
            overdue = None
            if _is_of_clock(state):
                late = share_before(living, at_ms)[0] or 0.0
                overdue = round(late * estimate.entries)
            yield WatchedState(
                operator.name,
                state.name,
                estimate.entries,
                ByteCount(estimate.size),
                estimate.error,
                expired_share=expired,
                expired_error=error,
                overdue=overdue,
            )

    def _keys(
        self,
        operator: Operator,
        states: tuple[State, ...],
        memory: OperatorMemory,
        parts: KeyedParts,
    ) -> Iterator[WatchedKey]:
        samples = [
            (parts.samples[state.name], memory.shifts.get(state.name, 0)) for state in states
        ]
        keys = largest_keys(samples, self.measuring.top)
        texts = stored_key_texts([key.data for key in keys], key_layout(states[0]), operator.kryo)
        for key, text in zip(keys, texts, strict=True):
            size = ByteCount(key.size)
            yield WatchedKey(operator.name, text, key.key_group, key.entries, size, key.error)


def _logs(snapshot: Snapshot) -> set[StreamHandle]:
    """The handles of changelogs."""
    return {
        reference.stream
        for operator in snapshot.operators()
        for reference in stream_references(operator.record)
        if reference.kind is FileKind.CHANGELOG
    }


def _fits(size: int, expected: int, may_be_longer: bool) -> bool:
    return size == expected or (may_be_longer and size > expected)


def _is_of_clock(state: State) -> bool:
    """Whether these are timers of processing time, which a clock fires."""
    if state.kind is not StateKind.TIMERS:
        return False
    domain = state.name.removeprefix(TIMER_STATE_PREFIX).partition("_")[0]
    return TIME_DOMAINS.get(domain, domain) == PROCESSING_TIME


def _seen_share(memory: OperatorMemory, parts: KeyedParts) -> float:
    """The part of an operator's keyed bytes whose key groups are sampled."""
    total = float(parts.group_sizes.sum())
    return float(parts.group_sizes[memory.is_wanted].sum()) / total if total else 1.0


def _operator(
    operator: Operator, size: int, parts: KeyedParts | None, seen_share: float
) -> WatchedOperator:
    return WatchedOperator(
        operator.name,
        operator.record.parallelism,
        ByteCount(size),
        None if parts is None else skew(parts.subtask_sizes),
        None if parts is None else skew(parts.group_sizes),
        seen_share,
    )


def _operator_states(operator: Operator) -> Iterator[WatchedState]:
    """Operator state: the offsets in its handles say how many elements it has, and how large they are."""
    entries, sizes = dict[str, int](), dict[str, int]()
    for subtask in operator.record.subtasks:
        handle = subtask.managed_operator_state
        for name, count, size in () if handle is None else _elements(handle):
            entries[name] = entries.get(name, 0) + count
            sizes[name] = sizes.get(name, 0) + size
    keyed = {state.name for state in operator.catalog.states if state.kind.is_keyed}
    for name, count in entries.items():
        own_name = f"operator_state.{name}" if name in keyed else name
        yield WatchedState(operator.name, own_name, count, ByteCount(sizes[name]), 0.0)


def _elements(handle: OperatorStateHandle) -> Iterator[tuple[str, int, int]]:
    offsets = {state.name: np.array(state.offsets, np.int64) for state in handle.states}
    borders = np.unique(np.concatenate([*offsets.values(), np.array([handle.stream.size])]))
    for name, starts in offsets.items():
        ends = borders[np.minimum(np.searchsorted(borders, starts, "right"), len(borders) - 1)]
        yield name, len(starts), int((ends - starts).sum())
