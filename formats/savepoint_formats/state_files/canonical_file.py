"""Writes canonical files: the keyed state of one subtask, as every backend restores it.

| bytes | field    | meaning                                                                    |
|-------|----------|----------------------------------------------------------------------------|
| …     | header   | ``KeyedBackendHeader``; key groups are not compressed                      |
| …     | sections | of each key group that has entries, in any order; the handle tells where   |

A section is runs, one behind the other, and ``FF FF``. A run is entries of one state:

| bytes  | field    | meaning                                                                   |
|--------|----------|---------------------------------------------------------------------------|
| u16    | state id | index of the state in the header                                          |
| i32, … | key      | size, key-group prefix and key; of the last entry, the first bit is set   |
| i32, … | value    | size, bytes; then the next key                                            |

A run means the same wherever it lies, and a state may have many runs in a key group. A key group
without entries has no section and the offset 0; Flink fails at an empty section.

Flink: ``FullSnapshotAsyncWriter``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.metadata import KeyedHandleType, KeyGroupRangeOffsets, KeyGroupsHandle
from savepoint_formats.state_files.sections import NOTHING_WRITTEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa

    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.metadata import PlainStream
    from savepoint_formats.state_files.header import KeyedBackendHeader

    Run: TypeAlias = bytes | memoryview | pa.Buffer

END_OF_SECTION = b"\xff\xff"

# State id, size and one byte of a key, size of a value.
_LEAST_RUN = 2 + 4 + 1 + 4


class Output(Protocol):
    """Anything that takes the bytes of a file."""

    def write(self, data: Run, /) -> object:
        """Appends bytes."""


@dataclass(frozen=True, slots=True)
class CanonicalFile:
    """A written file: where each key group begins, and its bytes."""

    groups: KeyGroupRangeOffsets
    size: int

    @property
    def offsets(self) -> tuple[int, ...]:
        """Start of each key group; 0 for one without entries."""
        return self.groups.offsets

    def handle(self, stream: PlainStream) -> KeyGroupsHandle:
        """Handle of the file for ``_metadata``."""
        return KeyGroupsHandle(KeyedHandleType.CANONICAL_SAVEPOINT, self.groups, stream)

    @classmethod
    def write(
        cls,
        output: Output,
        header: KeyedBackendHeader,
        key_groups: KeyGroupRange,
        sections: Iterable[tuple[int, Iterable[Run]]],
    ) -> Self:
        """Writes a whole file; the runs of a key group are read before the next one is asked for.

        Raises:
            ValueError: A key group is none of the subtask or comes twice, a run is empty or of an
                unknown state, or the header says that key groups are compressed.
        """
        if header.is_compressed:
            raise ValueError("a header of compressed key groups, which are not written")
        starts: dict[int, int] = {}
        view = DataOutputView()
        header.write(view)
        output.write(view.to_bytes())
        size = view.position
        for key_group, runs in sections:
            if key_group not in key_groups or key_group in starts:
                reason = "comes twice" if key_group in starts else f"is not in {key_groups}"
                raise ValueError(f"key group {key_group} {reason}")
            written = _write_section(output, _checked(runs, key_group, len(header.states)))
            if written:
                starts[key_group] = size
                size += written
        return cls._of_starts(starts, key_groups, size)

    @classmethod
    def of_sections(
        cls, header_size: int, key_groups: KeyGroupRange, sizes: Mapping[int, int]
    ) -> Self:
        """A file of copied sections with their end marks; ``sizes`` has them in their order."""
        ends = [*accumulate(sizes.values(), initial=header_size)]
        return cls._of_starts(dict(zip(sizes, ends, strict=False)), key_groups, ends[-1])

    @classmethod
    def _of_starts(cls, starts: Mapping[int, int], key_groups: KeyGroupRange, size: int) -> Self:
        offsets = tuple(starts.get(key_group, NOTHING_WRITTEN) for key_group in key_groups)
        return cls(KeyGroupRangeOffsets(key_groups, offsets), size)


def _write_section(output: Output, runs: Iterator[Run]) -> int:
    """Returns the section's size. Without runs nothing is written."""
    size = 0
    first = next(runs, None)
    if first is None:
        return 0
    for run in chain([first], runs, [END_OF_SECTION]):
        output.write(run)
        size += memoryview(run).nbytes
    return size


def _checked(runs: Iterable[Run], key_group: int, states: int) -> Iterator[Run]:
    """Refuses bytes that can't be a run: a restore would fail without a clear reason."""
    for run in runs:
        view = memoryview(run).cast("B")
        if len(view) < _LEAST_RUN:
            raise ValueError(f"a run of {len(view)} bytes in key group {key_group}")
        state_id = int.from_bytes(view[:2], "big")
        if state_id >= states:
            raise ValueError(
                f"a run of state {state_id} in key group {key_group}, expected 0 to {states - 1}"
            )
        yield run
