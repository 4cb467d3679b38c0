"""A timer's key group is known in whatever form it is stored, without a read per key group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.metadata import (
    KeyedHandleType,
    KeyGroupRangeOffsets,
    KeyGroupsHandle,
    RelativeFile,
)
from savepoint_formats.scan.splits import key_group_sizes, ranges_of_handle
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

SAMPLES = [
    ("states-2.2.1-hashmap-canonical", "stateful.timers"),
    ("states-2.2.1-hashmap-native", "stateful.timers"),
    ("states-2.2.1-rocksdb-native", "stateful.timers"),
    ("windows-2.2.1-rocksdb-native", "session.timers"),
]


Row = dict[str, Any]


def rows(savepoint: Savepoint, table: str, **options: Any) -> list[Row]:
    scan = savepoint.scan(table, with_key_group=True, **options)
    batches = (batch for split in scan.splits() for batch in scan.read(split))
    return sorted((row for batch in batches for row in batch.to_pylist()), key=repr)


@pytest.mark.parametrize(("sample", "table"), SAMPLES)
def test_a_timer_has_the_key_group_that_a_read_of_it_alone_finds_it_in(
    samples: Path, sample: str, table: str
) -> None:
    savepoint = Savepoint.open(str(samples / sample))
    of_groups: dict[int, list[Row]] = {}
    for row in rows(savepoint, table):
        of_groups.setdefault(row["key_group"], []).append(row)
    count = savepoint.scan(table).operator.max_parallelism
    empty = next(group for group in range(count) if group not in of_groups)
    assert of_groups
    for group, expected in [*of_groups.items(), (empty, [])]:
        assert rows(savepoint, table, key_groups=KeyGroupRange(group, group)) == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1000, [(0, 9)]),
        (999, [(0, 4), (5, 9)]),
        (300, [(0, 2), (3, 4), (5, 7), (8, 9)]),
        (1, [(group, group) for group in range(10)]),
    ],
)
def test_pieces_have_as_many_key_groups_each(size: int, expected: list[tuple[int, int]]) -> None:
    key_groups = KeyGroupRange(0, 9)
    handle = KeyGroupsHandle(
        KeyedHandleType.CANONICAL_SAVEPOINT,
        KeyGroupRangeOffsets(key_groups, (0,) * 10),
        RelativeFile("file", 1000),
    )
    found = ranges_of_handle(handle, key_groups, size)
    assert [(piece.start, piece.end) for piece in found] == expected


def test_pieces_have_as_many_bytes_each_where_a_handle_says_where_key_groups_begin() -> None:
    key_groups = KeyGroupRange(0, 5)
    handle = KeyGroupsHandle(
        KeyedHandleType.CANONICAL_SAVEPOINT,
        KeyGroupRangeOffsets(key_groups, (100, 0, 150, 950, 960, 0)),
        RelativeFile("file", 1000),
    )
    assert key_group_sizes(handle).tolist() == [50, 0, 800, 10, 40, 0]
    pieces = ranges_of_handle(handle, key_groups, 450)
    assert [(piece.start, piece.end) for piece in pieces] == [(0, 2), (3, 5)]
