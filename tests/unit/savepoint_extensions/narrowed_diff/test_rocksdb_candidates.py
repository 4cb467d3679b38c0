"""The diff of incremental checkpoints that looks up what changed finds what the full diff finds."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nightly import examples, nightly
from support.rocksdb_chains import TABLE, UID, Chain, text

from savepoint_database.checks.table_diff import ChangeCounts
from savepoint_extensions.narrowed_diff import rocksdb_candidates
from savepoint_extensions.narrowed_diff.compared_files import ComparedFiles
from savepoint_formats.errors import StateFileNotFoundError
from savepoint_formats.state_files import Room
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_formats.state_files import BlockIndex, Blocks, Sst

Rows = list[tuple[str, ...]]
KEYS = range(12)

keys = st.sampled_from(KEYS)
numbers = st.integers(0, 2)
STEPS = st.one_of(
    st.tuples(st.just("put"), st.just("count"), keys, numbers),
    st.tuples(st.just("put"), st.just("name"), keys, numbers),
    st.tuples(st.just("delete"), st.sampled_from(["count", "name"]), keys, numbers),
    st.tuples(st.just("tag"), st.just("tags"), keys, numbers),
    st.tuples(st.just("untag"), st.just("tags"), keys, numbers),
    st.tuples(st.just("flush"), st.just(""), keys, numbers),
    st.tuples(st.just("compact"), st.sampled_from(["count", "name", "tags"]), keys, numbers),
    st.tuples(st.just("group"), st.sampled_from(["count", "name", "tags"]), keys, numbers),
)


def _do(chain: Chain, step: tuple[str, str, int, int]) -> None:
    what, state, key, number = step
    long = number.to_bytes(8, "big")
    match what:
        case "put":
            chain.put(state, key, long if state == "count" else text(f"name {number}"))
        case "delete":
            chain.delete(state, key)
        case "tag":
            chain.put(state, key, b"\0" + long, f"tag {key % 3}")
        case "untag":
            chain.delete(state, key, f"tag {number}")
        case "flush":
            chain.flush()
        case "compact":
            chain.compact(state)
        case "group":
            chain.delete_group(state, number)


def _changes(before: Savepoint, after: Savepoint, *, full: bool) -> tuple[Rows, tuple[int, ...]]:
    """Rows that differ, and their numbers, of one pass over the files."""
    pair, _ = before.diff(after, full=full)._pairs[TABLE]
    counts = ChangeCounts()
    batches = list(pair.changes(counts))
    rows = [tuple(map(str, row.values())) for batch in batches for row in batch.to_pylist()]
    if full or counts.unchanged is not None:
        assert counts.unchanged == before.scan(TABLE).to_arrow().num_rows - len(
            [row for row in rows if row[0] in ("delete", "update_preimage")]
        )
    return sorted(rows), (counts.inserted, counts.deleted, counts.updated)


_OTHER_WAY = {
    "insert": "delete",
    "delete": "insert",
    "update_preimage": "update_postimage",
    "update_postimage": "update_preimage",
}


def _turned(changes: tuple[Rows, tuple[int, ...]]) -> tuple[Rows, tuple[int, ...]]:
    """The changes from the later one to the earlier one."""
    rows, (inserted, deleted, updated) = changes
    turned = sorted((_OTHER_WAY[kind], *values) for kind, *values in rows)
    return turned, (deleted, inserted, updated)


@nightly
@settings(max_examples=examples(100), deadline=None)
@given(
    histories=st.lists(
        st.tuples(st.lists(STEPS, max_size=8), st.sampled_from([1, 1, 2, 4]), st.booleans()),
        min_size=2,
        max_size=4,
    )
)
def test_changes_are_those_of_the_full_diff(
    tmp_path_factory: pytest.TempPathFactory,
    histories: list[tuple[list[tuple[str, str, int, int]], int, bool]],
) -> None:
    chain = Chain.begin(tmp_path_factory.mktemp("chain"))
    for key in KEYS:
        _do(chain, ("put", "count", key, 0))
        _do(chain, ("tag", "tags", key, 1))
    checkpoints = []
    for steps, parallelism, in_place in histories:
        for step in steps:
            _do(chain, step)
        checkpoints.append(chain.checkpoint(parallelism, in_place=in_place))
    chain.close()
    for before, after in combinations(checkpoints, 2):
        every = _changes(before, after, full=True)
        assert _changes(before, after, full=False) == every
        assert _changes(after, before, full=False) == _turned(every)


@pytest.fixture
def chain(tmp_path: Path) -> Chain:
    """Some thousand keys in one table, and the first checkpoint."""
    begun = Chain.begin(tmp_path / "chain")
    for key in range(3000):
        begun.put("count", key, key.to_bytes(8, "big"))
    begun.checkpoint()
    return begun


def _candidates(before: Savepoint, after: Savepoint) -> tuple[int, int] | None:
    """Number of entries on both sides that may differ; None if all are to be compared."""
    pair, _ = before.diff(after)._pairs[TABLE]
    (part,) = pair.parts()
    assert part is not None
    candidates = ComparedFiles(pair.before, pair.after).candidates(part)
    if candidates.ranges:
        return None
    before_count, after_count = (
        sum(len(chunk.entries) for chunk in side) for side in (candidates.before, candidates.after)
    )
    return before_count, after_count


def _first_and_now(chain: Chain, *, in_place: bool = True) -> tuple[Savepoint, Savepoint]:
    after = chain.checkpoint(in_place=in_place)
    chain.close()
    return Savepoint.open(str(chain.checkpoints[0]), uids=[UID]), after


def test_only_keys_of_new_tables_are_looked_up(chain: Chain) -> None:
    chain.put("count", 7, bytes(8))
    chain.delete("count", 8)
    chain.delete("count", 5000)
    chain.put("count", 4000, bytes(8))
    before, after = _first_and_now(chain)
    assert _candidates(before, after) == (2, 2)
    _, counts = _changes(before, after, full=False)
    assert counts == (1, 1, 1)


def test_blocks_that_both_have_are_read_once(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    chain.put("count", 7, bytes(8))
    before, after = _first_and_now(chain)
    blocks = _noted_blocks(monkeypatch)
    assert not before.diff(after).is_equal
    tables = [table.table.path for table, _ in blocks]
    # The new table is read twice: for its keys, and to look them up.
    assert [count for count in Counter(tables).values() if count > 1] == [2]
    assert len(set(tables)) > 1


def _noted_blocks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Sst, int]]:
    """The tables of which blocks are read from now on, and how many."""
    noted, read = list[tuple["Sst", int]](), rocksdb_candidates._blocks

    def blocks(table: Sst, index: BlockIndex, chosen: Any) -> Blocks | None:
        noted.append((table, len(index.sizes[chosen])))
        return read(table, index, chosen)

    monkeypatch.setattr(rocksdb_candidates, "_blocks", blocks)
    return noted


def test_blocks_without_candidates_are_not_read(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.put("count", 7, bytes(8))
    before, after = _first_and_now(chain)
    blocks = _noted_blocks(monkeypatch)
    assert not before.diff(after).is_equal
    assert [count for _, count in blocks] == [1, 1, 1]
    assert max(len(table.read_index().sizes) for table, _ in blocks) > 2


@pytest.mark.parametrize("size", [1, 5000])
def test_rows_are_looked_up_in_pieces(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(rocksdb_candidates, "_AT_ONCE", size)
    for key in range(0, 3000, 30):
        chain.put("count", key, bytes(8))
        chain.put("tags", key, b"\0" + bytes(8), "a tag")
        chain.delete("count", key + 7)
    before, after = _first_and_now(chain)
    blocks = _noted_blocks(monkeypatch)
    rows, counts = _changes(before, after, full=False)
    assert len(blocks) > 8
    assert (rows, counts) == _changes(before, after, full=True)
    assert sum(counts) == 200


def test_memory_is_taken_for_the_entries_of_the_rows_and_not_for_all_of_their_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = Chain.begin(tmp_path / "chain", block_size=4096)
    for key in range(3000):
        chain.put("count", key, key.to_bytes(8, "big"))
        chain.put("name", key, text(f"the name of key {key}"))
    chain.checkpoint()
    for key in range(0, 3000, 200):
        chain.put("count", key, bytes(8))
        chain.put("name", key, text("a name that is as long as this text" * 3))
    before, after = _first_and_now(chain)
    sizes = list[int]()

    def noted(size: int) -> Room:
        sizes.append(size)
        return Room(size)

    monkeypatch.setattr(rocksdb_candidates, "Room", noted)
    changes = _changes(before, after, full=False)
    assert changes == _changes(before, after, full=True)
    assert changes[1] == (0, 0, 15)
    # For all entries of the blocks it would be 60 KB each time.
    assert len(sizes) >= 6
    assert max(sizes) < 8_000


def test_a_copy_of_a_table_is_the_same_table(chain: Chain) -> None:
    before, after = _first_and_now(chain, in_place=False)
    assert _candidates(before, after) == (0, 0)


def test_a_copy_with_other_bytes_is_another_table(chain: Chain) -> None:
    before, after = _first_and_now(chain, in_place=False)
    table = next(chain.checkpoints[1].glob("*.sst"))
    data = bytearray(table.read_bytes())
    data[100] ^= 1
    table.write_bytes(data)
    assert _candidates(before, after) is None


def test_a_range_deletion_has_no_shortcut(chain: Chain) -> None:
    chain.delete_group("count", 1)
    before, after = _first_and_now(chain)
    assert _candidates(before, after) is None
    assert _changes(before, after, full=False) == _changes(before, after, full=True)


def test_after_a_compaction_of_all_keys_all_entries_are_compared(chain: Chain) -> None:
    chain.put("count", 7, bytes(8))
    chain.flush()
    chain.compact("count")
    before, after = _first_and_now(chain)
    assert _candidates(before, after) is None
    assert _changes(before, after, full=False)[1] == (0, 0, 1)


def test_a_changed_entry_of_a_map_has_its_whole_row(chain: Chain) -> None:
    for key in range(50):
        for number in range(4):
            chain.put("tags", key, b"\0" + bytes(8), f"tag {number}")
    first = chain.checkpoint()
    chain.delete("tags", 3, "tag 1")
    chain.put("tags", 4, b"\0" + b"\1" * 8, "tag 2")
    _, after = _first_and_now(chain)
    assert _candidates(first, after) == (4 + 1 + 4 + 1, 3 + 1 + 4 + 1)
    rows, counts = _changes(first, after, full=False)
    assert counts == (0, 0, 2)
    assert (rows, counts) == _changes(first, after, full=True)


@pytest.mark.parametrize("parallelism", [2, 4])
def test_subtasks_of_a_rescaled_job_have_the_same_tables(chain: Chain, parallelism: int) -> None:
    for key in range(0, 300, 50):
        chain.delete("count", key)
    after = chain.checkpoint(parallelism)
    chain.close()
    before = Savepoint.open(str(chain.checkpoints[0]), uids=[UID])
    assert _candidates(before, after) == (6, 0)
    assert _changes(before, after, full=False) == _changes(before, after, full=True)


def test_a_missing_table_is_an_error_unless_it_is_the_same_file(chain: Chain) -> None:
    chain.put("count", 7, bytes(8))
    before, after = _first_and_now(chain, in_place=False)
    next(chain.checkpoints[1].glob("*.sst")).unlink()
    with pytest.raises(StateFileNotFoundError):
        _ = before.diff(after).is_equal
