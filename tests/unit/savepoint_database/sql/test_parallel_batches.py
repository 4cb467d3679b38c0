"""Rows that threads decode: the same rows in the same order, errors in their place, no thread left."""

from __future__ import annotations

import threading
import time
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.slow_cases import slow_unless

from savepoint_database.sql.parallel_batches import THREAD, parallel_batches
from savepoint_formats.errors import SavepointError
from savepoint_formats.scan.read_options import ReadOptions
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OPTIONS = ReadOptions(undescribed_subclasses="bytes", nanoseconds="text")


def until(count: int) -> None:
    """Waits until so many threads read splits; fails if they never do."""
    for _ in range(2400):
        if sum(thread.name == THREAD for thread in threading.enumerate()) == count:
            return
        time.sleep(0.05)
    pytest.fail(f"there are never {count} threads")


def numbers(split: int) -> Iterator[int]:
    """Splits that come earlier take longer."""
    for number in range(20):
        time.sleep(0.0005 * (8 - split))
        yield 100 * split + number


@pytest.mark.parametrize("threads", [1, 2, 3, 20])
def test_batches_come_split_by_split(threads: int) -> None:
    expected = [100 * split + number for split in range(8) for number in range(20)]
    assert list(parallel_batches(range(8), numbers, threads)) == expected
    assert list(parallel_batches([], numbers, threads)) == []


def test_an_error_comes_behind_the_batches_before_it() -> None:
    def failing(split: int) -> Iterator[int]:
        yield split
        if split == 2:
            raise SavepointError("split 2 is damaged")

    taken: list[int] = []
    with pytest.raises(SavepointError, match="split 2"):
        taken.extend(parallel_batches(range(5), failing, 3))
    assert taken == [0, 1, 2]


def test_threads_read_some_batches_ahead_and_end_when_nobody_takes_more() -> None:
    read: list[int] = []

    def endless(split: int) -> Iterator[int]:
        while True:
            read.append(split)
            yield split

    until(0)
    batches = parallel_batches(range(4), endless, 3)
    assert list(islice(batches, 5)) == [0] * 5
    time.sleep(0.3)
    assert len(read) < 30
    until(3)
    batches.close()  # type: ignore[attr-defined]  # a generator
    until(0)


@pytest.mark.parametrize(
    "name",
    slow_unless(
        "windows-2.2.1-hashmap-canonical".__eq__,
        [
            "states-2.2.1-rocksdb-native",
            "windows-2.2.1-hashmap-canonical",
            "objects-2.2.1-hashmap-native",
        ],
    ),
)
def test_tables_are_the_same_by_threads(samples: Path, name: str) -> None:
    compared = 0
    for operator in Savepoint.open(samples / name).operators():
        for table in operator.tables:
            scan = operator.scan(table, OPTIONS)
            splits = scan.splits(4000)
            batches = list(parallel_batches(splits, scan.read, 4))
            alone = [batch for split in splits for batch in scan.read(split)]
            by_threads = pa.Table.from_batches(batches, scan.schema)
            assert by_threads.equals(pa.Table.from_batches(alone, scan.schema))
            compared += len(splits) > 1
    assert compared
