"""Files of operator state: borders of each element, and writing of whole files.

| bytes | field            | meaning                                                           |
|-------|------------------|-------------------------------------------------------------------|
| …     | header           | ``OperatorBackendHeader``                                         |
| …     | list states      | the elements of each                                              |
| …     | broadcast states | of each, i32 count, then key and value of each entry              |

The handle says where each element of a list begins, and where the map of a broadcast state
begins. An element ends where the next begins. In a compressed file each offset is that of a
chunk of the snappy-framed stream, at which decompression can begin.

Flink: ``OperatorStateRestoreOperation``, ``PartitionableListState``, ``HeapBroadcastState``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, pairwise, takewhile
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.bytes.snappy import decompress
from savepoint_formats.errors import FormatError, SchemaChangeError, TruncatedError
from savepoint_formats.metadata import (
    DistributionMode,
    InlineStream,
    OperatorStateHandle,
    OperatorStateOffsets,
)
from savepoint_formats.program.byte_ranges import Ranges, bytes_of, ranges_in
from savepoint_formats.state_files.header import OperatorBackendHeader, StateMetaInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.metadata import PlainStream
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files.canonical_file import Output


UNREADABLE = (
    "an earlier change of the same write gives this state other values, which this one would have to"
    " read: make this one before it, or write the earlier one, and change the new savepoint"
)
"""Why state can't be read whose values are only made when the new savepoint is written."""

Step: TypeAlias = "Callable[[pa.LargeBinaryArray], pa.LargeBinaryArray]"
"""Writes elements anew: for another Flink, or with a class renamed."""


@dataclass(frozen=True, slots=True)
class ChangedElements(OperatorStateHandle):
    """Elements of another handle that are changed as they are read; never in a savepoint.

    ``steps`` has the name of each state before, and what changes its elements, by its new name.
    Other states in the header come from elsewhere.
    ``stream`` is a header with the new serializers.
    """

    stored: OperatorStateHandle | None = None
    steps: Mapping[str, tuple[str, tuple[Step, ...]]] = field(default_factory=dict)

    def arrays(self, directory: SnapshotDirectory, state: str) -> Iterator[pa.LargeBinaryArray]:
        """The changed elements of a state, some megabytes at a time."""
        if self.stored is None or state not in self.steps:
            raise SchemaChangeError(UNREADABLE)
        before, steps = self.steps[state]
        for elements in element_arrays(directory, self.stored, before):
            for step in steps:
                elements = step(elements)  # noqa: PLW2901  # they go from step to step
            yield elements


CHUNK_SIZE = 16 << 20
"""Bytes of a file that are read at once, unless a single element is larger."""


def with_elements(
    directory: SnapshotDirectory,
    handle: OperatorStateHandle,
    state: str,
    change: Callable[[bytes], bytes | None],
) -> OperatorStateHandle:
    """A handle whose file lies in ``_metadata`` and has the changed elements.

    The header and all other states stay as they are. A compressed file becomes one that is not
    compressed, which every Flink restores.

    Args:
        directory: The directory of the snapshot.
        handle: The handle.
        state: The list state.
        change: Returns other bytes for an element, in the order of the file; None drops it.

    Raises:
        SavepointError: The file is gone or damaged.
    """
    view, header = DataOutputView(), OperatorBackendHeader.of_handle(directory, handle)
    replace(header, is_compressed=False).write(view)
    written: dict[str, OperatorStateOffsets] = {}
    for entry in sorted(handle.states, key=lambda entry: entry.offsets):
        offsets = []
        arrays = element_arrays(directory, handle, entry.name)
        for data in chain.from_iterable(map(pa.Array.to_pylist, arrays)):
            changed = change(data) if entry.name == state else data
            if changed is not None:
                offsets.append(view.position)
                view.write_bytes(changed)
        written[entry.name] = replace(entry, offsets=tuple(offsets))
    states = tuple(written[entry.name] for entry in handle.states)
    name = f"{directory.file(handle.stream).path.rpartition('/')[2]}-changed"
    return OperatorStateHandle(states, InlineStream(name, view.to_bytes()))


def byte_array(content: bytes) -> bytes:
    """An element of a state of byte arrays: i32 size, the bytes."""
    return len(content).to_bytes(4, "big") + content


def element_arrays(
    directory: SnapshotDirectory, handle: OperatorStateHandle, state: str
) -> Iterator[pa.LargeBinaryArray]:
    """Elements of a state, some megabytes at a time; of broadcast state its whole map.

    Raises ``SavepointError`` if the file can't be read.
    """
    for chunk, ranges in stored_elements(directory, handle, state):
        yield bytes_of(chunk, ranges)


def stored_elements(
    directory: SnapshotDirectory, handle: OperatorStateHandle, state: str
) -> Iterator[tuple[Chunk, Ranges]]:
    """Places of the elements of a state; raises the errors of ``element_arrays``."""
    if isinstance(handle, ChangedElements):
        for elements in handle.arrays(directory, state):
            data, ranges = ranges_in(elements)
            yield Chunk(data, "changed state"), ranges
        return
    is_compressed = OperatorBackendHeader.of_handle(directory, handle).is_compressed
    file = directory.file(handle.stream)
    yield from read_elements(file, handle, state, is_compressed=is_compressed)


def read_elements(
    file: StateFile,
    handle: OperatorStateHandle,
    state: str,
    *,
    is_compressed: bool,
    size: int = CHUNK_SIZE,
) -> Iterator[tuple[Chunk, Ranges]]:
    """Places of the elements of a state, about ``size`` bytes of the file at a time.

    Raises ``FormatError`` for impossible offsets, and if the file is longer than its handle says.
    """
    for ranges in _neighbours(_ranges(file, handle, state), size):
        base, end = ranges[0][0], ranges[-1][1]
        data = file.read(base, end)
        if len(data) != end - base:
            message = f"{len(data)} bytes of the {end - base} that elements have"
            raise TruncatedError(message, file.path, base + len(data))
        if is_compressed:
            yield _decompressed(data, ranges, file)
        else:
            starts, ends = np.array(ranges, np.int64).T - base
            chunk = Chunk(np.frombuffer(data, np.uint8), file.path, base)
            yield chunk, Ranges(np.ascontiguousarray(starts), np.ascontiguousarray(ends))


def _ranges(file: StateFile, handle: OperatorStateHandle, state: str) -> list[tuple[int, int]]:
    """Begin and end of each element, in the order of the handle.

    States lie one behind the other in a file, and the elements of each in their order.
    """
    wanted = next((entry.offsets for entry in handle.states if entry.name == state), ())
    if not wanted:
        return []
    length = file.length()
    entries = sorted(
        (entry for entry in handle.states if entry.offsets), key=lambda state: state.offsets
    )
    borders = [*chain.from_iterable(entry.offsets for entry in entries), length]
    for offset, following in pairwise([0, *borders]):
        if following < offset or following > length:
            message = f"an element of an operator state at {following}, expected {offset} to"
            raise FormatError(f"{message} {length}", file.path, min(max(following, 0), length))
    before = takewhile(lambda entry: entry.name != state, entries)
    first = sum(len(entry.offsets) for entry in before)
    return list(pairwise(borders[first : first + len(wanted) + 1]))


def _neighbours(ranges: list[tuple[int, int]], size: int) -> Iterator[list[tuple[int, int]]]:
    """Groups neighbouring elements to about ``size`` bytes."""
    group: list[tuple[int, int]] = []
    for start, end in ranges:
        if group and (start != group[-1][1] or end - group[0][0] > size):
            yield group
            group = []
        group.append((start, end))
    if group:
        yield group


def _decompressed(
    data: bytes, ranges: list[tuple[int, int]], file: StateFile
) -> tuple[Chunk, Ranges]:
    base = ranges[0][0]
    parts = [decompress(data[start - base : end - base], file.path, start) for start, end in ranges]
    ends = np.fromiter(accumulate(map(len, parts)), np.int64, len(parts))
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    # A single element may be as large as all memory that is left.
    joined = parts[0] if len(parts) == 1 else b"".join(parts)
    return Chunk(np.frombuffer(joined, np.uint8), file.path), Ranges(starts, ends)


@dataclass(frozen=True, slots=True, eq=False)
class ListElements:
    """A list state to write; ``elements`` are the bytes of each element."""

    name: str
    mode: DistributionMode
    element: TypeSerializerSnapshot
    elements: pa.LargeBinaryArray

    @property
    def meta_info(self) -> StateMetaInfo:
        """The state as the header has it."""
        if self.mode is DistributionMode.BROADCAST:
            raise ValueError(f"list state {self.name!r} is broadcast, expected one of maps")
        return StateMetaInfo.of_operator(self.name, self.mode, self.element)

    def write(self, output: Output, position: int) -> tuple[OperatorStateOffsets, int]:
        """Writes the elements; returns where each begins, and where the next state does."""
        borders, data = _contents(self.elements, self.name)
        output.write(data)
        starts = (borders[:-1] + position).tolist()
        return OperatorStateOffsets(self.name, self.mode, tuple(starts)), position + data.size


@dataclass(frozen=True, slots=True, eq=False)
class BroadcastEntries:
    """A broadcast state to write; ``data`` is an i32 count, then key and value of each entry."""

    name: str
    key: TypeSerializerSnapshot
    value: TypeSerializerSnapshot
    data: pa.Buffer

    @classmethod
    def of(
        cls,
        name: str,
        key: TypeSerializerSnapshot,
        value: TypeSerializerSnapshot,
        keys: pa.LargeBinaryArray,
        values: pa.LargeBinaryArray,
    ) -> Self:
        """The state with these keys and values, which are bytes."""
        if len(keys) != len(values):
            raise ValueError(f"state {name!r} of {len(keys)} keys and {len(values)} values")
        nothing = pa.scalar(b"", pa.large_binary())
        _, entries = _contents(pc.binary_join_element_wise(keys, values, nothing), name)
        data = DataOutputView()
        data.write_int(len(keys))
        data.write_bytes(memoryview(entries))
        return cls(name, key, value, pa.py_buffer(data.to_bytes()))

    @property
    def meta_info(self) -> StateMetaInfo:
        """The state as the header has it."""
        return StateMetaInfo.of_broadcast(self.name, self.key, self.value)

    def write(self, output: Output, position: int) -> tuple[OperatorStateOffsets, int]:
        """Writes the map; returns where it begins, and where the next state does."""
        output.write(self.data)
        offsets = OperatorStateOffsets(self.name, DistributionMode.BROADCAST, (position,))
        return offsets, position + self.data.size


@dataclass(frozen=True, slots=True)
class OperatorStateFile:
    """A written file: where the elements of each state begin, and its bytes."""

    states: tuple[OperatorStateOffsets, ...]
    size: int

    def handle(self, stream: PlainStream) -> OperatorStateHandle:
        return OperatorStateHandle(self.states, stream)

    @classmethod
    def write(
        cls,
        output: Output,
        list_states: Sequence[ListElements] = (),
        broadcast_states: Sequence[BroadcastEntries] = (),
    ) -> Self:
        """Writes a whole file; Flink expects the same broadcast states in every subtask.

        Raises ``ValueError`` if two states have the same name, a list state is broadcast, or a null
        is among the bytes.
        """
        states: list[ListElements | BroadcastEntries] = [*list_states, *broadcast_states]
        names = [state.name for state in states]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"two states of the name {min(twice)!r}")
        header = DataOutputView()
        OperatorBackendHeader.of(
            tuple(state.meta_info for state in list_states),
            tuple(state.meta_info for state in broadcast_states),
        ).write(header)
        output.write(header.to_bytes())
        position = header.position
        offsets: list[OperatorStateOffsets] = []
        for state in states:
            written, position = state.write(output, position)
            offsets.append(written)
        return cls(tuple(offsets), position)


def _contents(array: pa.LargeBinaryArray, state: str) -> tuple[NDArray[np.int64], pa.Buffer]:
    """Borders of each item in the bytes of all, and these bytes."""
    if array.null_count:
        raise ValueError(f"{array.null_count} nulls among the bytes of state {state!r}")
    _, offsets, data = array.buffers()
    if not len(array):
        return np.zeros(1, np.int64), pa.py_buffer(b"")
    borders = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    size = int(borders[-1] - borders[0])
    return borders - borders[0], data.slice(int(borders[0]), size) if size else pa.py_buffer(b"")
