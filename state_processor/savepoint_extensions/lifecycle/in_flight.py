"""Records in flight of an unaligned checkpoint: how many there are, and operators without them.

A channel's data are chunks, each at an offset of its file; together they are records as the network
has them, cut where a buffer was full:

| bytes | of     | meaning                                                                     |
|-------|--------|-----------------------------------------------------------------------------|
| i32   | chunk  | its size, then its bytes (``ChannelStateSerializerImpl.writeData``)         |
| i32   | record | its size, then its bytes (``SpanningRecordSerializer``)                     |
| u8    | record | first byte: 0 or 1 is a record, 2 and above a watermark or the like         |
|       |        | (``StreamElementSerializer``)                                               |

Data of an input begin where a record begins, and may be cut at their end; the rest of that record is
in the output that feeds the input. Data of an output end where a record ends, and may begin with the
rest of one. From version 6 of ``_metadata`` on, a handle may have several channels: i32 count, then of
each i32 gate, i32 channel, i64 size, i32 count of offsets, i64 each (``ChannelStateHandleSerializerV2``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes import DataInputView
from savepoint_formats.errors import SchemaChangeError, within
from savepoint_formats.metadata import MergedChannelStateHandle
from savepoint_formats.quantities import ByteCount

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from savepoint_database.snapshot import Operator
    from savepoint_formats.locations import SnapshotDirectory
    from savepoint_formats.metadata import ChannelHandle
    from state_processor import PlannedOperator

_CHANNEL_SIZE = 20
_LAST_TAG = 8
"""Stream elements have tags below, of which the first two are records."""

_FIRST_RECORDS = 2
_SEARCHED = 1 << 22
"""Bytes at the beginning of an output in which its first whole record is looked for."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """Records in flight of an operator.

    Attributes:
        operator: Its name.
        records: The number of records that begin in its channels, without watermarks and the like.
        size: Bytes of its channels.
        is_least: Whether the borders of some records were not found, so that there may be more.
        is_about: Whether some channel begins within a record, whose end was guessed from what follows.
    """

    operator: str
    records: int
    size: int
    is_least: bool
    is_about: bool

    def __str__(self) -> str:
        return (
            f"{self.operator}: {_precision([self])}{self.records:,} records,"
            f" {ByteCount(self.size).text}"
        )


def has_in_flight(operator: Operator) -> bool:
    """Whether it has channels with data."""
    return any(it.input_channels or it.output_channels for it in operator.record.subtasks)


def records_in_flight(operator: Operator) -> InFlight:
    """Counts records in flight of an operator.

    Raises:
        StateFileNotFoundError: A file is gone.
        FormatError: A file is damaged.
    """
    records, size, is_least, is_about = 0, 0, False, False
    for subtask in operator.record.subtasks:
        for handles, is_input in ((subtask.input_channels, True), (subtask.output_channels, False)):
            for handle in handles:
                with within(f"subtask {subtask.index}", f"operator {operator.name}"):
                    for data in _channels(operator.directory, handle):
                        begun = _records(data, is_input=is_input)
                        size += len(data)
                        is_least |= begun is None
                        if begun is not None:
                            records += begun[0]
                            is_about |= begun[1]
    return InFlight(operator.name, records, size, is_least, is_about)


def without_in_flight(planned: PlannedOperator) -> PlannedOperator:
    """The operator without its channels; its state stays.

    Raises ``SchemaChangeError`` if its state was changed before.
    """
    operator = planned.source
    if operator is None or planned.is_made_anew or not has_in_flight(operator):
        return planned
    if not planned.is_copied:
        raise SchemaChangeError(
            f"operator {planned.name} has records in flight, and was changed before: drop them first"
            " (savepoint convert --drop-in-flight, or as the first change of a file)"
        )
    subtasks = (
        replace(subtask, input_channels=(), output_channels=())
        for subtask in operator.record.subtasks
    )
    record = replace(operator.record, subtasks=tuple(subtasks))
    return planned.copied(replace(operator, record=record))


def lost_in_flight(operators: Iterable[Operator]) -> str:
    """What is lost without records in flight; empty if there are none. Raises as ``records_in_flight``."""
    lost = [records_in_flight(operator) for operator in operators if has_in_flight(operator)]
    records, size = sum(it.records for it in lost), sum(it.size for it in lost)
    if not lost:
        return ""
    return (
        f"{_precision(lost)}{records:,} records in flight ({ByteCount(size).text}) are dropped, and the new job"
        f" never sees them: {'; '.join(map(str, lost))}"
    )


def _precision(counts: Sequence[InFlight]) -> str:
    """The words before a number of records that is not exact."""
    if any(it.is_about for it in counts):
        return "about "
    return "at least " if any(it.is_least for it in counts) else ""


def _channels(directory: SnapshotDirectory, handle: ChannelHandle) -> Iterator[bytes]:
    """The data of each channel of a handle."""
    file = directory.file(handle.stream)
    for offsets in _offsets(handle):
        chunks = []
        for offset in offsets:
            view = DataInputView(file.read(offset, offset + 4), file.path)
            size, rest = view.read_int(), file.length() - offset - 4
            if not 0 <= size <= rest:
                raise view.error(
                    f"{size} bytes of in-flight data at {offset}, with {rest} behind it"
                )
            chunks.append(file.read(offset + 4, offset + 4 + size))
        yield b"".join(chunks)


def _offsets(handle: ChannelHandle) -> Iterator[tuple[int, ...]]:
    if not isinstance(handle, MergedChannelStateHandle):
        yield handle.offsets
        return
    view = DataInputView(handle.channels, "channels")
    for _ in range(view.read_count(element_size=_CHANNEL_SIZE)):
        view.read_int()
        view.read_int()
        view.read_long()
        yield view.read_longs(view.read_count(element_size=8))


def _records(data: bytes, *, is_input: bool) -> tuple[int, bool] | None:
    """The number of records that begin in the data of a channel; None if their borders are unknown.

    The flag says whether the first border was guessed: bytes within a record may look like others.
    """
    seen = bytearray(len(data) + 1)
    for start in chain([0], [] if is_input else _possible_starts(data)):
        walked = _walk(data, start, seen)
        if walked is not None and (is_input or walked[1] == len(data)):
            return walked[0], start > 0
    return None


def _walk(data: bytes, position: int, seen: bytearray) -> tuple[int, int] | None:
    """Counts records, and says where the last whole size leads; None if these are none.

    ``seen`` has a byte per position: a walk that comes to one of an earlier walk fails as that did.
    """
    # Only sizes are looked at, one per record.
    records, end = 0, len(data)
    while position + 5 <= end:
        if seen[position]:
            return None
        seen[position] = 1
        size, tag = int.from_bytes(data[position : position + 4]), data[position + 4]
        if not 0 < size < 1 << 31 or tag >= _LAST_TAG:
            return None
        records += tag < _FIRST_RECORDS
        position += 4 + size
    # The last one may be cut, even within its size.
    return records + (position < end), position


def _possible_starts(data: bytes) -> list[int]:
    """Where the first whole record of an output may begin: behind the rest of another one."""
    head = np.frombuffer(data[: _SEARCHED + 5], np.uint8).astype(np.int64)
    sizes = head[:-4] << 24 | head[1:-3] << 16 | head[2:-2] << 8 | head[3:-1]
    ends = np.arange(len(sizes)) + 4 + sizes
    is_possible = (sizes > 0) & (ends <= len(data)) & (head[4:] < _LAST_TAG)
    starts = np.flatnonzero(is_possible).tolist()
    return [*starts, len(data)] if len(data) <= _SEARCHED else starts
