"""Finds states with values of undescribed subclasses of POJOs.

Flink makes a serializer for such a class when it meets a value. No header has its layout, so the
bytes of values are searched: in bulk, and only the first values of large states.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from savepoint_formats.errors import SavepointError
from savepoint_formats.scan.splits import operator_splits
from savepoint_formats.sources.entry_source import SourceSettings
from savepoint_formats.sources.heap_source import HeapSource
from savepoint_formats.sources.keyed_source import keyed_handles
from savepoint_formats.state_files.operator_state import element_arrays
from savepoint_formats.state_files.state import StateKind, element_layout, entry_layouts
from savepoint_formats.values.subclass_values import holds_pojo, undescribed_subclasses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import OperatorState
    from savepoint_formats.sources.keyed_source import StoredHandle
    from savepoint_formats.state_files.state import State
    from savepoint_formats.state_files.state_chunk import StoredSource
    from savepoint_formats.values.kryo.dialect import KryoDialect
    from savepoint_formats.values.subclass_values import Subclass

    Values = Iterator[tuple[Layout, pa.LargeBinaryArray]]

MOST_BYTES = 256 << 20

_MOST_KEPT = 32
"""Number of sources of heap files that are kept for other states of an operator."""


@dataclass
class Glance:
    """The number of bytes that may still be searched; None for all."""

    left: int | None = MOST_BYTES

    def takes(self, data: pa.LargeBinaryArray) -> bool:
        """Whether these bytes may be searched; if so, they count as searched."""
        if self.left is None:
            return True
        if self.left <= 0:
            return False
        self.left -= data.nbytes
        return True


@dataclass(frozen=True, slots=True)
class SeenSubclasses:
    """The undescribed subclasses of a state.

    Attributes:
        values: Subclass -> the number of values in which it comes first.
        unseen: Reason why not all values were searched, or empty.
    """

    values: Counter[Subclass] = field(default_factory=Counter)
    unseen: str = ""


def seen_subclasses(
    directory: SnapshotDirectory,
    record: OperatorState,
    states: Iterable[State],
    kryo: KryoDialect,
    glance: Glance,
) -> dict[str, SeenSubclasses]:
    """The subclasses in states of an operator; only states that may have any are in the result."""
    values = StoredValues(directory, record, kryo)
    likely = (state for state in states if not state.kind.is_raw and may_have(state, holds_pojo))
    return {state.name: _seen(values.of(state), kryo, glance) for state in likely}


def may_have(state: State, holds: Callable[[Layout], bool]) -> bool:
    """Whether the value, key or namespace of a state may hold what a test of layouts looks for."""
    return any(map(holds, filter(None, (state.stored, state.key, state.namespace))))


def _seen(values: Values, kryo: KryoDialect, glance: Glance) -> SeenSubclasses:
    seen: Counter[Subclass] = Counter()
    try:
        for layout, data in values:
            if not glance.takes(data):
                return SeenSubclasses(seen, "there are more values than are searched")
            seen.update(undescribed_subclasses(layout, data, kryo))
    except SavepointError as error:
        return SeenSubclasses(seen, str(error))
    return SeenSubclasses(seen)


@dataclass(frozen=True)
class StoredValues:
    """The bytes of the values of an operator's states."""

    directory: SnapshotDirectory
    record: OperatorState
    kryo: KryoDialect
    _sources: dict[int, HeapSource] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def of(self, state: State) -> Values:
        """The bytes of a state: keys, namespaces and values, or elements."""
        return self._keyed(state) if state.kind.is_keyed else self._elements(state)

    def _keyed(self, state: State) -> Values:
        settings = SourceSettings(self.record.max_parallelism, self.kryo)
        assert state.key is not None  # keyed state has keys
        handles = chain.from_iterable(map(keyed_handles, self.record.subtasks))
        for number, stored in enumerate(handles):
            if stored.is_raw and state.kind is not StateKind.TIMERS:
                continue
            source = self._source(number, stored, state.key, settings)
            groups = stored.handle.key_groups
            for state_chunk in source.state_chunks(frozenset([state.name]), groups):
                key, value = entry_layouts(state_chunk.state)
                yield key, state_chunk.entries.keys
                if value is not None:
                    yield value, state_chunk.entries.values

    def _source(
        self, number: int, stored: StoredHandle, key: Layout, settings: SourceSettings
    ) -> StoredSource:
        """The source of a handle by its place in the record; those of heap files remember where states begin."""
        if number in self._sources:
            return self._sources[number]
        source = stored.source(self.directory, key, settings)
        if isinstance(source, HeapSource) and len(self._sources) < _MOST_KEPT:
            self._sources[number] = source
        return source

    def _elements(self, state: State) -> Values:
        layout = element_layout(state)
        for split in operator_splits(self.record):
            if all(stored.name != state.name for stored in split.handle.states):
                continue
            for data in element_arrays(self.directory, split.handle, state.name):
                yield layout, data
            if state.kind is StateKind.BROADCAST:
                return  # all subtasks have equal elements
