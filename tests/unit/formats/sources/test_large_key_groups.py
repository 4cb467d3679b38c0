"""A key group that is read chunk by chunk gives the rows that it gives as a whole."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, ref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.slow_cases import slow_unless

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.entries.entry_ranges import EntryRanges
from savepoint_formats.scan import splits as split_plan
from savepoint_formats.scan.splits import KeyedSplit
from savepoint_formats.sources.large_key_groups import Memory, chunks_of_key_group, divided
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from savepoint_formats.scan.scan import TableScan
    from savepoint_formats.scan.splits import Split

SAMPLES = [
    ("states-1.20.5-hashmap-canonical", "stateful.keyed_state"),
    ("states-1.20.5-hashmap-compressed", "stateful.keyed_state"),
    ("states-2.2.1-hashmap-canonical", "stateful.timers"),
    ("states-2.2.1-rocksdb-native", "stateful.keyed_state"),
    ("windows-2.2.1-rocksdb-canonical", "session.window_state"),
    ("windows-2.2.1-rocksdb-native", "session.window_state"),
    ("sql-2.2.1-rocksdb-native", "4_group-aggregate.keyed_state"),
]


def rows(savepoint: Savepoint, table: str, **options: Any) -> list[str]:
    scan = savepoint.scan(table, **options)
    return of_splits(scan, scan.splits())


@pytest.mark.parametrize(("sample", "table"), SAMPLES)
@pytest.mark.parametrize("chunk_size", [50, 1000])
def test_chunks_are_the_whole(samples: Path, sample: str, table: str, chunk_size: int) -> None:
    savepoint = Savepoint.open(str(samples / sample))
    whole = rows(savepoint, table)
    assert whole
    assert rows(savepoint, table, chunk_size=chunk_size) == whole


FLAT = [
    ("states-1.20.5-hashmap-canonical", "by_currency"),
    ("states-1.20.5-hashmap-compressed", "by_currency"),
    ("states-2.2.1-rocksdb-native", "by_currency"),
    ("states-2.2.1-hashmap-native", "memos"),
]


@pytest.mark.parametrize(("sample", "table"), slow_unless(SAMPLES[-2:].__contains__, SAMPLES))
def test_shares_of_large_key_groups_are_the_whole(
    samples: Path, sample: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_plan, "CHUNK_SIZE", 0)
    scan = Savepoint.open(str(samples / sample)).scan(table, chunk_size=100)
    splits = scan.shared_splits(300)
    shared = [
        split for split in splits if isinstance(split, KeyedSplit) and split.group_split.count > 1
    ]
    assert {split.group_split.index for split in shared} >= {0, 1}
    assert of_splits(scan, splits) == of_splits(scan, scan.splits())


@pytest.mark.parametrize(("sample", "state"), slow_unless(FLAT[1].__eq__, FLAT))
def test_rows_of_elements_come_in_batches_and_shares(
    samples: Path, sample: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_plan, "CHUNK_SIZE", 0)
    savepoint = Savepoint.open(str(samples / sample))
    whole = savepoint.scan("stateful.keyed_state", flat=state)
    expected = [row for row in unnested(savepoint, state) if row]
    assert expected
    assert of_splits(whole, whole.splits()) == sorted(expected)
    scan = savepoint.scan("stateful.keyed_state", flat=state, chunk_size=100)
    assert of_splits(scan, scan.shared_splits(300)) == sorted(expected)


def unnested(savepoint: Savepoint, state: str) -> Iterator[str]:
    """The rows of a flat view, made of those of keys."""
    for row in (
        savepoint.scan("stateful.keyed_state", columns=["key", state]).to_arrow().to_pylist()
    ):
        items = row[state] or []
        for index, item in enumerate(items):
            if isinstance(item, tuple):
                yield repr({"key": row["key"], "map_key": item[0], "map_value": item[1]})
            else:
                yield repr({"key": row["key"], "list_index": index, "list_value": item})


def of_splits(scan: TableScan, splits: Iterable[Split]) -> list[str]:
    batches = (batch for split in splits for batch in scan.read(split))
    return sorted(repr(row) for batch in batches for row in batch.to_pylist())


def ranges_of(entries: list[tuple[bytes, bytes]]) -> tuple[Chunk, EntryRanges]:
    """Entries one behind the other."""
    sizes = np.array([len(part) for entry in entries for part in entry], np.int64)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    data = np.frombuffer(b"".join(part for entry in entries for part in entry), np.uint8)
    return Chunk(data), EntryRanges(starts[::2], ends[::2], starts[1::2], ends[1::2])


@given(
    st.lists(st.tuples(st.binary(min_size=1, max_size=20), st.binary(max_size=5)), max_size=30),
    st.integers(1, 5),
    st.integers(1, 5),
)
def test_every_entry_is_in_one_chunk_with_all_of_its_key(
    entries: list[tuple[bytes, bytes]], count: int, at_once: int
) -> None:
    chunk, ranges = ranges_of(entries)
    found: list[tuple[bytes, bytes]] = []
    seen: set[bytes] = set()
    for part, states in chunks_of_key_group(
        lambda: iter([(chunk, {"state": ranges})]),
        len(chunk),
        count,
        range(count),
        lambda _name, _chunk, one: (one.key_starts, one.key_ends),
        "file",
        at_once=at_once,
    ):
        data = part.data.tobytes()
        own = [
            (data[key:key_end], data[value:value_end])
            for one in states.values()
            for key, key_end, value, value_end in zip(
                one.key_starts, one.key_ends, one.value_starts, one.value_ends, strict=True
            )
        ]
        assert not seen & {key for key, _ in own}
        seen |= {key for key, _ in own}
        found += own
    assert Counter(found) == Counter(entries)


def test_the_last_block_is_freed_before_its_entries_are_used() -> None:
    blocks: list[ReferenceType[np.ndarray]] = []

    def read() -> Iterator[tuple[Chunk, dict[str, EntryRanges]]]:
        _, ranges = ranges_of([(b"key", b"value")])
        data = np.frombuffer(b"keyvalue", np.uint8).copy()
        blocks.append(ref(data))
        yield Chunk(data), {"state": ranges}

    own = partial(chunks_of_key_group, read, 8, 1, range(1))
    for part, _ in own(lambda _name, _chunk, one: (one.key_starts, one.key_ends), "f", at_once=1):
        assert part.data.tobytes() == b"keyvalue"
        assert [block() for block in blocks] == [None]


def test_chunks_of_keys_that_differ_at_either_end_are_even() -> None:
    for keys in (
        [number.to_bytes(8, "big") for number in range(10_000)],
        [f"{number:06}-of-all-the-customers-there-are".encode() for number in range(10_000)],
    ):
        chunk, ranges = ranges_of([(key, b"") for key in keys])
        size = 5 * len(keys)  # less than there is
        places = (ranges.key_starts, ranges.key_ends, *ranges.arrays())
        sizes = [len(one) for one in divided(chunk, places, 10, range(10), Memory(size))]
        assert sum(sizes) == len(keys)
        assert max(sizes) < 1.2 * min(sizes)


def test_an_entry_outside_of_the_chunk_is_a_wrong_call() -> None:
    chunk = Chunk(np.zeros(4, np.uint8))
    inside, outside = (np.array([0]), np.array([4])), (np.array([0]), np.array([5]))
    for identity, key, value in (
        (outside, inside, inside),
        (inside, outside, inside),
        (inside, inside, outside),
    ):
        with pytest.raises(ValueError, match="outside of the chunk of 4 bytes"):
            divided(chunk, (*identity, *key, *value), 1, range(1), Memory(0))
