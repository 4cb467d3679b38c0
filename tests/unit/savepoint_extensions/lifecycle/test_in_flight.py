"""Records in flight are counted by the borders that the network gives them."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.each import each
from support.longs_by_text import savepoint_of_longs

from savepoint_extensions.lifecycle.in_flight import (
    has_in_flight,
    lost_in_flight,
    records_in_flight,
    without_in_flight,
)
from savepoint_formats.errors import FormatError, SchemaChangeError
from savepoint_formats.metadata import InlineStream, MergedChannelStateHandle
from savepoint_formats.metadata.operator_handles import ChannelDirection, ChannelStateHandle
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_database.snapshot import Operator
    from savepoint_formats.metadata.operator_handles import ChannelHandle


def element(tag: int, size: int = 17) -> bytes:
    """A stream element of zeros behind its tag, which look like sizes where they are cut."""
    return struct.pack(">ib", size, tag) + bytes(size - 1)


RECORDS = element(0) * 5 + element(2) + element(1, 9)
"""Six records, and a watermark."""


def channel(*chunks: bytes) -> ChannelStateHandle:
    data, offsets = bytearray(4), []
    for chunk in chunks:
        offsets.append(len(data))
        data += struct.pack(">i", len(chunk)) + chunk
    stream = InlineStream("flight", bytes(data))
    return ChannelStateHandle(None, 0, (0, 0), tuple(offsets), len(data), stream)


def merged(*channels: ChannelStateHandle) -> MergedChannelStateHandle:
    """Several channels in one file, as Flink 2 writes them."""
    data, table = bytearray(), struct.pack(">i", len(channels))
    for number, one in enumerate(channels):
        places = [len(data) + offset for offset in one.offsets]
        table += struct.pack(">iiqi", 0, number, one.size, len(places))
        table += struct.pack(f">{len(places)}q", *places)
        assert isinstance(one.stream, InlineStream)
        data += one.stream.data
    stream = InlineStream("flight", bytes(data))
    return MergedChannelStateHandle(ChannelDirection.MERGED_INPUT, 0, len(data), stream, table)


@pytest.fixture
def lean(tmp_path: Path) -> Savepoint:
    return Savepoint.open(savepoint_of_longs(tmp_path / "lean", {"a": 1}), uids=["a"])


def flying(
    savepoint: Savepoint, inputs: tuple[ChannelHandle, ...], outputs: tuple[ChannelHandle, ...] = ()
) -> Operator:
    (operator,) = savepoint.operators()
    (subtask,) = operator.record.subtasks
    subtask = replace(subtask, input_channels=inputs, output_channels=outputs)
    return replace(operator, record=replace(operator.record, subtasks=(subtask,)))


@each(
    ("inputs", "outputs", "records", "is_least"),
    [
        ((channel(RECORDS),), (), 6, False),
        # Buffers are cut anywhere, even within a size.
        ((channel(RECORDS[:31], RECORDS[31:64], RECORDS[64:]),), (), 6, False),
        ((channel(RECORDS + element(0)[:2]), channel(RECORDS[:-4])), (), 13, False),
        # The rest of a record before it belongs to one that is counted in an input.
        ((channel(element(0)[:2]),), (channel(element(0)[2:] + RECORDS),), 7, False),
        ((), (channel(element(0, 70_000)[9:] + RECORDS),), 6, False),
        ((), (channel(element(0, 70_000)[9:]),), 0, False),
        ((merged(channel(RECORDS), channel(RECORDS[:40], RECORDS[40:])),), (), 12, False),
        ((channel(b"\xff" * 50),), (), 0, True),
        ((channel(b""),), (), 0, False),
    ],
)
def test_a_record_counts_where_it_begins(
    lean: Savepoint,
    inputs: tuple[ChannelHandle, ...],
    outputs: tuple[ChannelHandle, ...],
    records: int,
    is_least: bool,
) -> None:
    found = records_in_flight(flying(lean, inputs, outputs))
    assert (found.records, found.is_least) == (records, is_least)


def test_a_count_behind_a_guessed_border_is_about(lean: Savepoint) -> None:
    """The rest of a record of small numbers looks like records of its own, and can't be told apart."""
    numbers = b"\xff" + struct.pack(">i", 1) * 500
    in_flight = records_in_flight(flying(lean, (), (channel(numbers + RECORDS),)))
    assert in_flight.is_about
    assert lost_in_flight([flying(lean, (), (channel(numbers + RECORDS),))]).startswith("about ")
    assert not records_in_flight(flying(lean, (channel(RECORDS),), (channel(RECORDS),))).is_about


def test_the_rest_of_a_large_record_is_searched_once(lean: Savepoint) -> None:
    """Each small number in it looks like the size of a record: a walk from each would take hours."""
    numbers = struct.pack(">i", 1) * (1 << 18) + b"\xff"
    found = records_in_flight(flying(lean, (), (channel(numbers),)))
    assert found.size == len(numbers)


def test_what_is_lost_is_told_by_operator(lean: Savepoint) -> None:
    operator = flying(lean, (channel(RECORDS),))
    assert lost_in_flight([operator, *lean.operators()]) == (
        f"6 records in flight ({len(RECORDS)} B) are dropped, and the new job never sees them:"
        f" a: 6 records, {len(RECORDS)} B"
    )
    assert lost_in_flight(lean.operators()) == ""
    unknown = flying(lean, (channel(b"\xff" * 50),))
    assert lost_in_flight([unknown]).startswith("at least 0 records in flight")


def test_a_damaged_channel_is_no_channel_without_records(lean: Savepoint) -> None:
    whole = channel(RECORDS)
    for damaged in (
        replace(whole, offsets=(1 << 40,)),
        replace(whole, stream=InlineStream("cut", whole.stream.data[:-1])),  # type: ignore[union-attr]
        replace(whole, stream=InlineStream("odd", b"\xff" * 200)),
    ):
        with pytest.raises(FormatError, match="subtask 0"):
            records_in_flight(flying(lean, (damaged,)))


def test_only_the_channels_go_and_only_before_other_changes(lean: Savepoint) -> None:
    (planned,) = lean.writer().operators
    with_channels = planned.copied(flying(lean, (channel(RECORDS),), (channel(RECORDS),)))
    without = without_in_flight(with_channels)
    assert without.source is not None
    assert not has_in_flight(without.source)
    assert without.source.record == planned.source.record  # type: ignore[union-attr]
    assert without_in_flight(planned) is planned
    changed = with_channels.changed(lambda operator: operator.without("total"))
    with pytest.raises(SchemaChangeError, match="drop them first"):
        without_in_flight(changed)
